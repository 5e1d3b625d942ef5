// Whatever an acquisition does but taking, for which it has the queue's lock: see take.cpp.
#include "acquisition.hpp"

#include "numbers.hpp"
#include "protocol/names/contender_name.hpp"
#include "protocol/planted.hpp"

#include <utility>

namespace colock::protocol::permits {

using kind = command::kind;

// ---- the caller, and the connection

void acquisition::begin(commands& out)
{
    if (options_.try_only) {
        out.push_back({kind::list});
    } else {
        queue_up(out);
    }
}

void acquisition::cancel(bool at_once, commands& out)
{
    if (at_once) {
        tell({kind::cancelled}, out);
    }
    leave(out);
}

// Without a connection nobody knows whether there are permits.
void acquisition::deadline_reached(bool connected, commands& out)
{
    tell(connected ? command{kind::busy} : command{kind::failed, {}, errc::disconnected}, out);
    leave(out);
}

void acquisition::suspended(commands& out)
{
    if (options_.try_only) {
        deadline_reached(false, out); // a try does not wait for another connection
    }
}

// While a create is under way it is too late: the answer tells whether there are permits to be given back.
void acquisition::leave(commands& out)
{
    if (std::exchange(left_, true) || at_ == step::giving_back || at_ == step::gone) {
        return;
    }
    if (at_ != step::creating && at_ != step::recovering) {
        out.push_back({kind::cut_short});
    } else if (planted("cancelled in the create")) {
        end({kind::cancelled}, out);
    }
}

// ---- 1. looks

void acquisition::look(commands& out)
{
    if (fits()) {
        queue_up(out);
    } else {
        end({kind::busy}, out);
    }
}

// ---- 2. queues up

void acquisition::queue_up(commands& out)
{
    at_ = step::queueing_up;
    attempt_ = {.unanswered = 2};
    out.push_back({kind::lock_queue});
    out.push_back({kind::list});
    if (!now_.compared) { // what do others take the path for?
        out.push_back({kind::read_maximum});
        out.push_back({kind::list_siblings});
        attempt_.unanswered = 4;
    }
}

void acquisition::queue_locked(const error_code& ec, bool granted, commands& out)
{
    attempt_.refused = ec;
    attempt_.has_queue = granted;
    answered(out);
}

void acquisition::maximum_read(const error_code& ec, const std::string& data, commands& out)
{
    attempt_.has_directory = !ec;
    attempt_.maximum = maximum_in(data);
    answered(out);
}

void acquisition::siblings_listed(const error_code&, const names& children, commands& out)
{
    attempt_.other_kind = !contenders(curator_layout(), children).empty() ||
                          !contenders(curator_shared_layout(), children).empty();
    answered(out);
}

void acquisition::answered(commands& out)
{
    const auto& a = attempt_;
    if (--attempt_.unanswered != 0 || ends(a.refused, out)) {
        return;
    }
    if (!now_.compared) {
        if (a.other_kind) {
            return end({kind::failed, {}, errc::conflicting_kind}, out);
        }
        if (a.maximum && a.maximum != options_.permits && !planted("another maximum ignored")) {
            return end({kind::failed, {}, errc::conflicting_maximum, *a.maximum}, out);
        }
        if (a.has_directory) {
            out.push_back({kind::agreed});
        }
    }
    if (a.has_queue) {
        read_limit(out);
    } else {
        end({kind::busy}, out);
    }
}

// ---- pauses

void acquisition::pause(step next, commands& out)
{
    if (!ends(now_.unavailable, out)) {
        at_ = next;
        out.push_back({kind::pause});
    }
}

void acquisition::paused(commands& out)
{
    if (ends({}, out)) {
        return;
    }
    if (at_ == step::pausing_before_queue) {
        queue_up(out);
    } else if (at_ == step::pausing_before_directory) {
        at_ = step::making_directory_to_watch;
        out.push_back({kind::make_directory});
    } else {
        count_again(out);
    }
}

// ---- 4. gives the queue's lock back

// Whether the acquisition comes to nothing now: the caller has left, or this is an error that does not go by itself.
bool acquisition::ends(error_code ec, commands& out)
{
    if (left_) {
        end({kind::cancelled}, out);
    } else if (ec) {
        end({kind::failed, {}, ec}, out);
    }
    return left_ || ec;
}

void acquisition::end(command outcome, commands& out)
{
    if (!attempt_.has_queue || planted("cancelled with the queue")) {
        return finish(std::move(outcome), out);
    }
    at_ = step::giving_back;
    attempt_ = {};
    outcome_ = std::move(outcome);
    if (!planted("queue kept at a failure")) {
        out.push_back({kind::unlock_queue});
    }
}

void acquisition::queue_unlocked(commands& out)
{
    finish(*std::exchange(outcome_, std::nullopt), out);
}

void acquisition::release_queue(commands& out)
{
    attempt_ = {};
    out.push_back({kind::release_queue});
}

void acquisition::finish(command outcome, commands& out)
{
    tell(std::move(outcome), out);
    at_ = step::gone;
    attempt_ = {};
    out.push_back({kind::gone});
}

void acquisition::tell(command outcome, commands& out)
{
    if (!std::exchange(told_, true)) {
        out.push_back(std::move(outcome));
    }
}

} // namespace colock::protocol::permits
