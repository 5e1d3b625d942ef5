// What the parts of a queue_member share: its watches, and the way from an input to the commands that come of it.
#pragma once

#include "lock/driver/queue_member.hpp"
#include "lock/local/local_queue.hpp"

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>

namespace colock::detail {

// One watched node. Outlives the watch when its answer is still to come.
struct queue_member::watch_target final : zk::watch_registry::subscriber {
    watch_target(queue_member& m, std::string n) : member{&m}, name{std::move(n)} {}

    void watch_fired(const watch_event& event) noexcept override
    {
        const auto self = member->shared_from_this();
        const auto over = self->drop_target(*this); // *this lives until the end of this function
        self->feed([&](auto& c, protocol::commands& out) {
            c.fired(over->name, event.type == watch_event_type::deleted, out);
        });
    }

    queue_member* member;
    const std::string name;
    request* reading = nullptr; // until it is answered
    bool subscribed = false;
    bool wanted = true;
};

// The watch on the directory, which tells when somebody comes. Outlives its answer, as above.
struct queue_member::neighbourhood final : zk::watch_registry::subscriber {
    explicit neighbourhood(queue_member& m) : member{&m} {}

    void watch_fired(const watch_event&) noexcept override
    {
        const auto self = member->shared_from_this();
        self->neighbours_.reset();
        self->crowded_ = true;
        self->queue_->directory().met_others();
        self->queue_->met(*self, protocol::company::some);
    }

    queue_member* member;
    request* reading = nullptr; // until it is answered
    bool alone = false;         // the list showed nobody else
};

template <class Input>
void queue_member::feed(Input&& input)
{
    if (over_) {
        return;
    }
    const auto self = shared_from_this();
    std::visit(
        [&]<class Contender>(Contender& c) {
            // Where the bound is very near, a proof comes first: else the lock would be lost as soon as it is held. A
            // proof moves the bound by more than that.
            c.assume_safe(remaining(boot_clock::now()) > core_.options().tick / 8);
            if constexpr (std::is_same_v<Contender, protocol::contender>) {
                c.expect_nobody(expects_nobody());
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

// What the server's answer makes of a command that follows from it.
template <class Reaction>
void queue_member::heed(const error_code& answer, Reaction&& reaction)
{
    busy_server_ = is_retryable(answer) && !outcome_unknown(answer);
    reaction();
    busy_server_ = false;
}

} // namespace colock::detail
