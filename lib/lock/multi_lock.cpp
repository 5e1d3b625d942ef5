#include <colock/detail/initiate_lock.hpp>
#include <colock/multi_lock.hpp>
#include <colock/mutex.hpp>
#include <colock/recursive_mutex.hpp>
#include <colock/semaphore.hpp>
#include <colock/shared_mutex.hpp>
#include <colock/single_node_mutex.hpp>

#include "lock/local/lock_path.hpp"
#include "lock/multi/function_operation.hpp"
#include "lock/multi/gathering.hpp"
#include "lock/multi/lock_target.hpp"

#include <algorithm>
#include <optional>

namespace colock {

namespace detail {

namespace {

// A lock with a queue: Locker is what its own operations start with.
template <class Locker>
class queue_target final : public lock_target {
public:
    queue_target(std::shared_ptr<const lock_path> path, Locker locker)
        : path_{std::move(path)}, locker_{std::move(locker)}
    {
    }

    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept override
    {
        return path_->core;
    }
    [[nodiscard]] const std::string& path() const noexcept override { return path_->path; }
    [[nodiscard]] bool rejoins_on_expiry() const noexcept override
    {
        return path_->options.rejoin_on_expiry;
    }
    void start(acquisition a, deadline until) const override
    {
        locker_.start(acquiring<unique_lock>::make(std::move(a)), until);
    }

private:
    const std::shared_ptr<const lock_path> path_;
    const Locker locker_;
};

template <class Locker>
std::shared_ptr<const lock_target> target_of(std::shared_ptr<const lock_path> path, Locker locker)
{
    return std::make_shared<queue_target<Locker>>(std::move(path), std::move(locker));
}

} // namespace

// What a multi_lock refers to. Immutable.
class lock_list {
public:
    template <class Entries>
    explicit lock_list(const Entries& entries)
    {
        for (const lock_entry& each : entries) {
            in_order.push_back({each.target_, in_order.size()});
        }
        // The order of the absolute paths is the same: they begin with the same chroot. The order of equal paths does
        // not matter, because they are an error.
        std::ranges::sort(
            in_order, {}, [](const place& p) -> auto& { return p.target->path(); });
        if (in_order.empty()) {
            fault = errc::nothing_to_lock;
            return;
        }
        core = in_order.front().target->core();
        const auto foreign = [&](const place& p) { return p.target->core() != core; };
        const auto twice = std::ranges::adjacent_find(
            in_order, {}, [](const place& p) -> auto& { return p.target->path(); });
        if (std::ranges::any_of(in_order, foreign)) {
            fault = errc::several_clients;
        } else if (twice != in_order.end()) {
            fault = errc::path_twice;
            fault_path = twice->target->path();
        }
    }

    struct place {
        std::shared_ptr<const lock_target> target;
        std::size_t number; // in the order of the user
    };
    std::vector<place> in_order; // the canonical one
    std::shared_ptr<client_core> core;
    error_code fault;
    std::string fault_path;
};

namespace {

// One operation of a multi_lock. On the strand.
//
// **All at once.** First all locks are joined in one go, and behind them goes a request that changes nothing, the
// probe. The answers of a session come in the order of its requests. So when that of the probe comes, each lock
// was either granted by the list that belongs to its join, and that word is here already (all words are posted to
// the strand, in their order), or it is not held, for whatever reason: somebody is before it, here or elsewhere;
// its directory has to be made; the session has to be proved alive; there is no connection; or this client expected
// nobody else, and has to list after all.
//
// **One by one.** If any is not held then, let w be the first of them in the order of the paths. The locks before
// w are kept, the place in the queue of w as well. The places of all locks behind w are given up, those that are
// held among them, too; and each lock behind w is joined when all before it are held.
//
// **Why nobody waits for ever.** Take somebody who waits for a lock w, the others of his locks being held. Those
// before him in the queue of w hold w, or wait for it. One who waits for it waits for fewer than he does; let one
// hold it. He uses it, which ends, or waits for a lock himself. If his probe is under way, that ends in a round
// trip, or with his connection. Otherwise he waits for a lock behind w: he has none behind the one he waits for.
// So whoever he waits for is on a path that only goes to greater paths, and in each queue only forwards, and
// ends. The same holds for users who lock one by one in this order. The places themselves need not be gone at
// once: their removal is under way and depends on nobody but the servers.
class multi_operation final : public std::enable_shared_from_this<multi_operation> {
public:
    multi_operation(operation_ptr<error_code, multi_guard> op,
                    std::shared_ptr<const lock_list> list, deadline until)
        : op_{std::move(op)}, list_{std::move(list)}, core_{list_->core}, until_{until},
          tries_{until != never && until <= std::chrono::steady_clock::now()},
          parts_(list_->in_order.size())
    {
    }

