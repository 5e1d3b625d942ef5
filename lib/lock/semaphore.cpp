#include <colock/detail/access.hpp>
#include <colock/detail/initiate_lock.hpp>
#include <colock/multi_lock.hpp>
#include <colock/queue_view.hpp>
#include <colock/semaphore.hpp>

#include "client/borrowed_client.hpp"
#include "lock/driver/random_guid.hpp"
#include "lock/lease/held_nodes.hpp"
#include "lock/local/lock_path.hpp"
#include "lock/multi/lock_target.hpp"
#include "protocol/names/contender_name.hpp"
#include "protocol/names/path.hpp"

#include <boost/asio/append.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

namespace colock {

namespace detail {

namespace {

namespace experimental = asio::experimental;

template <class T>
using awaitable = asio::awaitable<T, asio::any_io_executor>;

[[noreturn]] void fail(const error_code& ec)
{
    throw boost::system::system_error{ec};
}

error_code code_of(const std::exception_ptr& e)
{
    try {
        std::rethrow_exception(e);
    } catch (const boost::system::system_error& error) {
        return error.code();
    }
}

// As Curator's SharedCount writes it.
std::optional<std::int64_t> number_in(const std::string& data)
{
    if (data.size() != 4) {
        return std::nullopt;
    }
    std::uint32_t bits = 0;
    for (const char c : data) {
        bits = bits << 8 | static_cast<unsigned char>(c);
    }
    const auto number = static_cast<std::int32_t>(bits);
    return number >= 0 ? std::optional<std::int64_t>{number} : std::nullopt;
}

// What this library writes into the directory of the permits, so that others notice when they disagree.
constexpr std::string_view maximum_key = "permits=";

std::optional<std::int64_t> maximum_in(std::string_view data)
{
    std::int64_t number = 0;
    if (!data.starts_with(maximum_key)) {
        return std::nullopt;
    }
    data.remove_prefix(maximum_key.size());
    const auto [end, ec] = std::from_chars(data.data(), data.data() + data.size(), number);
    return ec == std::errc{} && end == data.data() + data.size() ? std::optional{number}
                                                                 : std::nullopt;
}

layout lease_layout()
{
    return {.prefix = "_c_", .marker = "lease-"};
}

} // namespace

constexpr std::int64_t no_number = -1;

// What a semaphore object refers to.
class semaphore_path {
public:
    const std::shared_ptr<client_core> core;
    const std::string path;
    const std::int64_t permits; // or no_number, and then they are in `counter`
    const std::string counter;
    const lock_options options;

    // On the strand.
    void start_acquire(operation_ptr<error_code, permit> op, std::int64_t count,
                       deadline until) const;
    [[nodiscard]] std::shared_ptr<semaphore_state> find(error_code& why, std::string& detail) const;
    // How many permits can be had in one transaction.
    [[nodiscard]] std::int64_t most_at_once() const;

