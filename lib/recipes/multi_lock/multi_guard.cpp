#include <colock/detail/body_reports.hpp>
#include <colock/multi_guard.hpp>

#include "queue/contender_driver.hpp"
#include "queue/first_loss.hpp"
#include "recipes/function_operation.hpp"
#include "recipes/multi_lock/guard_part.hpp"
#include "recipes/semaphore/permit_lease.hpp"
#include "session/on_cancel.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <string>

namespace colock {

namespace detail {

namespace {

// The reason that stays, when this one is seen now.
error_code first_of(first_loss& loss, const error_code& why) noexcept
{
    loss.note(static_cast<errc>(why.value()));
    return loss.why();
}

std::string subject_of_watched(const watched_part& p)
{
    const auto* of = std::get_if<watched_turn>(&p);
    return of != nullptr ? "lock " + of->driver->path() : std::get<watched_leases>(p).nodes->what();
}

// Waits for the first loss among several locks. On the strand.
class loss_watch final : public std::enable_shared_from_this<loss_watch> {
public:
    loss_watch(operation_ptr<error_code, error_code> op, std::shared_ptr<first_loss> loss)
        : op_{std::move(op)}, loss_{std::move(loss)}
    {
    }

    template <class Parts>
    void start(const std::shared_ptr<client_core>& core, Parts parts)
    {
        if (const auto& link = op_.cancellation()) {
            link->bind([weak = weak_from_this()](asio::cancellation_type) {
                if (const auto self = weak.lock()) {
                    self->finish(asio::error::operation_aborted, {});
                }
            });
        }
        for (auto& each : parts) {
            if (!op_) {
                return;
            }
            links_.push_back(cancel_link_ptr{new cancel_link{core}});
            auto subject = op_->told() != nullptr ? subject_of_watched(each) : std::string{};
            auto part = function_operation<error_code, error_code>::make(
                core, links_.back(),
                [self = shared_from_this(), subject = std::move(subject)](
                    error_code ec, error_code why) { self->finish(ec, why, subject); });
            wait_for_loss(core, std::move(part), std::move(each));
        }
    }

private:
    // `subject`: which of them.
    void finish(const error_code& ec, const error_code& why, const std::string& subject = {})
    {
        if (!op_) {
            return;
        }
        op_->name([&] { return subject; });
        std::exchange(op_, {}).complete(ec, ec ? error_code{} : first_of(*loss_, why));
        for (const auto& link : std::exchange(links_, {})) {
            link->request(asio::cancellation_type::terminal);
        }
    }

    operation_ptr<error_code, error_code> op_; // until it has completed
    const std::shared_ptr<first_loss> loss_;
    std::vector<cancel_link_ptr> links_;
};

// Releases several locks at the same time. On the strand.
class joint_release final : public std::enable_shared_from_this<joint_release> {
public:
    explicit joint_release(operation_ptr<error_code> op) : op_{std::move(op)} {}

    void start(const std::shared_ptr<client_core>& core, std::vector<guard_part> parts)
    {
        on_cancel(op_, [weak = weak_from_this()] {
            if (const auto self = weak.lock(); self && self->op_) {
                std::exchange(self->op_, {}).complete(asio::error::operation_aborted);
            }
        });
        left_ = parts.size();
        const client_core::batch together{*core};
        for (auto& each : parts) {
            auto subject =
                op_->told() != nullptr
                    ? std::visit([](const auto& p) { return body_reports::name_of(p); }, each)
                    : std::string{};
            release_part(function_operation<error_code>::make(
                             core, nullptr,
                             [self = shared_from_this(), subject = std::move(subject)](
                                 error_code ec) { self->gone(ec, subject); }),
                         std::move(each));
        }
    }

private:
    void gone(const error_code& ec, const std::string& subject)
    {
        if (ec && !first_ && op_) {
            op_->name([&] { return subject; });
        }
        if (!first_) {
            first_ = ec;
        }
        if (--left_ == 0 && op_) {
            std::exchange(op_, {}).complete(first_);
        }
    }

