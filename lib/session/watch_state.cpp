#include "session/watch_state.hpp"

#include <utility>

namespace colock::detail {

void watch_state::begin(std::optional<node_stat> found)
{
    seen_ = found;
    if (core_->is_closing()) {
        closed(errc::client_closed); // nobody will call it any more
        return;
    }
    set_ = true;
    core_->add(shared_from_this());
}

void watch_state::end()
{
    if (std::exchange(set_, false)) {
        core_->watches().unsubscribe(path_, kind(), *this);
    }
    over_ = true;
    core_->remove(*this);
}

void watch_state::wait(operation_ptr<error_code, watch_event> op)
{
    if (waiting_ || (over_ && taken_)) {
        op.complete(errc::not_held, {});
        return;
    }
    if (over_) {
        taken_ = true;
        op.complete(error_, event_);
        return;
    }
    waiting_ = std::move(op);
    if (const auto& link = waiting_.cancellation()) {
        link->bind([this](asio::cancellation_type) {
            std::exchange(waiting_, {}).complete(asio::error::operation_aborted, {});
        });
    }
}

void watch_state::dropped()
{
    end();
    if (waiting_) {
        std::exchange(waiting_, {}).complete(asio::error::operation_aborted, {});
    }
}

std::shared_ptr<void> watch_state::make_handle()
{
    return {static_cast<void*>(this), [self = shared_from_this()](void*) {
                self->core_->dispatch([self] { self->dropped(); });
            }};
}

void watch_state::connected(std::int64_t)
{
    core_->submit(renewal());
}

request_ptr watch_state::renewal()
{
    auto again = make_request(
        {.op = op_, .path = path_, .watch = true, .kind = kind()}, on_loss::fail,
        [self = shared_from_this()](zk::reply&& r) {
            const bool absent = r.error == zookeeper_errc::no_node;
            if (r.error && !absent) {
                if (outcome_unknown(r.error)) {
                    return; // with the connection gone, the next one brings another
                }
                if (is_retryable(r.error) && !self->over_) {
                    self->core_->repeat(self->renewal()); // a server that is too busy, for instance
                } else {
                    self->deliver(r.error, {});
                }
                return;
            }
            self->set_ = !absent || self->op_ == zk::opcode::exists;
            if (self->over_) {
                self->end(); // dropped while this answer was on its way
                return;
            }
            const auto found = absent ? std::nullopt : std::optional{r.stat};
            if (const auto what = self->difference(found)) {
                self->deliver({}, {*what, self->path_});
            }
        });
    again->subscriber = this;
    return again;
}

std::optional<watch_event_type> watch_state::difference(const std::optional<node_stat>& found) const
{
    if (!seen_) {
        return found ? std::optional{watch_event_type::created} : std::nullopt;
    }
    if (!found || found->czxid != seen_->czxid) {
        return watch_event_type::deleted;
    }
    if (op_ == zk::opcode::children) {
        return found->pzxid != seen_->pzxid ? std::optional{watch_event_type::children_changed}
                                            : std::nullopt;
    }
    return found->mzxid != seen_->mzxid ? std::optional{watch_event_type::changed} : std::nullopt;
}

void watch_state::closed(const error_code& why)
{
    set_ = false;
    // `why` is for the operations that wait. One that starts later learns that the client is closed.
    deliver(waiting_ ? why : errc::client_closed, {});
}

void watch_state::discarded() noexcept
{
    const auto dropped_op = std::move(waiting_);
}

void watch_state::watch_fired(const watch_event& event) noexcept
{
    set_ = false;
    deliver({}, event);
}

void watch_state::deliver(const error_code& ec, watch_event event)
{
    const auto self = shared_from_this();
    if (over_) {
        return;
    }
    end();
    error_ = ec;
    event_ = std::move(event);
    if (waiting_) {
        taken_ = true;
        std::exchange(waiting_, {}).complete(error_, event_);
    }
}

} // namespace colock::detail
