// What `colock run` says: to people in words, to machines as JSON, a line each, on the standard error. Whoever reads
// that, or does not, delays nothing that is done.
#pragma once

#include <colock/queue_view.hpp>

#include "program/background_writer.hpp"
#include "run/service_manager.hpp"

#include <boost/json/object.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colock::cli {

class events {
public:
    // `command` begins each line in words, such as "colock run". Starts a thread: to be made after the guardian is forked.
    events(std::string command, std::string path, bool as_json, service_manager manager = {});

    // Whether the wait is worth a look: on a terminal, or as JSON.
    [[nodiscard]] bool wants_wait() const noexcept { return json_ || terminal_; }
    // How often. A service manager asks for no more than the servers can bear from all that stand by.
    [[nodiscard]] std::chrono::seconds time_between_looks() const noexcept;

    // The queue as it is, with the session of this client. On a terminal the line stays, and changes; as JSON, a line for
    // each change of place or holder.
    void waiting(const queue_view& queue, std::int64_t own_session);
    void granted(const std::string& node, const std::string& token);
    // One of many, so that nobody is given a moment to read.
    void granted(std::uint32_t shard, const std::string& node, const std::string& token);
    void started(int process, std::optional<std::uint32_t> shard = {});
    // The command of a shard has ended, as wait() has it.
    void exited(std::uint32_t shard, int status, bool by_itself);
    // Something that a person has to know.
    void note(const std::string& event, const std::string& text,
              std::optional<std::uint32_t> shard = {});
    // The end: the status, a word for what that is, and a text where there is more to say.
    void ended(int status, std::string_view reason, const std::string& text = {});

    // Gives a reader who reads a moment for what was said: before somebody else writes to the same terminal.
    void settle();
    // The same, at the end of the process.
    void finish();

private:
    void words(const std::string& text);
    std::string wiped();
    void line(const std::string& event, boost::json::object fields);

    std::string command_;
    std::string path_;
    bool json_;
    bool terminal_;
    service_manager manager_;
    bool shows_wait_ = false;
    std::optional<std::string> last_wait_;
    background_writer out_;
};

} // namespace colock::cli