    mutable std::shared_ptr<semaphore_state> state = nullptr; // keeps it from being forgotten
};

// What the semaphore objects of one path and client share.
class semaphore_state final : public path_entry,
                              public std::enable_shared_from_this<semaphore_state> {
public:
    explicit semaphore_state(const semaphore_path& of)
        : core_{of.core}, path_{of.path}, permits_{of.permits}, counter_{of.counter},
          options_{of.options}, leases_{protocol::join_path(path_, "leases")}
    {
    }
    ~semaphore_state() override { core_->forget_path(path_); }

    // For people; empty when there is none.
    [[nodiscard]] std::string difference_to(const semaphore_path& of) const
    {
        const auto permits = [](std::int64_t number, const std::string& counter) {
            return counter.empty() ? std::to_string(number) : "in " + counter;
        };
        if (permits_ != of.permits || counter_ != of.counter) {
            return "the number of permits is " + permits(permits_, counter_) + " there and " +
                   permits(of.permits, of.counter) + " here";
        }
        return difference(options_, of.options);
    }

    // On the strand.
    void acquire(operation_ptr<error_code, permit> op, std::int64_t count, deadline until);

    void discarded() noexcept override {}

private:
    struct acquisition;

    static lock_options as_mutex(lock_options o)
    {
        o.layout = curator_layout();
        o.linger = std::chrono::milliseconds{0};
        return o;
    }

    awaitable<permit> take(acquisition& a, std::int64_t count, deadline until);
    awaitable<std::optional<permit>> take_as_holder(acquisition& a, unique_lock& held,
                                                    std::optional<std::int64_t> taken,
                                                    std::int64_t count, deadline until);
    awaitable<std::vector<std::string>> make(const unique_lock& held, std::int64_t count);
    awaitable<std::int64_t> taken();
    awaitable<std::int64_t> limit(std::optional<watch>& changes);
    awaitable<void> pause(acquisition& a) const;
    awaitable<void> make_directory();
    void compare(const error_code& ec, const std::string& maximum,
                 const std::vector<std::string>& siblings);
    awaitable<void> wait_for_change(const unique_lock& held, watch& leases,
                                    std::optional<watch>& limit);

    [[nodiscard]] std::int64_t count(const children_result& r) const
    {
        return static_cast<std::int64_t>(protocol::contenders(lease_layout(), r.names).size());
    }
    [[nodiscard]] auto lock(deadline until)
    {
        return detail::acquire(acquire_request{locks_}, asio::deferred, until);
    }

    // A look at what others take the path for; without one when it was compared already.
    template <class Result, class Look>
    [[nodiscard]] auto once(Look look)
    {
        return asio::async_initiate<const asio::deferred_t, void(error_code, Result)>(
            [this, look](auto handler) {
                if (compared_) {
                    asio::post(core_->strand(),
                               asio::append(std::move(handler), error_code{}, Result{}));
                } else {
                    look(std::move(handler));
                }
            },
            asio::deferred);
    }

    const std::shared_ptr<client_core> core_;
    borrowed_client client_{core_};
    const std::string path_;
    const std::int64_t permits_;
    const std::string counter_;
    const lock_options options_;
    const std::string leases_;
    std::shared_ptr<lock_path>
        locks_;             // made when it is needed: the table of paths is in use before
    bool compared_ = false; // the maximum, with what others have written
};

// One execution: the operation may be over before what it does is.
struct semaphore_state::acquisition final : session_listener {
    acquisition(operation_ptr<error_code, permit> o, const std::shared_ptr<client_core>& c)
        : op{std::move(o)}, core{c}, timer{c->strand()}, rest{c->strand()}
    {
    }

    operation_ptr<error_code, permit> op;
    const std::shared_ptr<client_core> core;
    zk::timer timer;                         // of the deadline
    zk::timer rest;                          // of a pause
    std::unique_ptr<protocol::backoff> pace; // since the first repetition
    bool tries = false;
    asio::cancellation_signal signal;
    bool cancelled = false; // also at a time when that came too late for what was under way

    void cancel(asio::cancellation_type type)
    {
        cancelled = true;
        if (op && ends_at_once(type)) {
            std::exchange(op, {}).complete(asio::error::operation_aborted, permit{});
        }
        signal.emit(type);
    }

    // The time is over, whatever is waited for: most of that waits for a connection, too.
    void give_up()
    {
        if (op) {
            const error_code why = core->is_connected() ? error_code{} : errc::disconnected;
            std::exchange(op, {}).complete(why, access::make<permit>(core));
            signal.emit(asio::cancellation_type::terminal);
        }
    }

    void done(const std::exception_ptr& e, permit p)
    {
        timer.cancel();
        core->remove(*this);
        if (op) { // else what was taken is given back
            std::exchange(op, {}).complete(e ? code_of(e) : error_code{}, std::move(p));
        }
    }

