// What `colock run` says: to people in words, on the standard error; to machines as JSON. Whoever reads that, or does not,
// delays nothing that is done.
#pragma once

#include <colock/queue_view.hpp>

#include "program/background_writer.hpp"
#include "run/daemons.hpp"
#include "run/event_lines.hpp"
#include "run/metrics_file.hpp"
#include "run/service_manager.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colock::cli {

// "db1:4711 (backup), in the queue for 3 h 20 min". Printable.
[[nodiscard]] std::string words_on_holder(const queue_entry& e);

// Who shall hear what.
struct report_terms {
    bool json = false; // on the standard error, in place of words
    int events = -1;   // an open file for the same lines, beside the words
    bool quiet = false;
    bool verbose = false;
    bool tells_wait = true;    // in words, also where there is no terminal
    std::string metrics = {};  // a file for those of Prometheus
    daemons leave = daemons{}; // of the command
};

// To people.
enum class importance {
    detail,  // with -v
    news,    // without -q
    trouble, // always
};

class events {
public:
    using shard = event_lines::shard;

    // `command` begins each line in words, such as "colock run". Starts threads: to be made after the guardian is forked.
    events(std::string command, std::string path, const report_terms& how,
           service_manager manager = {});

    // When the queue is worth a look next; none: never.
    [[nodiscard]] std::optional<std::chrono::milliseconds> next_look() const noexcept;

    // A wait for the lock begins. `is_try`: and ends at once.
    void waits(bool is_try);
    // The queue as it is, with the session of this client. On a terminal the line stays, and changes; elsewhere there is one
    // now and then; as JSON, a line for each change of place or holder.
    void waiting(const queue_view& queue, std::int64_t own_session);
    // No server answers during the wait, for this time so far: at its beginning, and then each second. Or one answers again.
    void waits_in_outage(std::chrono::nanoseconds so_far);
    void outage_ended();
    // One shard of many gives nobody a moment to read.
    void granted(const std::string& node, const std::string& token, shard of = {});
    void started(int process, shard of = {});
    // No server answers, and the lock is safe for this time. Or it is safe again.
    void at_risk(std::chrono::nanoseconds remaining);
    void safe_again(std::chrono::nanoseconds remaining);
    void lost(const std::string& text, shard of = {});
    // The command has ended, as wait() has it.
    void exited(int status, bool by_itself, shard of = {});
    // So many processes, which are ended; `names`: "1234 name", a line each, of some of them.
    void left_behind(int number, const std::string& names, shard of = {});
    // `confirmed`: by a server.
    void released(bool confirmed, const std::string& text);
    // A lock that is no shard's was granted, and is neither lost nor released.
    [[nodiscard]] bool owes_release() const noexcept { return owes_release_; }
    // Something else. `more`: its fields beside the text.
    void note(const std::string& event, const std::string& text,
              importance how = importance::trouble, shard of = {});
    void note(const std::string& event, const std::string& text, importance how, shard of,
              const boost::json::object& more);
    // Something about a wait: not for those whom a wait does not concern.
    void note_of_wait(const std::string& event, const std::string& text);
    // The end: the status, a word for what that is, and a text where there is more to say.
    void ended(int status, std::string_view reason, const std::string& text = {});

    // Gives a reader who reads a moment for what was said: before somebody else writes to the same terminal.
    void settle();
    // The same, at the end of the process.
    void finish();

private:
    [[nodiscard]] bool on_terminal() const noexcept;
    [[nodiscard]] bool is_told(importance how) const noexcept;
    void words(const std::string& text, shard of = {});
    void tell(std::string_view event, boost::json::object fields, shard of = {});
    void tell_fault(const std::string& fault);
    void waiting_as_json(const queue_entry& holder, std::optional<std::size_t> before);
    void draw(const std::string& before, const std::string& behind);
    std::string wiped();

    const std::string command_;
    const std::string path_;
    const report_terms how_;
    const service_manager manager_;
    bool shows_wait_ = false;
    bool owes_release_ = false;
    struct {
        std::chrono::milliseconds pause;                  // before the next one
        std::chrono::steady_clock::time_point last;       // or when the wait began
        std::chrono::steady_clock::time_point begin = {}; // of the wait
        bool tells_outage = false;                        // a line has said it
    } wait_line_;
    std::optional<std::string> last_wait_;
    std::optional<background_writer> out_;
    std::optional<event_lines> lines_;
    std::optional<metrics_file> metrics_;
};

} // namespace colock::cli
