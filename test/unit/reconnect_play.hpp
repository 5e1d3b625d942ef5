// The state machine of a session, played by hand: each input returns in words what the machine says to it.
#pragma once

#include "session/reconnect.hpp"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::reconnect_play {

using namespace std::chrono_literals;
using protocol::session::address;
using protocol::session::command;
using protocol::session::commands;
using protocol::session::loss;
using protocol::session::reconnect;

using std::chrono::milliseconds;

inline constexpr std::int64_t first_session = 0x51;
inline constexpr std::int64_t second_session = 0x52;
inline const error_code ok;

inline std::string words(const command& c)
{
    using kind = command::kind;
    const auto ms = std::chrono::duration_cast<milliseconds>(c.time).count();
    const auto why = c.error ? c.error.message() : "ok";
    switch (c.type) {
    case kind::look_up: return "look up";
    case kind::open: return "open " + c.text + " for " + std::to_string(ms / 1000) + " s";
    case kind::try_options: return "try options";
    case kind::send_barrier: return "barrier";
    case kind::hold: return "hold";
    case kind::break_off: return "break off";
    case kind::drop: return "drop";
    case kind::take_leave: return "take leave";
    case kind::end_session: return "end session";
    // Pauses are below a second, and chance has a part in them.
    case kind::start_timer:
        return ms == 0 ? "at once" : ms < 1000 ? "pause" : "limit " + std::to_string(ms) + " ms";
    case kind::stop_timer: return "stop timer";
    case kind::start_deadline: return "deadline " + std::to_string(ms) + " ms";
    case kind::stop_deadline: return "stop deadline";
    case kind::session_begun: return "new session at " + c.text;
    case kind::session_resumed: return "old session at " + c.text;
    case kind::connecting: return "connecting";
    case kind::connected: return "connected";
    case kind::writable: return "writable";
    case kind::suspended: return "suspended";
    case kind::expired: return "expired";
    case kind::given_up: return "given up: " + why;
    case kind::closing: return "closing: " + why;
    case kind::closed: return "closed: " + why;
    case kind::answer: return "answer: " + why;
    case kind::hosts_in_use: return "hosts in use: " + why;
    case kind::note: return "note '" + c.text + "'";
    case kind::log_info: return "info";
    case kind::log_warning: return "warning '" + c.text + "'";
    case kind::log_error: return "error '" + c.text + "'";
    }
    return "?";
}

inline reconnect::settings usual()
{
    return {.hosts = "a,b",
            .session_timeout = 30s,
            .connect_timeout = 20s,
            .close_timeout = 5s,
            .backoff_min = 50ms,
            .backoff_max = 800ms,
            .tick = 2s};
}

inline reconnect::settings with_chroot()
{
    auto s = usual();
    s.chroot = "/here";
    s.tries_options = true;
    return s;
}

// A machine, whose inputs return what it says to them.
class play {
public:
    explicit play(reconnect::settings s = usual()) : machine_{std::move(s), 1} {}

    std::vector<address> addresses{{"b"}, {"a"}}; // the last is tried first
    error_code no_error;

    std::string connect()
    {
        machine_.connect(out_);
        return said();
    }
    std::string nobody_waits()
    {
        machine_.nobody_waits(out_);
        return said();
    }
    std::string close()
    {
        machine_.close(errc::client_closed, out_);
        return said();
    }
    std::string abandon_close()
    {
        machine_.abandon_close(out_);
        return said();
    }
    std::string resolved(bool more = false)
    {
        machine_.resolved(addresses, more, "host a: no such host", now_, out_);
        return said();
    }
    std::string not_opened()
    {
        machine_.not_opened(now_, out_);
        return said();
    }
    void securing() { machine_.securing(); }
    void offered() { machine_.offered(); }
    std::string established(std::int64_t session = first_session, milliseconds timeout = 30s)
    {
        machine_.established(session, timeout, out_);
        return said();
    }
    std::string options_tried(const error_code& ec = {})
    {
        machine_.options_tried(ec, out_);
        return said();
    }
    std::string barrier_answered(const error_code& ec = {})
    {
        machine_.barrier_answered(ec, out_);
        return said();
    }
    std::string broken(loss why = loss::broken, bool write_lost = false, const char* fault = "")
    {
        machine_.broken(why, fault, write_lost, now_, out_);
        return said();
    }
    std::string hosts_changed()
    {
        machine_.hosts_changed("another list", out_);
        return said();
    }
    std::string quiet()
    {
        machine_.quiet(out_);
        return said();
    }
    std::string ended(bool confirmed)
    {
        machine_.ended(confirmed, out_);
        return said();
    }
    std::string timer()
    {
        machine_.timer_due(now_, out_);
        return said();
    }
    std::string deadline()
    {
        machine_.deadline_due(out_);
        return said();
    }
    void pass(std::chrono::nanoseconds time)
    {
        now_.awake += time;
        now_.real += time;
    }
    void sleep(std::chrono::nanoseconds time) { now_.real += time; }

    // The addresses that it tries in a pass, in their order, when each of them refuses.
    std::string tries()
    {
        std::string all;
        for (auto next = resolved();; next = timer()) {
            pass(1s);
            if (next.starts_with("open")) {
                all += next.substr(5, 1);
                static_cast<void>(broken());
            } else if (next == "look up") {
                return all;
            }
        }
    }

    play& come_online()
    {
        static_cast<void>(connect());
        static_cast<void>(resolved());
        static_cast<void>(timer());
        static_cast<void>(established());
        return *this;
    }
    // Another connection, after the present one is lost.
    std::string resume(std::int64_t session = first_session, milliseconds timeout = 30s)
    {
        static_cast<void>(resolved());
        static_cast<void>(timer());
        return established(session, timeout);
    }

    const reconnect& operator*() const { return machine_; }

private:
    std::string said()
    {
        std::string all;
        for (const auto& c : std::exchange(out_, {})) {
            all += (all.empty() ? "" : ", ") + words(c);
        }
        return all;
    }

    reconnect machine_;
    commands out_;
    protocol::session::instant now_{1h, 2h};
};

} // namespace colock::test::reconnect_play
