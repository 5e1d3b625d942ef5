// Holding a lock for a body, whatever the body is: the body is cancelled when the lock is lost.
#ifndef COLOCK_DETAIL_SUPERVISED_LOCK_HPP
#define COLOCK_DETAIL_SUPERVISED_LOCK_HPP

#include <colock/detail/access.hpp>
#include <colock/detail/body_reports.hpp>
#include <colock/detail/deadline.hpp>
#include <colock/detail/operation.hpp>
#include <colock/diagnostics.hpp>
#include <colock/error.hpp>
#include <colock/fwd.hpp>
#include <colock/held_lock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace colock::detail {

// A lock with bodies names its guard, and has
//   get_executor()
//   async_lock_for_body(deadline, token)  gives the guard, or, before the deadline, perhaps an empty one
//   body_grace()                          how long a cancelled body may continue
//   max_hold()                            how long a body may run before it is cancelled, if there is a limit
//   each_revocable(guard, visit)          visits those locks whose revocation cancels the body
template <class Lock>
concept lock_with_bodies = requires
{
    typename Lock::guard_type;
};

template <class Guard, class CompletionToken>
void release_guard(Guard& held, CompletionToken&& token)
{
    if constexpr (std::is_same_v<Guard, permit>) {
        held.async_release(std::forward<CompletionToken>(token));
    } else {
        held.async_unlock(std::forward<CompletionToken>(token));
    }
}

// One execution, but for the body: a source file compiles it once for each kind of guard. Everything runs on a strand
// over the handler's executor, where cancellation signals may be touched. The handlers of what is under way keep it alive.
template <class Lock>
class supervised_lock : public std::enable_shared_from_this<supervised_lock<Lock>> {
    using guard = typename Lock::guard_type;

public:
    void start()
    {
        asio::dispatch(strand_, [self = this->shared_from_this()] { self->acquire(); });
    }

    // Any thread.
    void cancel(asio::cancellation_type type)
    {
        if (type == asio::cancellation_type::none) {
            return;
        }
        asio::dispatch(strand_, [self = this->shared_from_this(), type] {
            self->cancelled_ |= type;
            if (self->running_) {
                self->stop(type);
            } else {
                self->acquiring_.emit(type);
            }
        });
    }

protected:
    supervised_lock(const asio::any_io_executor& executor, Lock lock, deadline until)
        : strand_{asio::make_strand(executor)}, lock_{std::move(lock)}, until_{until}, grace_{
                                                                                           strand_}
    {
    }
    ~supervised_lock() = default;

    // Runs the body on the strand, then calls ended().
    virtual void run_body(const asio::any_io_executor& strand, asio::cancellation_slot stopping,
                          const guard& held) = 0;
    virtual void drop_body() noexcept = 0;
    // Drops the body, and completes the operation, with what the body gave if it has ended. `why` describes `ec`, or why
    // no body ran.
    virtual void complete(std::exception_ptr e, const error_code& ec, const std::string& why) = 0;

    void ended(std::exception_ptr e)
    {
        running_ = false; // before the body goes, which may cancel as it does
        drop_body();
        grace_.cancel();
        most_.reset();
        if (!lost_) {
            lost_ = held_.loss_reason(); // its word may be on its way
        }
        watching_.emit(asio::cancellation_type::terminal);
        for (auto& each : listening_) {
            each.emit(asio::cancellation_type::terminal);
        }
        const bool in_a_hurry = cancelled_ != asio::cancellation_type::none;
        if (lost_ || in_a_hurry) {
            drop_guard(); // released in the background, if it is not lost
            conclude(std::move(e));
            return;
        }
        words_.clear();
        release_guard(held_,
                      bind_diagnostics(
                          words_, on_strand(acquiring_, [self = this->shared_from_this(),
                                                         e = std::move(e)](error_code ec) mutable {
                              if (ec == condition::lock_lost || ec == errc::client_closed) {
                                  self->lost_ = ec;
                              } else if (ec == asio::error::operation_aborted &&
                                         self->cancelled_ == asio::cancellation_type::none) {
                                  self->lost_ = errc::client_closed; // the client was destroyed
                              } // else the release goes on in the background
                              self->conclude(std::move(e));
                          })));
    }

private:
    void acquire()
    {
        if (cancelled_ != asio::cancellation_type::none) {
            fail(asio::error::operation_aborted);
            return;
        }
        const auto self = this->shared_from_this();
        const auto acquired = [self](error_code ec, guard held) {
            self->held_ = std::move(held);
            if (ec) {
                self->fail(ec);
            } else if (self->cancelled_ != asio::cancellation_type::none) {
                self->conclude_early(); // it came too late, but no body has begun
            } else if (self->lost_ = self->held_.loss_reason(); !self->lost_) {
                self->run();
            } else if (self->lost_ == errc::not_held) { // it was tried, and another holder has it
                self->complete({}, {}, self->words_.message());
            } else {
                self->drop_guard(); // the grant was on its way for so long
                self->conclude({});
            }
        };
        Lock{lock_}.async_lock_for_body(until_,
                                        bind_diagnostics(words_, on_strand(acquiring_, acquired)));
    }

