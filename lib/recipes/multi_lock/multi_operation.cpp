#include "recipes/function_operation.hpp"
#include "recipes/multi_lock/guard_part.hpp"
#include "recipes/multi_lock/joint_acquisition.hpp"
#include "recipes/multi_lock/lock_list.hpp"
#include "recipes/pauses.hpp"
#include "session/machine_runner.hpp"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace colock::detail {

namespace {

class multi_operation final : public std::enable_shared_from_this<multi_operation> {
public:
    multi_operation(operation_ptr<error_code, multi_guard> op,
                    std::shared_ptr<const lock_list> list, deadline until)
        : list_{std::move(list)}, op_{std::move(op)}, core_{list_->core}, until_{until},
          order_{list_->in_order.size(), time_over()}, locks_(list_->in_order.size())
    {
    }

    void start()
    {
        if (const auto& link = op_.cancellation()) {
            link->bind([weak = weak_from_this()](asio::cancellation_type type) {
                if (const auto self = weak.lock()) {
                    self->feed([&](auto& out) { self->order_.cancel(ends_at_once(type), out); });
                }
            });
        }
        if (!op_) {
            return; // it was cancelled before
        }
        feed([this](auto& out) { order_.start(out); });
    }

private:
    using kind = protocol::joint_acquisition::command::kind;

    struct lock {
        cancel_link_ptr link; // of what is under way
        guard_part guard;     // while it is held
        std::string why;      // it was refused last
        bool joined = false;  // once, at least
        pauses again = {};
    };

    template <class Input>
    void feed(Input&& input)
    {
        if (!op_) {
            return;
        }
        const auto self = shared_from_this();
        input(runner_.decided());
        runner_.run([this](const protocol::joint_acquisition::command& c) { perform(c); },
                    [this] { return client_core::batch{*core_}; });
    }

    void perform(const protocol::joint_acquisition::command& c)
    {
        auto& l = locks_[c.lock];
        switch (c.type) {
        case kind::join: join(c.lock); break;
        case kind::probe: probe(); break;
        case kind::abandon: l.link->request(asio::cancellation_type::total); break;
        case kind::hurry: l.link->request(asio::cancellation_type::terminal); break;
        case kind::release: release(c.lock); break;
        case kind::deliver: deliver(); break;
        case kind::refuse:
            op_->explain(c.error, l.why);
            if (!c.error) { // it is busy, or was not granted in time
                op_->tell(l.why);
            }
            end(c.error);
            break;
        case kind::time_over: end(core_->end_of_wait()); break;
        case kind::abort: end(asio::error::operation_aborted); break;
        }
    }

    // A lock that was lost is taken again.
    void join(std::size_t i)
    {
        auto& l = locks_[i];
        l.link = cancel_link_ptr{new cancel_link{core_}};
        if (!std::exchange(l.joined, true)) {
            start(i, l.link);
            return;
        }
        l.link->bind([weak = weak_from_this(), i](asio::cancellation_type) {
            if (const auto self = weak.lock()) {
                self->locks_[i].link.reset(new cancel_link{self->core_}); // not that of the pause
                self->core_->post(
                    [self, i] { self->joined(i, asio::error::operation_aborted, guard_part{}); });
            }
        });
        l.again.after_refusal(*core_, [self = shared_from_this(), i, link = l.link] {
            if (self->locks_[i].link == link) { // it was not cancelled in the pause
                link->unbind();
                self->start(i, link);
            }
        });
    }

    void start(std::size_t i, const cancel_link_ptr& link)
    {
        list_->in_order[i].target->start(
            {link, op_ && op_->observed.of != nullptr ? op_->observed.id : 0,
             op_ && op_->told() != nullptr,
             [self = shared_from_this(), i](const error_code& ec, guard_part guard,
                                            std::string why) {
                 self->core_->post([self, i, ec, guard = std::move(guard), why]() mutable {
                     self->locks_[i].why = std::move(why);
                     self->joined(i, ec, std::move(guard));
                 });
             }},
            until_);
    }

    void joined(std::size_t i, const error_code& ec, guard_part guard)
    {
        if (!op_) {
            return;
        }
        auto& l = locks_[i];
        l.link.reset();
        feed([&](auto& out) {
            if (holds(guard)) {
                l.guard = std::move(guard);
                order_.granted(i, first_loss_of_all(), time_over(), out);
            } else {
                order_.refused(i, ec, time_over(), out);
            }
        });
    }

    void release(std::size_t i)
    {
        auto& l = locks_[i];
        l.link = cancel_link_ptr{new cancel_link{core_}};
        release_part(function_operation<error_code>::make(
                         core_, l.link,
                         [self = shared_from_this(), i](const error_code&) { self->released(i); }),
                     std::exchange(l.guard, {}));
    }

    void released(std::size_t i)
    {
        if (!op_) {
            return;
        }
        locks_[i].link.reset();
        feed([&](auto& out) { order_.released(i, time_over(), out); });
    }

    // The grants that were answered before the probe are posted to the strand already.
    void probe()
    {
        core_->submit(make_request({.op = zk::opcode::exists, .path = "/"}, on_loss::fail,
                                   [weak = weak_from_this()](zk::reply&&) {
                                       if (const auto self = weak.lock()) {
                                           self->core_->post([self] { self->probed(); });
                                       }
                                   }));
    }

    void probed()
    {
        feed([this](auto& out) { order_.probed(out); });
    }

    [[nodiscard]] bool time_over() const
    {
        return until_ != never && until_ <= std::chrono::steady_clock::now();
    }

    [[nodiscard]] std::optional<protocol::joint_acquisition::loss> first_loss_of_all() const
    {
        for (std::size_t i = 0; i != locks_.size(); ++i) {
            const auto why = holds(locks_[i].guard)
                                 ? std::visit([](const auto& held) { return held.loss_reason(); },
                                              locks_[i].guard)
                                 : error_code{};
            if (why) {
                return protocol::joint_acquisition::loss{
                    i, why,
                    why == errc::session_expired &&
                        !list_->in_order[i].target->options.rejoin_on_expiry};
            }
        }
        return std::nullopt;
    }

    void deliver()
    {
        std::vector<guard_part> parts(locks_.size());
        for (std::size_t i = 0; i != locks_.size(); ++i) {
            parts[list_->in_order[i].number] = std::move(locks_[i].guard);
        }
        std::exchange(op_, {}).complete({}, access::make<multi_guard>(core_, std::move(parts)));
    }

    // Without the locks: what is left goes in the background.
    void end(const error_code& ec)
    {
        std::exchange(op_, {}).complete(ec, access::make<multi_guard>(core_));
        for (auto& l : locks_) {
            l.guard = {};
            if (const auto link = std::exchange(l.link, nullptr)) {
                link->request(asio::cancellation_type::terminal);
            }
        }
    }

    const std::shared_ptr<const lock_list> list_;
    operation_ptr<error_code, multi_guard> op_; // until it has completed
    const std::shared_ptr<client_core> core_;
    const deadline until_;
    protocol::joint_acquisition order_;
    machine_runner<protocol::joint_acquisition::command> runner_;
    std::vector<lock> locks_; // in the order of the list
};

} // namespace

void lock_together(operation_ptr<error_code, multi_guard> op, std::shared_ptr<const lock_list> list,
                   deadline until)
{
    std::make_shared<multi_operation>(std::move(op), std::move(list), until)->start();
}

} // namespace colock::detail