    operation_ptr<error_code> op_; // until it has completed
    std::size_t left_ = 0;
    error_code first_;
};

} // namespace

} // namespace detail

multi_guard::multi_guard(std::shared_ptr<detail::client_core> core, std::vector<part> parts)
    : core_{std::move(core)}, parts_{std::move(parts)},
      loss_{parts_.empty() ? nullptr : std::make_shared<detail::first_loss>()}
{
}

multi_guard& multi_guard::operator=(multi_guard&& other) noexcept
{
    multi_guard taken{std::move(other)};
    swap(taken);
    return *this;
}

const held_lock& multi_guard::operator[](std::size_t i) const noexcept
{
    static const held_lock none;
    const auto* const found = std::get_if<held_lock>(&parts_[i]);
    return found != nullptr ? *found : none;
}

const permit& multi_guard::permits(std::size_t i) const noexcept
{
    static const permit none;
    const auto* const found = std::get_if<permit>(&parts_[i]);
    return found != nullptr ? *found : none;
}

multi_guard::operator bool() const noexcept
{
    return !loss_reason();
}

lock_state multi_guard::state() const noexcept
{
    if (parts_.empty()) {
        return lock_state::not_held;
    }
    return loss_reason() ? lock_state::lost
                         : std::visit([](const auto& p) { return p.state(); }, parts_.front());
}

error_code multi_guard::loss_reason() const noexcept
{
    if (parts_.empty()) {
        return errc::not_held;
    }
    for (const auto& each : parts_) {
        if (const auto why = std::visit([](const auto& p) { return p.loss_reason(); }, each)) {
            return detail::first_of(*loss_, why);
        }
    }
    return {};
}

std::chrono::steady_clock::time_point multi_guard::safe_until() const noexcept
{
    auto earliest = std::chrono::steady_clock::time_point::max();
    for (const auto& each : parts_) {
        earliest =
            std::min(earliest, std::visit([](const auto& p) { return p.safe_until(); }, each));
    }
    return parts_.empty() ? std::chrono::steady_clock::time_point::min() : earliest;
}

std::chrono::steady_clock::duration multi_guard::remaining() const noexcept
{
    auto shortest = std::chrono::steady_clock::duration::max();
    for (const auto& each : parts_) {
        shortest =
            std::min(shortest, std::visit([](const auto& p) { return p.remaining(); }, each));
    }
    return parts_.empty() ? std::chrono::steady_clock::duration::zero() : shortest;
}

std::vector<transaction_op> multi_guard::guarded(std::vector<transaction_op> ops) const
{
    if (parts_.empty()) {
        throw boost::system::system_error{errc::not_held, "guarded"};
    }
    for (auto p = parts_.rbegin(); p != parts_.rend(); ++p) {
        ops = std::visit([&](const auto& held) { return held.guarded(std::move(ops)); }, *p);
    }
    return ops;
}

multi_guard::executor_type multi_guard::get_executor() const noexcept
{
    return detail::executor_of(core_);
}

detail::watched_parts multi_guard::watched() const
{
    detail::watched_parts all{{}, loss_};
    for (const auto& each : parts_) {
        all.parts.push_back(detail::watch_part(each));
    }
    return all;
}

void multi_guard::start_wait_lost(const std::shared_ptr<detail::client_core>& core,
                                  detail::operation_ptr<error_code, error_code> op,
                                  detail::watched_parts watched)
{
    if (watched.parts.empty()) {
        op.complete(errc::not_held, {});
        return;
    }
    core->dispatch([core, op = std::move(op), watched = std::move(watched)]() mutable {
        std::make_shared<detail::loss_watch>(std::move(op), std::move(watched.loss))
            ->start(core, std::move(watched.parts));
    });
}

void multi_guard::start_unlock(const std::shared_ptr<detail::client_core>& core,
                               detail::operation_ptr<error_code> op, std::vector<part> parts)
{
    if (parts.empty()) {
        op.complete(errc::not_held);
        return;
    }
    core->dispatch([core, op = std::move(op), parts = std::move(parts)]() mutable {
        std::make_shared<detail::joint_release>(std::move(op))->start(core, std::move(parts));
    });
}

} // namespace colock