    void connected(std::int64_t) override {}
    void suspended() override
    {
        rest.cancel();
        if (tries) { // a try does not wait for a connection
            give_up();
        }
    }
    void expired() override {}
    void closed(const error_code&) override { rest.cancel(); }
};

void semaphore_state::acquire(operation_ptr<error_code, permit> op, std::int64_t n, deadline until)
{
    if (!locks_) {
        locks_ = std::make_shared<lock_path>(core_, protocol::join_path(path_, "locks"),
                                             as_mutex(options_), lock_kind::semaphore);
    }
    if (until <= std::chrono::steady_clock::now()) {
        until = at_once;
        auto refused = core_->unavailable();
        if (!refused && !core_->is_connected()) {
            refused = errc::disconnected;
        }
        if (refused) {
            core_->note_error("semaphore " + path_ + ": " + refused.message());
            op.complete(refused, access::make<permit>(core_));
            return;
        }
    }
    const auto a = std::make_shared<acquisition>(std::move(op), core_);
    const auto link = a->op.cancellation();
    a->tries = until == at_once;
    core_->add(a);
    if (until != at_once && until != never) {
        a->timer.expires_at(until);
        a->timer.async_wait([weak = std::weak_ptr{a}](const error_code& ec) {
            if (const auto of = weak.lock(); of && !ec) {
                of->give_up();
            }
        });
    }
    asio::co_spawn(
        asio::any_io_executor{core_->strand()},
        [](std::shared_ptr<semaphore_state> self, std::shared_ptr<acquisition> of,
           std::int64_t number, deadline limit) -> awaitable<permit> {
            co_return co_await self->take(*of, number, limit);
        }(shared_from_this(), a, n, until),
        asio::bind_cancellation_slot(
            a->signal.slot(), [a](std::exception_ptr e, permit p) { a->done(e, std::move(p)); }));
    if (link && a->op) {
        // What is under way keeps it alive. The link must not: the operation, which it contains, owns the link.
        link->bind([weak = std::weak_ptr{a}](asio::cancellation_type type) {
            if (const auto of = weak.lock()) {
                of->cancel(type);
            }
        });
    }
}

awaitable<permit> semaphore_state::take(acquisition& a, std::int64_t n, deadline until)
{
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    if (until == at_once) {
        std::optional<watch> ignored;
        if (co_await taken() + n > co_await limit(ignored)) {
            co_return access::make<permit>(core_);
        }
    }
    for (;;) {
        // Behind the join, and before it is answered: one who is first in the queue by then has a list that
        // nobody else can have added to.
        auto [order, ec, held, list_ec, list, maximum_ec, maximum, siblings_ec, siblings] =
            co_await experimental::make_parallel_group(
                lock(until), client_->async_children(leases_),
                once<get_result>([this](auto h) { client_->async_get(leases_, std::move(h)); }),
                once<children_result>(
                    [this](auto h) { client_->async_children(path_, std::move(h)); }))
                .async_wait(experimental::wait_for_all(), asio::use_awaitable);
        if (ec) {
            fail(ec);
        }
        compare(maximum_ec, maximum.data, siblings.names);
        if (held.lost() == errc::not_held) { // in time; one that is lost already is no such answer
            co_return access::make<permit>(core_);
        }
        std::optional<std::int64_t> found;
        const bool granted_before_list =
            std::ranges::find(order, 0U) < std::ranges::find(order, 1U);
        if (granted_before_list && (!list_ec || list_ec == zookeeper_errc::no_node)) {
            found = count(list);
        }
        std::exception_ptr failed;
        try {
            if (auto p = co_await take_as_holder(a, held, found, n, until)) {
                co_return std::move(*p);
            }
        } catch (...) {
            failed = std::current_exception();
        }
        if (failed) {
            // Cancelled: completes when no trace is left.
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            co_await held.async_unlock(asio::as_tuple(asio::use_awaitable));
            std::rethrow_exception(failed);
        }
        // The place in the queue was lost: from the beginning.
        if (!options_.rejoin_on_expiry && held.lost() == errc::session_expired) {
            fail(errc::session_expired);
        }
        co_await pause(a);
    }
}

// Nobody else adds permits meanwhile. The deadline is that of the acquisition, but for one who tries. Empty when the lock of the queue is lost.
awaitable<std::optional<permit>> semaphore_state::take_as_holder(acquisition& a, unique_lock& held,
                                                                 std::optional<std::int64_t> found,
                                                                 std::int64_t n, deadline until)
{
    std::optional<watch> limit_changes;
    auto most = co_await limit(limit_changes);
    while (held) {
        if (!found) {
            found = co_await taken();
        }
        if (*found + n <= most) {
            // Whoever cancels from here on comes too late.
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            if (auto nodes = co_await make(held, n); !nodes.empty()) {
                if (const auto why = core_->unavailable(); why) {
                    fail(why); // they go with the session; nobody would be told of that
                }
                const auto kept =
                    std::make_shared<held_nodes>(core_, shared_from_this(), "semaphore " + path_,
                                                 path_, nodes, options_.lost_lead);
                kept->begin();
                core_->count.locks_granted.fetch_add(1, std::memory_order_relaxed);
                co_return access::make<permit>(core_, kept, std::move(nodes));
            }
            co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
            if (a.cancelled) {
                fail(asio::error::operation_aborted);
            }
            co_await pause(a);
            found.reset();
            most = co_await limit(limit_changes); // it may have changed meanwhile
            continue;
        }
        auto [ec, leases] =
            co_await client_->async_watch_children(leases_, asio::as_tuple(asio::use_awaitable));
        if (ec == zookeeper_errc::no_node) {
            co_await pause(a);
            co_await make_directory(); // there has to be one to wait for a higher limit, too
            found = 0;
            most = co_await limit(limit_changes);
            continue;
        }
        if (ec) {
            fail(ec);
        }
        found = count(leases.value);
        if (*found + n <= most) {
            continue;
        }
        if (until == at_once) {
            co_return access::make<permit>(core_);
        }
        co_await wait_for_change(held, leases.changes, limit_changes);
        if (!counter_.empty()) {
            most = co_await limit(limit_changes);
        }
        found.reset();
    }
    co_return std::nullopt;
}

awaitable<void> semaphore_state::wait_for_change(const unique_lock& held, watch& leases,
                                                 std::optional<watch>& limit)
{
    const auto wait_for = [&](auto&&... more) {
        return experimental::make_parallel_group(leases.async_wait(asio::deferred),
                                                 held.async_wait_lost(asio::deferred),
                                                 std::forward<decltype(more)>(more)...)
            .async_wait(experimental::wait_for_one(), asio::use_awaitable);
    };
    if (limit) {
        co_await wait_for(limit->async_wait(asio::deferred));
    } else {
        co_await wait_for();
    }
    if ((co_await asio::this_coro::cancellation_state).cancelled() !=
        asio::cancellation_type::none) {
        fail(asio::error::operation_aborted);
    }
}

// The permits, all in one transaction; none when that was not to be, and has to be looked at again.
awaitable<std::vector<std::string>> semaphore_state::make(const unique_lock& held, std::int64_t n)
{
    const auto prefix = protocol::name_prefix(lease_layout(), random_guid());
    std::vector<transaction_op> ops;
    for (std::int64_t i = 0; i != n; ++i) {
        ops.push_back(create_op(protocol::join_path(leases_, prefix),
                                options_.owner_data ? *options_.owner_data : default_owner_data(),
                                {.mode = create_mode::ephemeral_sequential, .acl = options_.acl}));
    }
    const auto session = core_->session();
    const auto guarded = held.guarded(std::move(ops));
    const auto [ec, results] =
        co_await client_->async_multi(guarded, asio::as_tuple(asio::use_awaitable));
    std::vector<std::string> made;
    if (!ec) {
        for (std::size_t i = 1; i != results.size(); ++i) {
            made.push_back(results[i].path);
        }
    } else if (outcome_unknown(ec)) {
        // The list waits for the next connection, whose barrier stops what was sent on this one: see
        // client_core::send_barrier().
        const auto [list_ec, list] =
            co_await client_->async_children(leases_, asio::as_tuple(asio::use_awaitable));
        if (list_ec && list_ec != zookeeper_errc::no_node) {
            fail(list_ec);
        }
        for (const auto& name : list.names) {
            if (name.starts_with(prefix) && core_->session() == session) {
                made.push_back(protocol::join_path(leases_, name));
            }
        }
    } else if (ec == zookeeper_errc::no_node) {
        if (!results.empty() && !results.front().error) {
            co_await make_directory();
        } // else the lock of the queue is lost, as will show
    } else if (!is_retryable(ec)) {
        fail(ec);
    }
    co_return made;
}

awaitable<std::int64_t> semaphore_state::taken()
{
    const auto [ec, list] =
        co_await client_->async_children(leases_, asio::as_tuple(asio::use_awaitable));
    if (ec && ec != zookeeper_errc::no_node) {
        fail(ec);
    }
    co_return count(list);
}

// How many there are. With a watch, where that may change.
awaitable<std::int64_t> semaphore_state::limit(std::optional<watch>& changes)
{
    if (counter_.empty()) {
        co_return permits_;
    }
    auto read = co_await client_->async_watch(counter_, asio::use_awaitable);
    const auto number = number_in(read.value.data);
    if (!number) {
        core_->note_error("semaphore " + path_ + ": the counter " + counter_ + " holds " +
                          std::to_string(read.value.data.size()) + " bytes, or a negative number");
        fail(errc::invalid_counter);
    }
    changes = std::move(read.changes);
    co_return *number;
}

// Before what was in vain is done again, as with the commands of a lock: see queue_member_pace.cpp.
awaitable<void> semaphore_state::pause(acquisition& a) const
{
    using namespace std::chrono_literals;
    if (!a.pace) {
        a.pace = std::make_unique<protocol::backoff>(1ms, 1s, zk::random_seed());
    }
    const auto length = a.pace->repeat(std::chrono::steady_clock::now().time_since_epoch());
    if (const auto why = core_->unavailable(); why) {
        fail(why);
    }
    if (length > length.zero()) {
        a.rest.expires_after(length);
        co_await a.rest.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    if (a.cancelled || (co_await asio::this_coro::cancellation_state).cancelled() !=
                           asio::cancellation_type::none) {
        fail(asio::error::operation_aborted);
    }
}

awaitable<void> semaphore_state::make_directory()
{
    auto paths = protocol::path_and_ancestors(leases_);
    // All of it has a name: GCC 12 destroys twice what is made within a co_await expression.
    const create_options as{.mode = create_mode::container, .acl = options_.acl};
    for (const auto& each : paths) {
        const bool last = each == leases_;
        std::string data;
        if (last && counter_.empty()) {
            data = std::string{maximum_key} + std::to_string(permits_);
        }
        const auto [ec, made] =
            co_await client_->async_create(each, data, as, asio::as_tuple(asio::use_awaitable));
        // One whose fate is not known is seen in the next transaction.
        if (last && ec && ec != zookeeper_errc::node_exists && !outcome_unknown(ec) &&
            !is_retryable(ec)) {
            fail(ec);
        }
    }
}

// With what others take the path for. Siblings are the children of the path itself.
void semaphore_state::compare(const error_code& ec, const std::string& maximum,
                              const std::vector<std::string>& siblings)
{
    if (compared_) {
        return;
    }
    const auto in_use_as = [&](const layout& l) {
        return !protocol::contenders(l, siblings).empty();
    };
    if (in_use_as(curator_layout()) || in_use_as(curator_shared_layout())) {
        core_->note_error("semaphore " + path_ + ": " +
                          error_code{errc::conflicting_kind}.message());
        fail(errc::conflicting_kind);
    }
    if (ec) {
        return; // there is no directory yet, for instance
    }
    const auto others = maximum_in(maximum);
    if (others && *others != permits_) {
        const auto here = counter_.empty() ? std::to_string(permits_) : "a counter of";
        core_->note_error("semaphore " + path_ + ": here it has " + here + " permits, and " +
                          std::to_string(*others) + " elsewhere");
        fail(errc::conflicting_maximum);
    }
    compared_ = true;
}

std::int64_t semaphore_path::most_at_once() const
{
    constexpr std::size_t guid_and_number = 50, fixed_fields = 50; // and what is around them, amply
    auto each = core->options().chroot.size() + path.size() + guid_and_number + fixed_fields +
                (options.owner_data ? *options.owner_data : default_owner_data()).size();
    each += std::string_view{"/leases/_c_--lease-"}.size();
    for (const auto& entry : options.acl ? *options.acl : core->options().acl) {
        each += 3 * sizeof(std::int32_t) + entry.scheme.size() + entry.id.size();
    }
    return static_cast<std::int64_t>(
        std::max<std::size_t>(core->options().max_request_size / each, 1));
}

std::shared_ptr<semaphore_state> semaphore_path::find(error_code& why, std::string& detail) const
{
    if (const auto what = protocol::path_fault(path); !what.empty()) {
        why = errc::invalid_path;
        detail = "the path " + what;
    } else if (permits != no_number && permits <= 0) {
        why = errc::invalid_option;
        detail = "a semaphore has at least one permit, not " + std::to_string(permits);
    } else if (const auto fault =
                   permits == no_number ? protocol::path_fault(counter) : std::string{};
               !fault.empty()) {
        why = errc::invalid_path;
        detail = "the path of the counter " + fault;
    } else if (const auto wrong = fault_of(options, lock_kind::semaphore); !wrong.empty()) {
        why = errc::invalid_option;
        detail = wrong;
    }
    if (why) {
        return nullptr;
    }
    const auto there =
        core->find_path(path, [&] { return std::make_shared<semaphore_state>(*this); });
    auto found = std::dynamic_pointer_cast<semaphore_state>(there);
    const auto what =
        found ? found->difference_to(*this) : difference(*there, lock_kind::semaphore);
    if (!what.empty()) {
        why = errc::conflicting_use;
        detail = why.message() + ": " + what;
        return nullptr;
    }
    return found;
}

void semaphore_path::start_acquire(operation_ptr<error_code, permit> op, std::int64_t count,
                                   deadline until) const
{
    error_code why;
    std::string detail;
    const auto found = state ? state : find(why, detail);
    if (!why && count <= 0) {
        why = errc::invalid_option;
        detail = "at least one permit is to be acquired, not " + std::to_string(count);
    } else if (!why && permits != no_number && count > permits) {
        why = errc::too_many_permits;
        detail = std::to_string(count) + " permits of " + std::to_string(permits);
    } else if (const auto most = why ? count : most_at_once(); count > most) {
        why = errc::invalid_option;
        detail = "no more than " + std::to_string(most) + " permits fit into one request, not " +
                 std::to_string(count) + "; acquire them in portions";
    }
    if (why) {
        core->note_error("semaphore " + path + ": " + detail);
        op.complete(why, permit{});
        return;
    }
    found->acquire(std::move(op), count, until);
}

} // namespace detail

namespace {

// Permits that are wanted together with locks.
class permit_target final : public detail::lock_target {
public:
    permit_target(std::shared_ptr<const detail::semaphore_path> path, std::int64_t count)
        : path_{std::move(path)}, count_{count}
    {
    }