    void run()
    {
        running_ = true;
        held_.async_wait_lost(
            on_strand(watching_, [self = this->shared_from_this()](error_code ec, error_code why) {
                if (!ec && self->running_) {
                    self->lost_ = why;
                    self->stop(asio::cancellation_type::all);
                }
            }));
        lock_.each_revocable(held_, [this](const held_lock& each) { wait_revoked(each); });
        limit_hold();
        run_body(strand_, stopping_.slot(), held_);
    }

    void wait_revoked(const held_lock& asked_for)
    {
        asked_for.async_wait_revoked(
            on_strand(listening_.emplace_back(),
                      [self = this->shared_from_this(), &asked_for](error_code ec) {
                          if (!ec && self->running_) { // else the guard may have gone
                              self->end_body(errc::revoked, "lock " + asked_for.path());
                          }
                      }));
    }

    void limit_hold()
    {
        const std::optional<std::chrono::milliseconds> limit = lock_.max_hold();
        if (!limit) {
            return;
        }
        most_.emplace(strand_, *limit);
        most_->async_wait([self = this->shared_from_this()](const error_code& ec) {
            if (!ec) {
                self->end_body(errc::held_too_long, body_reports::name_of(self->held_));
            }
        });
    }

    // Under a lock that is held; nothing when the body is to end anyway.
    void end_body(errc why, std::string about)
    {
        if (running_ && !lost_ && !ends_at_once(cancelled_) && !ended_for_) {
            ended_for_ = why;
            about_ = std::move(about);
            stop(asio::cancellation_type::all);
        }
    }

    void drop_guard()
    {
        if (lost_) {
            words_.assign(words_about(body_reports::name_of_lost(held_), lost_));
        }
        held_ = {};
    }

    void conclude_early()
    {
        if (ends_at_once(cancelled_)) {
            held_ = {}; // released in the background
            fail(asio::error::operation_aborted);
            return;
        }
        release_guard(held_, on_strand(acquiring_, [self = this->shared_from_this()](error_code) {
                          self->fail(asio::error::operation_aborted);
                      }));
    }

    void stop(asio::cancellation_type type)
    {
        if (!std::exchange(stopped_, true)) {
            body_reports::cancelled(access::core(held_));
            grace_.expires_after(lock_.body_grace());
            grace_.async_wait([self = this->shared_from_this()](const error_code& ec) {
                if (!ec && self->running_) {
                    body_reports::overdue(access::core(self->held_),
                                          body_reports::name_of(self->held_),
                                          self->lock_.body_grace());
                }
            });
        }
        stopping_.emit(type);
    }

    // The body's own exception wins over the loss, but not the one that comes of being cancelled.
    void conclude(std::exception_ptr e)
    {
        if (lost_ && (!e || comes_of_cancellation(e))) {
            fail(errc::lock_lost);
        } else if (ended_for_ && e && comes_of_cancellation(e)) {
            words_.assign(std::move(about_));
            fail(ended_for_); // what a body gave all the same was made under the lock
        } else {
            complete(std::move(e), {}, {});
        }
    }

    template <class Handler>
    auto on_strand(asio::cancellation_signal& signal, Handler handler)
    {
        return asio::bind_executor(strand_,
                                   asio::bind_cancellation_slot(signal.slot(), std::move(handler)));
    }

    // The text begins with the description of the lock. The exception adds the message of the code.
    void fail(const error_code& ec)
    {
        auto about = words_.message();
        const auto message = ec.message();
        if (about == message) {
            about.clear();
        } else if (about.ends_with(": " + message) || about.ends_with("; " + message)) {
            about.resize(about.size() - message.size() - 2);
        }
        complete(std::make_exception_ptr(
                     boost::system::system_error{ec, about.empty() ? "async_with_lock" : about}),
                 ec, about.empty() ? message : about + ": " + message);
    }

    asio::any_io_executor strand_;
    Lock lock_;
    const deadline until_;
    asio::steady_timer grace_;
    std::optional<asio::steady_timer> most_;
    asio::cancellation_signal acquiring_; // or releasing
    asio::cancellation_signal watching_;
    std::list<asio::cancellation_signal> listening_;
    asio::cancellation_signal stopping_;
    asio::cancellation_type cancelled_ = asio::cancellation_type::none; // by the user
    guard held_;
    bool running_ = false;
    bool stopped_ = false;
    error_code ended_for_; // when this object has cancelled the body under a lock that it holds
    std::string about_;    // "lock /path", then
    error_code lost_;
    diagnostics words_; // for what has failed
};

} // namespace colock::detail

#endif