    void start()
    {
        if (const auto& link = op_.cancellation()) {
            link->bind([weak = weak_from_this()](asio::cancellation_type type) {
                if (const auto self = weak.lock()) {
                    self->cancel(type);
                }
            });
            if (!op_) {
                return; // it was cancelled before
            }
        }
        const client_core::batch together{*core_};
        for (std::size_t i = 0; i != parts_.size(); ++i) {
            join(i);
        }
        if (tries_) {
            return; // none of them waits
        }
        if (parts_.size() == 1) {
            waiting_for_ = 0;
            return;
        }
        core_->submit(make_request({.op = zk::opcode::exists, .path = "/"}, on_loss::fail,
                                   [weak = weak_from_this()](zk::reply&&) {
                                       // Behind the words of the locks.
                                       if (const auto self = weak.lock()) {
                                           self->core_->post([self] { self->probed(); });
                                       }
                                   }));
    }

private:
    struct part {
        enum class state {
            away,    // nothing is there, or under way
            joining, // its operation is under way
            held,
            leaving, // it is being given up
        } at = state::away;
        std::shared_ptr<cancel_link> link; // of what is under way
        gathering::part guard;
    };
    using state = part::state;

    [[nodiscard]] const lock_target& target(std::size_t i) const noexcept
    {
        return *list_->in_order[i].target;
    }

    void join(std::size_t i)
    {
        auto& p = parts_[i];
        p.at = state::joining;
        p.link = std::make_shared<cancel_link>(core_);
        target(i).start(
            {p.link,
             [self = shared_from_this(), i](const error_code& ec, gathering::part guard) {
                 self->core_->post([self, i, ec, guard = std::move(guard)]() mutable {
                     self->joined(i, ec, std::move(guard));
                 });
             }},
            until_);
    }

    void joined(std::size_t i, const error_code& ec, gathering::part guard)
    {
        if (!op_) {
            return;
        }
        auto& p = parts_[i];
        const bool given_up = std::exchange(p.at, state::away) == state::leaving;
        p.link.reset();
        if (gathering::holds(guard)) {
            p.guard = std::move(guard);
            p.at = state::held;
            if (given_up && (cancelled_ || waiting_for_ != i)) {
                give_up(i); // the grant came first
            } else {
                go_on();
            }
        } else if (given_up) {
            left(i);
        } else {
            finish(ec); // without an error: it is busy, or the time is over
        }
    }

    // It has been given up, and nothing of it is under way.
    void left(std::size_t i)
    {
        if (cancelled_) {
            finish_when_no_trace_is_left();
        } else if (waiting_for_ == i) {
            join_next();
        }
    }

    void probed()
    {
        if (!op_ || cancelled_ || waiting_for_) {
            return;
        }
        const auto missing =
            std::ranges::find_if(parts_, [](const part& p) { return p.at != state::held; });
        waiting_for_ = static_cast<std::size_t>(missing - parts_.begin());
        give_up_from(*waiting_for_ + 1);
    }

    // One more is held.
    void go_on()
    {
        if (!waiting_for_) {
            // All at once: all of them, or the probe tells.
            if (std::ranges::all_of(parts_, [](const part& p) { return p.at == state::held; })) {
                deliver();
            }
            return;
        }
        if (take_lost_ones_again()) {
            return;
        }
        if (++*waiting_for_ == parts_.size()) {
            deliver();
        } else {
            join_next();
        }
    }

    void join_next()
    {
        const auto i = *waiting_for_;
        if (parts_[i].at == state::leaving) {
            // The owner of a recursive mutex can wait for it only once. Its word comes at once.
            parts_[i].link->request(asio::cancellation_type::terminal);
        } else if (until_ != never && until_ <= std::chrono::steady_clock::now()) {
            finish(core_->connection_id() != 0 ? error_code{} : errc::disconnected);
        } else {
            join(i);
        }
    }

    // Others may have been waited for for long. What is held need not be held any more: then nothing behind it may
    // be kept.
    bool take_lost_ones_again()
    {
        for (std::size_t i = 0; i != parts_.size(); ++i) {
            const auto why =
                parts_[i].at == state::held
                    ? std::visit([](const auto& held) { return held.lost(); }, parts_[i].guard)
                    : error_code{};
            if (!why) {
                continue;
            }
            if (tries_ || (why == errc::session_expired && !target(i).rejoins_on_expiry())) {
                finish(why);
            } else {
                waiting_for_ = i;
                give_up_from(i);
                join_next();
            }
            return true;
        }
        return false;
    }

