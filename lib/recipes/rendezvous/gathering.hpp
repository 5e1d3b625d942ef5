// Runs one protocol::arrival on a client: carries out its commands, tells it the answers.
#pragma once

#include <colock/client.hpp>
#include <colock/detail/gathering_place.hpp>
#include <colock/detail/operation.hpp>

#include "names/path.hpp"
#include "queue/random_guid.hpp"
#include "recipes/pauses.hpp"
#include "recipes/rendezvous/arrival.hpp"
#include "recipes/rendezvous/withdrawals.hpp"
#include "recipes/strand_object.hpp"
#include "session/machine_runner.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::detail {

// On the strand, from start() on. What is under way keeps it alive.
template <class... Results>
class gathering final : public strand_object<gathering<Results...>> {
    using strand_object<gathering>::client_;
    using strand_object<gathering>::core_;

public:
    gathering(gathering_place place, protocol::arrival::rules rules,
              operation_ptr<error_code, Results...> op)
        : strand_object<gathering>{std::move(place.core)}, path_{std::move(place.path)},
          rules_{rules}, op_{std::move(op)}, machine_{rules, random_guid()}
    {
    }

    void start()
    {
        op_->name([this] { return subject(); });
        if (const auto fault = protocol::path_fault(path_); !fault.empty()) {
            refuse(errc::invalid_path, "the path " + fault);
            return;
        }
        if (rules_.count == 0 || rules_.count > protocol::most_participants) {
            refuse(errc::invalid_option, "it is for " + std::to_string(rules_.count) +
                                             " processes; the count is from 1 to 1,000");
            return;
        }
        if (const auto link = op_.cancellation()) {
            link->bind([this](asio::cancellation_type type) {
                feed([&](commands& out) { machine_.cancel(ends_at_once(type), out); });
            });
        }
        if (op_) { // else it was cancelled before
            begin();
        }
    }

private:
    using role = protocol::arrival::role;
    using command = protocol::arrival::command;
    using commands = protocol::arrival::commands;
    using kind = command::kind;
    using step = protocol::arrival::step;

    // One that arrives waits for those that this client takes back: else both could be counted.
    void begin()
    {
        if (rules_.what == role::arrive || rules_.what == role::count_down) {
            others_ = withdrawals::of(core_, path_);
            waits_ = others_->wait([self = this->shared_from_this()] {
                if (self->waits_) { // else it was cut short
                    self->begin();
                }
            });
        }
        if (!waits_) {
            feed([this](commands& out) { machine_.begin(out); });
        }
    }

    template <class Input>
    void feed(Input input)
    {
        const auto self = this->shared_from_this();
        input(runner_.decided());
        runner_.run([this](const command& c) { perform(c); });
    }

    void perform(const command& c)
    {
        switch (c.type) {
        case kind::list: list(); break;
        case kind::make_directory:
            client_->async_create(path_, "", {.parents = true}, answer<create_result>());
            break;
        case kind::write:
            client_->async_multi(transaction_of(c.steps),
                                 answer<std::vector<transaction_result>>());
            break;
        case kind::watch: watch_node(protocol::join_path(path_, c.name)); break;
        case kind::pause: pause(); break;
        case kind::cut_short: cut_short(); break;
        case kind::remains:
            own_.clear();
            core_->log(log_level::error,
                       subject() +
                           ": a node may remain until the session ends: " + c.error.message());
            break;
        case kind::done: done(c); break;
        case kind::cancelled:
            withdraws_ = static_cast<bool>(others_);
            if (withdraws_) {
                others_->begin();
            }
            complete(asio::error::operation_aborted, Results{}...);
            break;
        case kind::failed: failed(c); break;
        case kind::gone:
            forget_own();
            if (std::exchange(withdraws_, false)) {
                others_->end();
            }
            break;
        }
    }

    template <class Answer>
    auto answer()
    {
        return this->template on_strand<Answer>(
            [this](const error_code& ec, const Answer&) { answered(ec); });
    }
    // A handler of what cut_short() ends.
    template <class Answer, class Then>
    auto interruptible(Then then)
    {
        return asio::bind_cancellation_slot(inner_.slot(),
                                            this->template on_strand<Answer>(std::move(then)));
    }
    void answered(const error_code& ec)
    {
        feed([&](commands& out) { machine_.answered(ec, out); });
    }

    void list()
    {
        client_->async_children(
            path_,
            interruptible<children_result>([this](const error_code& ec, const children_result& r) {
                feed([&](commands& out) { machine_.listed(ec, r.names, out); });
            }));
    }

