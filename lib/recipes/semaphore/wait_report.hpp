// The lines of the log about one acquisition, from its beginning to its end.
#pragma once

#include "lock/waiting_words.hpp"
#include "report/waiting_report.hpp"
#include "session/core.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace colock::detail {

// On the strand. Says nothing when the log does not want it.
class wait_report {
public:
    // `name` gives that of what is acquired, for people.
    template <class Name>
    wait_report(client_core& core, Name name) : core_{core}
    {
        if (core.logs(log_level::debug)) {
            name_ = name();
        }
    }

    // `reasons`: why it waits now.
    void waits(const std::string& reasons, std::weak_ptr<reminded> who)
    {
        if (!std::exchange(has_waited_, true) && !name_.empty()) {
            log([&] { return waiting_words(name_, reasons); });
            core_.remind(std::move(who), next(boot_clock::now()));
        }
    }
    [[nodiscard]] bool has_waited() const noexcept { return has_waited_; }
    void still_waits(const std::string& reasons) const
    {
        log([&] { return still_waiting_words(name_, boot_clock::now() - began_, reasons, 0); });
    }
    void granted() const
    {
        log([this] { return "granted " + name_ + " after " + time(); });
    }
    void gave_up(const std::string& why) const
    {
        log([&] { return "gave up waiting for " + name_ + " after " + time() + ": " + why; });
    }
    // When to say again that it waits.
    [[nodiscard]] std::chrono::nanoseconds next(std::chrono::nanoseconds now) const
    {
        return protocol::next_waiting_report(began_, now);
    }

private:
    [[nodiscard]] std::string time() const { return time_words(boot_clock::now() - began_); }
    template <class Line>
    void log(Line line) const
    {
        if (!name_.empty()) {
            core_.add_line(log_level::debug, line());
            core_.send_lines();
        }
    }

    client_core& core_;
    std::string name_; // empty when nobody listens
    const std::chrono::nanoseconds began_ = boot_clock::now();
    bool has_waited_ = false;
};

} // namespace colock::detail