    [[nodiscard]] const std::shared_ptr<detail::client_core>& core() const noexcept override
    {
        return path_->core;
    }
    [[nodiscard]] const std::string& path() const noexcept override { return path_->path; }
    [[nodiscard]] bool rejoins_on_expiry() const noexcept override
    {
        return path_->options.rejoin_on_expiry;
    }
    void start(detail::acquisition a, detail::deadline until) const override
    {
        path_->start_acquire(detail::acquiring<permit>::make(std::move(a)), count_, until);
    }

private:
    const std::shared_ptr<const detail::semaphore_path> path_;
    const std::int64_t count_;
};

std::shared_ptr<const detail::semaphore_path> path_of(std::shared_ptr<detail::client_core> core,
                                                      std::string path, std::int64_t permits,
                                                      std::string counter, lock_options options)
{
    auto made = std::make_shared<detail::semaphore_path>(detail::semaphore_path{
        std::move(core), std::move(path), permits, std::move(counter), std::move(options)});
    error_code ignored;
    std::string detail;
    made->state = made->find(ignored, detail);
    return made;
}

} // namespace

semaphore::semaphore(client& c, std::string path, std::int64_t permits)
    : semaphore{c, std::move(path), permits, lock_options{}}
{
}

semaphore::semaphore(client& c, std::string path, std::int64_t permits, lock_options options)
    : face_of{path_of(detail::access::core(c), std::move(path),
                      permits == detail::no_number ? 0 : permits, {}, std::move(options))}
{
}

semaphore::semaphore(client& c, std::string path, counter_node permits)
    : semaphore{c, std::move(path), std::move(permits), lock_options{}}
{
}

semaphore::semaphore(client& c, std::string path, counter_node permits, lock_options options)
    : face_of{path_of(detail::access::core(c), std::move(path), detail::no_number,
                      std::move(permits.path), std::move(options))}
{
}

semaphore::executor_type semaphore::get_executor() const noexcept
{
    return behind()->core->executor();
}

const std::string& semaphore::path() const noexcept
{
    return behind()->path;
}

const std::shared_ptr<detail::client_core>& semaphore::core() const noexcept
{
    return behind()->core;
}

lock_entry::lock_entry(const semaphore& s, std::int64_t count)
    : face_of{std::make_shared<permit_target>(detail::access::behind(s), count)}
{
}

void semaphore::start_acquire(const std::shared_ptr<detail::client_core>& core,
                              detail::operation_ptr<error_code, permit> op,
                              std::shared_ptr<const detail::semaphore_path> path,
                              std::int64_t count, detail::deadline until)
{
    core->dispatch([op = std::move(op), path = std::move(path), count, until]() mutable {
        path->start_acquire(std::move(op), count, until);
    });
}

} // namespace colock