    void watch_node(std::string node)
    {
        using found = watched<std::optional<node_stat>>;
        cut_ = false;
        client_->async_watch_exists(
            std::move(node), interruptible<found>([this](const error_code& ec, found r) {
                if (ec || !r.value || cut_) {
                    looked(ec);
                    return;
                }
                changes_ = std::move(r.changes);
                changes_.async_wait(interruptible<watch_event>(
                    [this](const error_code& why, const watch_event&) { looked(why); }));
            }));
    }
    // A node may change again and again.
    void looked(const error_code& ec)
    {
        if (ec) {
            answered(ec);
        } else {
            pace_.after_event(*core_, [self = this->shared_from_this()] { self->answered({}); });
        }
    }

    void pause()
    {
        const auto id = ++pause_;
        pace_.after_refusal(*core_, [self = this->shared_from_this(), id] {
            if (id == self->pause_) { // else it was cut short
                ++self->pause_;
                self->answered({});
            }
        });
        pausing_ = id;
    }

    void cut_short()
    {
        if (std::exchange(waits_, false)) {
            feed([this](commands& out) { machine_.begin(out); });
        } else if (pausing_ == pause_ && pause_ != 0) {
            ++pause_;
            core_->post([self = this->shared_from_this()] { self->answered({}); });
        } else {
            cut_ = true; // an answer may be on its way, which the signal does not reach
            inner_.emit(asio::cancellation_type::terminal);
        }
    }

    // The client that ends a phase removes all arrivals. Of an arrival that is not watched then only a list tells.
    void forget_own() { this->core_->node_gone(std::exchange(own_, {})); }

    [[nodiscard]] std::vector<transaction_op> transaction_of(const std::vector<step>& steps)
    {
        std::vector<transaction_op> all;
        for (const auto& each : steps) {
            auto node = protocol::join_path(path_, each.name);
            switch (each.type) {
            case step::kind::create: all.push_back(create_op(std::move(node), "", {})); break;
            case step::kind::create_ephemeral:
                if (own_ != node) { // else it may be there
                    forget_own();
                    own_ = node;
                }
                all.push_back(create_op(std::move(node), "", {.mode = create_mode::ephemeral}));
                break;
            case step::kind::remove: all.push_back(remove_op(std::move(node))); break;
            }
        }
        return all;
    }

    // ---- the outcome

    void done(const command& c)
    {
        if constexpr (sizeof...(Results) == 0) {
            complete({});
        } else {
            complete({}, static_cast<Results>(c.phase)...); // of a latch: whether it is open
        }
    }
    void failed(const command& c)
    {
        if (c.error == errc::conflicting_maximum) {
            refuse(c.error, "it is for " + std::to_string(rules_.count) +
                                " processes here, and for " + std::to_string(c.phase) +
                                " for the others");
        } else if (c.error == errc::invalid_option) {
            refuse(c.error, "phase " + std::to_string(*rules_.phase) +
                                " has not begun; under way is " + std::to_string(c.phase));
        } else {
            complete(c.error, Results{}...);
        }
    }
    void refuse(const error_code& ec, const std::string& why)
    {
        const auto words = subject() + ": " + why;
        op_->explain(ec, words);
        core_->note_error(words);
        complete(ec, Results{}...);
    }
    [[nodiscard]] std::string subject() const
    {
        return (rules_.reusable ? "barrier " : "latch ") + path_;
    }
    void complete(const error_code& ec, Results... results)
    {
        changes_ = {};
        std::exchange(op_, {}).complete(ec, std::move(results)...);
    }

    const std::string path_;
    const protocol::arrival::rules rules_;
    operation_ptr<error_code, Results...> op_;
    protocol::arrival machine_;
    machine_runner<command> runner_;
    asio::cancellation_signal inner_; // of reads and waits
    watch changes_;                   // of the node that is waited for
    std::string own_;                 // the node that counts for the session's room
    bool cut_ = false;                // the watch that is being set
    pauses pace_;
    std::uint64_t pause_ = 0; // the number of the last one, and one more when it is over
    std::uint64_t pausing_ = 0;
    std::shared_ptr<withdrawals> others_; // of one that arrives
    bool waits_ = false;                  // for them
    bool withdraws_ = false;              // is one of them
};

// Begins one, from any thread.
template <class... Results>
void gather(const std::shared_ptr<client_core>& core, operation_ptr<error_code, Results...> op,
            gathering_place place, protocol::arrival::rules rules)
{
    rules.count = place.count;
    core->dispatch([it = std::make_shared<gathering<Results...>>(std::move(place), rules,
                                                                 std::move(op))] { it->start(); });
}

} // namespace colock::detail