    void deliver()
    {
        if (take_lost_ones_again()) {
            return;
        }
        std::vector<gathering::part> locks(parts_.size());
        for (std::size_t i = 0; i != parts_.size(); ++i) {
            locks[list_->in_order[i].number] = std::move(parts_[i].guard);
        }
        std::exchange(op_, {}).complete({}, gathering::guard(core_, std::move(locks)));
    }

    void give_up_from(std::size_t first)
    {
        const client_core::batch together{*core_};
        for (std::size_t i = first; i < parts_.size(); ++i) {
            give_up(i);
        }
    }

    // In the background; but it is known when no trace is left, for a cancellation that waits for that.
    void give_up(std::size_t i)
    {
        auto& p = parts_[i];
        if (p.at == state::joining) {
            p.at = state::leaving;
            p.link->request(asio::cancellation_type::total);
        } else if (p.at == state::held) {
            p.at = state::leaving;
            p.link = std::make_shared<cancel_link>(core_);
            gathering::release(
                function_operation<error_code>::make(
                    core_, p.link,
                    [self = shared_from_this(), i](const error_code&) { self->unlocked(i); }),
                std::move(p.guard));
        }
    }

    void unlocked(std::size_t i)
    {
        if (!op_) {
            return;
        }
        parts_[i].at = state::away;
        parts_[i].link.reset();
        left(i);
    }

    void cancel(asio::cancellation_type type)
    {
        if (!op_) {
            return;
        }
        if (ends_at_once(type)) {
            finish(asio::error::operation_aborted);
        } else {
            cancelled_ = true;
            give_up_from(0);
            finish_when_no_trace_is_left();
        }
    }

    void finish_when_no_trace_is_left()
    {
        if (std::ranges::all_of(parts_, [](const part& p) { return p.at == state::away; })) {
            finish(asio::error::operation_aborted);
        }
    }

    // Without the locks: whatever is there goes in the background.
    void finish(const error_code& ec)
    {
        const client_core::batch together{*core_};
        std::exchange(op_, {}).complete(ec, gathering::guard(core_, {}));
        for (auto& p : parts_) {
            p.guard = {};
            if (const auto link = std::exchange(p.link, nullptr)) {
                link->request(asio::cancellation_type::terminal);
            }
        }
    }

    operation_ptr<error_code, multi_guard> op_; // until it has completed
    const std::shared_ptr<const lock_list> list_;
    const std::shared_ptr<client_core> core_;
    const deadline until_;
    const bool tries_;
    std::vector<part> parts_;                // in the order of the list
    std::optional<std::size_t> waiting_for_; // one by one; all before it are held
    bool cancelled_ = false;                 // and completes when no trace is left
};

} // namespace

} // namespace detail

lock_entry::lock_entry(const mutex& m)
    : target_{detail::target_of(m.path_, detail::path_to_lock{m.path_})}
{
}

lock_entry::lock_entry(const shared_mutex& m)
    : target_{detail::target_of(m.path_, detail::path_to_lock{m.path_})}
{
}

lock_entry::lock_entry(const shared_mutex& m, share_lock_t)
    : target_{detail::target_of(m.path_, detail::path_to_share{m.path_})}
{
}

lock_entry::lock_entry(const semaphore& s, std::int64_t count) : target_{s.target(count)}
{
}

lock_entry::lock_entry(const recursive_mutex& m, lock_owner& owner)
    : target_{detail::target_of(m.path_, detail::path_to_lock_again{m.path_, owner.state_})}
{
}

lock_entry::lock_entry(const single_node_mutex& m)
    : target_{detail::target_of(m.path_, detail::path_to_lock{m.path_})}
{
}

multi_lock::multi_lock(const std::vector<lock_entry>& locks)
    : locks_{std::make_shared<detail::lock_list>(locks)}
{
}

multi_lock::executor_type multi_lock::get_executor() const noexcept
{
    return detail::executor_of(locks_->core);
}

std::size_t multi_lock::size() const noexcept
{
    return locks_->in_order.size();
}

const std::shared_ptr<detail::client_core>& multi_lock::core() const noexcept
{
    return locks_->core;
}

void multi_lock::start_lock(op o, list l, detail::deadline until)
{
    if (const auto& fault = l->fault) {
        if (l->core) {
            l->core->note_error("multi_lock: " + l->fault_path +
                                (l->fault_path.empty() ? "" : ": ") + fault.message());
        }
        o.complete(fault, multi_guard{});
        return;
    }
    const auto core = l->core;
    core->dispatch([o = std::move(o), l = std::move(l), until]() mutable {
        std::make_shared<detail::multi_operation>(std::move(o), std::move(l), until)->start();
    });
}

} // namespace colock
