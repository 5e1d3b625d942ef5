// Shared by the parts of a contender_driver: its watches, and the way from an input to the commands that follow.
#pragma once

#include "queue/contender_driver.hpp"

#include <algorithm>
#include <concepts>
#include <memory>
#include <string>
#include <utility>

namespace colock::detail {

// One watched node. Outlives the watch when its answer is still to come.
struct contender_driver::watch_target final : zk::watch_registry::subscriber {
    watch_target(contender_driver& d, protocol::node_name n) : driver{&d}, name{std::move(n)} {}

    void watch_fired(const watch_event& event) noexcept override
    {
        const auto self = driver->shared_from_this();
        const auto over = self->drop_target(*this); // *this lives until the end of this function
        const bool deleted = event.type == watch_event_type::deleted;
        self->repetition_.fired(deleted);
        self->feed_follows(
            [&](auto& c, protocol::commands& out) { c.fired(over->name, deleted, out); });
    }

    contender_driver* driver;
    const protocol::node_name name;
    request* reading = nullptr;        // until it is answered
    std::unique_ptr<std::string> data; // then, or its beginning; while somebody listens
    bool subscribed = false;
    bool wanted = true;
};

// The watch on the directory, for newcomers. Outlives its answer, as above.
struct contender_driver::newcomer_target final : zk::watch_registry::subscriber {
    explicit newcomer_target(contender_driver& d) : driver{&d} {}

    void watch_fired(const watch_event&) noexcept override
    {
        const auto self = driver->shared_from_this();
        self->newcomers_.reset();
        auto now = protocol::remote_contention::some;
        self->feed([&](protocol::contender& c, protocol::commands&) { now = c.newcomer(); });
        self->tell(now);
    }

    contender_driver* driver;
    request* reading = nullptr; // until it is answered
};

template <class Input>
void contender_driver::feed(Input&& input)
{
    if (over_) {
        return;
    }
    const auto self = shared_from_this();
    auto& out = runner_.decided();
    std::visit(
        [&]<class Contender>(Contender& c) {
            // Where the bound is very near, a proof comes first: else the lock would be lost as soon as it is held. A
            // proof moves the bound by more than that.
            c.assume_safe(remaining(boot_clock::now()) > core_.options().tick / 8);
            if constexpr (std::invocable<Input&, Contender&, protocol::commands&>) {
                input(c, out); // else it is not for this kind
            }
        },
        contender_);
    claim();
    repetition_.blocked_by(ask([](const auto& c) { return c.blockers().count.value_or(0); }));
    if (pause_ && std::ranges::any_of(out, &protocol::command::is_report)) {
        end_pause(); // reports do not wait
    } else {
        carry_out();
    }
}

// A server's answer to a command.
template <class Input>
void contender_driver::feed_answer(const error_code& ec, Input&& input)
{
    repetition_.answered(ec);
    feed_follows(std::forward<Input>(input));
}

// What the repetition has been told of.
template <class Input>
void contender_driver::feed_follows(Input&& input)
{
    feed(std::forward<Input>(input));
    repetition_.forget_answer();
}

} // namespace colock::detail
