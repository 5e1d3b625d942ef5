// Whether a command runs, now that its lock is granted: the rule of --once-per and --hold-at-least. Sans-io. All times are
// those of the servers, which the machines share.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace colock::cli {

using servers_time = std::chrono::sys_time<std::chrono::milliseconds>;

// The moments at which a job is due, and to which of them a run belongs.
class schedule {
public:
    // "1h", "1h@30m": every hour, at half past; "daily@03:00", "daily@03:00Europe/Berlin". Throws std::invalid_argument.
    explicit schedule(std::string_view text);

    // Of a time of day: the zone, which has to be that of the process (`TZ`). Empty: the machine's.
    [[nodiscard]] const std::string& zone() const noexcept { return zone_; }
    // Returns the moment for which a run that joined then counts. A run whose moment is told is seldom early, and may be very
    // late: its moment is at most a quarter of the period ahead, another one's at most half.
    [[nodiscard]] servers_time due_of(servers_time joined) const;
    // Whether a run now is for a moment that is far away, and may be meant for another one.
    [[nodiscard]] bool is_doubtful(servers_time joined) const;
    // Whether a run now takes the place of one that is due later than the clocks of machines differ.
    [[nodiscard]] bool is_far_ahead(servers_time joined) const;

private:
    std::chrono::milliseconds period_{0};
    std::chrono::milliseconds offset_{0}; // from 1970, or from midnight in the zone
    bool by_day_ = false;
    bool is_told_ = false; // when the job is due
    std::string zone_;
};

// Makes this the zone of the process, unless it is empty. Not while another thread may read the environment.
struct process_zone {
    explicit process_zone(const std::string& zone);
};

struct job_terms {
    std::optional<schedule> once_per;
    std::optional<std::chrono::milliseconds>
        hold_at_least; // 0: it waits for others, and keeps none
    std::uint64_t again_on_failure = 0;
    bool again_after_crash = false; // which is a failure then

    [[nodiscard]] bool need_record() const noexcept { return once_per || hold_at_least; }
};

// What the runs of a job leave for those that come later, on whichever machine.
struct run_record {
    enum class result { none, success, failure };

    servers_time due{};       // the moment to which the last run belongs
    result ended{};           // none: it goes on, or nobody knows how it ended
    std::uint64_t failed = 0; // runs for that moment
    servers_time not_before{};
    std::string by; // the fencing token of that run

    bool operator==(const run_record&) const = default;
};

// "none", "success", "failure".
[[nodiscard]] std::string_view word_for(run_record::result ended) noexcept;
// A line for people and programs.
[[nodiscard]] std::string text_of(const run_record& r);
// Nothing for a text that is none of these.
[[nodiscard]] std::optional<run_record> record_in(std::string_view text);

struct has_run {
    servers_time due;
    run_record::result ended{};
};
struct starts {
    run_record record; // to be written before the command starts
    std::string warning;
};
// `joined`: when this run has joined the queue. `newest`: a time that the servers' clock has shown since. `token`: of the grant.
[[nodiscard]] std::variant<has_run, starts> decide(const job_terms& terms,
                                                   const std::optional<run_record>& last,
                                                   servers_time joined, servers_time newest,
                                                   const std::string& token);

// Why the command does not run, with the end of that run.
[[nodiscard]] std::string text_of(const has_run& done);
// As "2026-11-27T03:00:00Z", rounded up to a second.
[[nodiscard]] std::string text_of(servers_time t);

} // namespace colock::cli
