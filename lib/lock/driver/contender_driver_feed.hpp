// Shared by the parts of a contender_driver: its watches, and the way from an input to the commands that follow.
#pragma once

#include "lock/driver/contender_driver.hpp"
#include "lock/driver/contender_owner.hpp"

#include <algorithm>
#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace colock::detail {

// One watched node. Outlives the watch when its answer is still to come.
struct contender_driver::watch_target final : zk::watch_registry::subscriber {
    watch_target(contender_driver& d, protocol::node_name n) : driver{&d}, name{std::move(n)} {}

    void watch_fired(const watch_event& event) noexcept override
    {
        const auto self = driver->shared_from_this();
        const auto over = self->drop_target(*this); // *this lives until the end of this function
        self->feed([&](auto& c, protocol::commands& out) {
            c.fired(over->name, event.type == watch_event_type::deleted, out);
        });
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
        self->queue_->met(*self, now);
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
    if (commands_.capacity() == 0) {
        commands_.swap(core_.spare_commands);
    }
    std::visit(
        [&]<class Contender>(Contender& c) {
            // Where the bound is very near, a proof comes first: else the lock would be lost as soon as it is held. A
            // proof moves the bound by more than that.
            c.assume_safe(remaining(boot_clock::now()) > core_.options().tick / 8);
            if constexpr (std::is_same_v<Contender, protocol::contender>) {
                c.lend(queue_->directory());
            }
            if constexpr (std::invocable<Input&, Contender&, protocol::commands&>) {
                input(c, commands_); // else it is not for this kind
            }
        },
        contender_);
    claim();
    if (pause_ && std::ranges::any_of(commands_, &protocol::command::is_report)) {
        end_pause(); // reports do not wait
    } else {
        carry_out();
    }
}

// A server's answer to a command; to one to watch, also the name of the node.
template <class Input>
void contender_driver::feed_answer(command_kind to, const error_code& ec, Input&& input,
                                   std::string_view watched)
{
    if (repetition_.answered(to, watched, ec)) {
        pace_.reset();
    }
    feed(std::forward<Input>(input));
    repetition_.forget_answer();
}

} // namespace colock::detail
