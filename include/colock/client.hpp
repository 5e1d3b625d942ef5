// The client: an awaitable ZooKeeper session on a user's executor.
#ifndef COLOCK_CLIENT_HPP
#define COLOCK_CLIENT_HPP

#include <colock/client_options.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>
#include <colock/fwd.hpp>
#include <colock/node.hpp>
#include <colock/transaction.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock {

/// How the client stands with the servers.
enum class connection_state {
    idle,       ///< `async_connect` has not been called, or it failed.
    connecting, ///< The first connection is being made.
    connected,  ///< Connected, with a session.
    suspended,  ///< The connection is lost and being repaired. The session may live on.
    closed,     ///< Closed, for good.
};

/// Counters since the client was made, and figures of the moment.
struct client_stats {
    std::uint64_t connect_attempts = 0; ///< Connections that were tried.
    std::uint64_t connections = 0;      ///< Connections that reached a session.
    std::uint64_t sessions = 0;         ///< Sessions that were begun.
    std::uint64_t expirations = 0;      ///< Sessions that expired.
    std::uint64_t requests = 0;         ///< Requests sent, pings not counted.
    std::uint64_t replies = 0;          ///< Replies received.
    std::uint64_t watch_events = 0;     ///< Watch events received.
    std::uint64_t wakeups = 0;          ///< How often the client's I/O handlers ran.
    /// Grants: of locks, and of permits, where one acquisition is one grant. The guards of one owner of a
    /// `recursive_mutex` share a grant. An acquisition of permits also takes the lock of the semaphore's queue,
    /// which counts as a grant of its own. A downgrade releases one grant and makes another.
    /// Each grant ends as released or as lost: `locks_granted - locks_released - locks_lost` are held now.
    std::uint64_t locks_granted = 0;
    std::uint64_t locks_released =
        0;                        ///< Grants whose guard let go before the client knew of a loss.
    std::uint64_t locks_lost = 0; ///< Grants that the client lost while a guard held them.
    std::uint64_t bodies_cancelled = 0; ///< Of async_with_lock: told to stop.
    std::uint64_t bodies_overdue = 0;   ///< ... and went on for longer than `body_grace`.
    std::size_t in_flight = 0;          ///< Requests sent and not yet answered.
    std::size_t waiting = 0;            ///< Requests that wait for a connection.
    std::size_t contenders = 0; ///< Lock nodes that exist, are being made, or are being removed.
};

/// One-shot watch on a node, together with the read that set it, see `client::async_watch`.
///
/// Distinct objects are safe to use from several threads, one object is not. Destroying it removes the
/// watch. It may outlive its client.
class [[nodiscard]] COLOCK_DECL watch {
public:
    using executor_type = boost::asio::any_io_executor;

    /// An empty object, which watches nothing.
    watch() noexcept = default;

    /// Waits for the event.
    ///
    /// Completes once with the event; it may have come already. A disconnection is no event: the watch is
    /// set again behind it, and a change in between is reported. A node that was created and deleted while
    /// the connection was down is not noticed by a watch for its existence.
    ///
    /// Preconditions: at most one wait at a time.
    /// Completion signature: `void(error_code, watch_event)`.
    /// Errors: `errc::not_held` the object is empty or its event has been taken already;
    /// `errc::client_closed`; ZooKeeper's code when the watch could not be set again;
    /// `operation_aborted` cancelled.
    /// Cancellation: terminal, partial, total; the watch stays set.
    /// Executor: the handler's associated one, by default the client's. Never inline.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait(CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, watch_event)>(
            detail::initiate<error_code, watch_event>{core()}, token, &start_wait, state_);
    }

private:
    friend struct detail::access;

    // Set once the read has succeeded; its last copy removes the watch.
    explicit watch(std::shared_ptr<void> handle,
                   std::shared_ptr<detail::watch_state> state) noexcept;

    [[nodiscard]] std::shared_ptr<detail::client_core> core() const noexcept;
    static void start_wait(const std::shared_ptr<detail::client_core>& core,
                           detail::operation_ptr<error_code, watch_event> op,
                           std::shared_ptr<detail::watch_state> state);

    std::shared_ptr<void> handle_;
    std::shared_ptr<detail::watch_state> state_;
};

/// What a watched read found, and the watch that it set.
template <class Result>
struct [[nodiscard]] watched {
    Result value;
    watch changes;
};

/// An awaitable ZooKeeper client.
///
/// Connects to one of several servers, keeps a session, reconnects with exponential back-off, and begins
/// a new session when the old one has expired. It runs on the executor that it is given, adds no thread, and
/// blocks nowhere. Asio looks up host *names* in a thread of its own, for which the destructor of an `io_context`
/// waits; numeric addresses need no look-up.
///
/// **Operations** take any completion token, last. Requests are pipelined: they reach the server in the
/// order in which they were started, and are answered in that order. While there is no connection
///  - reads wait, and are repeated when their connection broke (also when the server throttled them),
///  - writes that were not yet sent wait,
///  - writes that were sent complete with a code for which `outcome_unknown` is true.
/// These waits have no end of their own; each of them can be cancelled. docs/operations.md says for every
/// operation of the library what ends it when no server answers. An operation that was started before
/// `async_connect` completes with `errc::not_connected`, one after `async_close` with `errc::client_closed`.
/// Operations with a bad path complete with `errc::invalid_path` and send nothing.
///
/// **Errors** of every operation, besides those it lists: `errc::invalid_path`, `errc::not_connected`,
/// `errc::client_closed`, `zookeeper_errc::no_auth`, `zookeeper_errc::auth_failed` (the servers refuse
/// the credentials; final), `errc::request_too_large` (more than `client_options::max_request_size`; nothing
/// was sent), `operation_aborted`; writes also `zookeeper_errc::connection_loss` and
/// `errc::session_expired`, for which `outcome_unknown` is true.
///
/// **Cancellation** of every operation, unless it says otherwise: a request that has not been sent is
/// withdrawn. For one that has been sent, a read completes with `operation_aborted` for any type; a write
/// does for terminal and partial, and may still be carried out; total alone is ignored.
///
/// **Executor**: a handler runs on its associated executor, by default the client's, never inside the
/// initiating function, and after the memory of the operation was given back to its allocator.
///
/// **Thread safety**: all functions of one object may be called from several threads at once, except
/// moving, assigning and destroying it. Internal state lives on a strand of the executor.
///
/// **Lifetimes**: a connected client keeps `run()` of its `io_context`, or `join()` of its `thread_pool`, from
/// returning until it is closed or destroyed; other execution contexts need work of their own. The destructor
/// completes every operation with `operation_aborted`, makes held locks lost (`errc::client_closed`) and ends the
/// session in the background; it does not block. Destroying the execution context first is fine: nothing is
/// invoked then, and the session ends by its time-out or sooner.
class COLOCK_DECL client {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Makes a client that is not yet connected. Does no I/O, and does not check the options:
    /// `async_connect` does. Throws `system_error` when the process may open no further descriptor.
    client(executor_type executor, client_options options);

    /// The same on the executor of a context, such as an `io_context` or a `thread_pool`.
    template <class ExecutionContext>
        requires requires(ExecutionContext& context)
        {
            context.get_executor();
        }
    client(ExecutionContext& context, client_options options)
        : client(executor_type(context.get_executor()), std::move(options))
    {
    }

    client(client&& other) noexcept;
    client& operator=(client&& other) noexcept;
    ~client();

    [[nodiscard]] executor_type get_executor() const noexcept;

    /// Connects, and completes when there is a session and the chroot was seen to exist.
    ///
    /// Completes at once when connected already. Several may wait at the same time; they share one
    /// attempt and its deadline, `client_options::connect_timeout` from the first of them.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: `errc::invalid_hosts`, `errc::invalid_option`, `errc::invalid_path` (the chroot),
    /// `errc::request_too_large` (a credential) for bad options; at the deadline its last cause:
    /// `errc::unknown_host`, `errc::no_server`, `errc::connect_timeout`; `errc::no_chroot`;
    /// `zookeeper_errc::auth_failed`; `errc::client_closed`; `operation_aborted`. `last_error_detail()` says
    /// which host and why. After a failure to connect for the first time the client is idle again, and may be
    /// told to connect again; one that was connected before goes on trying.
    /// Cancellation: any type completes this call; the attempt goes on when others wait for it and is
    /// given up otherwise.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_connect(CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code)>(
            detail::initiate<error_code>{core_}, token, &start_connect);
    }

    /// Ends the session, and completes when the server has confirmed that, so that nothing of it is left.
    ///
    /// Operations that have been sent are awaited first; those that have not complete with
    /// `errc::client_closed`, as do later ones. Held locks are lost (`errc::client_closed`).
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: `errc::disconnected` there was no connection, or no answer within
    /// `client_options::close_timeout`: the session ends by its time-out; `operation_aborted`.
    /// Cancellation: any type completes this call and ends the connection at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_close(CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code)>(
            detail::initiate<error_code>{core_}, token, &start_close);
    }

    /// Creates a node; completes with its path and metadata.
    ///
    /// A sequential mode appends ten digits to the path, which may then end in '/'. With `create_options::parents`
    /// missing parents are created first, which takes one more round trip when there are any.
    ///
    /// Completion signature: `void(error_code, create_result)`.
    /// Errors: `zookeeper_errc::node_exists`, `no_node` (the parent is missing),
    /// `no_children_for_ephemerals`, `invalid_acl`, `unimplemented` (the server has no nodes with a time
    /// to live).
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_create(std::string path, std::string data, create_options options,
                      CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, create_result)>(
            detail::initiate<error_code, create_result>{core_}, token, &start_create,
            std::move(path), std::move(data), std::move(options));
    }

    /// The same with a mode and the client's default access control.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_create(std::string path, std::string data, create_mode mode,
                      CompletionToken&& token = CompletionToken())
    {
        return async_create(std::move(path), std::move(data), create_options{.mode = mode},
                            std::forward<CompletionToken>(token));
    }

    /// The same of a persistent node.
    template <class CompletionToken>
        requires(!std::convertible_to<CompletionToken, create_mode> &&
                 !std::convertible_to<CompletionToken, create_options>)
    auto async_create(std::string path, std::string data, CompletionToken&& token)
    {
        return async_create(std::move(path), std::move(data), create_options{},
                            std::forward<CompletionToken>(token));
    }
    auto async_create(std::string path, std::string data)
    {
        return async_create(std::move(path), std::move(data), create_options{});
    }

    /// Reads a node's data and metadata.
    ///
    /// Completion signature: `void(error_code, get_result)`.
    /// Errors: `zookeeper_errc::no_node`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_get(std::string path, CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, get_result)>(
            detail::initiate<error_code, get_result>{core_}, token, &start_get, std::move(path));
    }

    /// Replaces a node's data, if it has this version; completes with its new metadata.
    ///
    /// Completion signature: `void(error_code, node_stat)`.
    /// Errors: `zookeeper_errc::no_node`, `bad_version`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_set(std::string path, std::string data, std::int32_t version,
                   CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, node_stat)>(
            detail::initiate<error_code, node_stat>{core_}, token, &start_set, std::move(path),
            std::move(data), version);
    }

    /// The same whatever version the node has.
    template <class CompletionToken = boost::asio::deferred_t>
        requires(!std::convertible_to<CompletionToken, std::int32_t>)
    auto async_set(std::string path, std::string data, CompletionToken&& token = CompletionToken())
    {
        return async_set(std::move(path), std::move(data), any_version,
                         std::forward<CompletionToken>(token));
    }

    /// Asks for a node's metadata; completes without error and with nothing when there is no such node.
    ///
    /// Completion signature: `void(error_code, std::optional<node_stat>)`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_exists(std::string path, CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken,
                                           void(error_code, std::optional<node_stat>)>(
            detail::initiate<error_code, std::optional<node_stat>>{core_}, token, &start_exists,
            std::move(path));
    }

    /// Lists a node's children.
    ///
    /// Completion signature: `void(error_code, children_result)`.
    /// Errors: `zookeeper_errc::no_node`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_children(std::string path, CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, children_result)>(
            detail::initiate<error_code, children_result>{core_}, token, &start_children,
            std::move(path));
    }

    /// Deletes a node, if it has this version and no children.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: `zookeeper_errc::no_node`, `bad_version`, `not_empty`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_remove(std::string path, std::int32_t version,
                      CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code)>(
            detail::initiate<error_code>{core_}, token, &start_remove, std::move(path), version);
    }

    /// The same whatever version the node has.
    template <class CompletionToken = boost::asio::deferred_t>
        requires(!std::convertible_to<CompletionToken, std::int32_t>)
    auto async_remove(std::string path, CompletionToken&& token = CompletionToken())
    {
        return async_remove(std::move(path), any_version, std::forward<CompletionToken>(token));
    }

    /// Carries out all steps or none, in one transaction; completes with one result a step. See `transaction`.
    ///
    /// ```cpp
    /// co_await zk.async_multi(colock::transaction{}.create("/orders/new", text).remove("/orders/old"));
    /// ```
    ///
    /// Completion signature: `void(error_code, std::vector<transaction_result>)`.
    /// Errors: that of the first step that failed, the results say which; `errc::invalid_option` for a
    /// container or a mode with a time to live, which ZooKeeper's C client cannot put into a transaction, and for
    /// `create_options::parents`.
    /// An empty transaction succeeds, and sends nothing.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_multi(std::vector<transaction_op> ops, CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken,
                                           void(error_code, std::vector<transaction_result>)>(
            detail::initiate<error_code, std::vector<transaction_result>>{core_}, token,
            &start_multi, std::move(ops));
    }
    /// The same with the steps one by one, and perhaps a token behind them:
    /// `co_await zk.async_multi(colock::check_op(path), colock::remove_op(path))`.
    template <std::same_as<transaction_op> Op, class... More>
    auto async_multi(Op first, More&&... more)
    {
        return multi_of(detail::steps(std::move(first)), std::forward<More>(more)...);
    }

    /// Brings the server of this connection up to date: reads that are started afterwards see every
    /// write that was complete when this was started, except during a change of leaders.
    ///
    /// Completion signature: `void(error_code)`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_sync(std::string path, CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code)>(
            detail::initiate<error_code>{core_}, token, &start_sync, std::move(path));
    }

    /// Reads a node and sets a watch on its data; the event is `changed` or `deleted`.
    ///
    /// Completion signature: `void(error_code, watched<get_result>)`.
    /// Errors: `zookeeper_errc::no_node`; no watch is set then.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_watch(std::string path, CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, watched<get_result>)>(
            detail::initiate<error_code, watched<get_result>>{core_}, token, &start_watch_data,
            std::move(path));
    }

    /// Asks for a node's metadata and sets a watch; the event is `created`, `changed` or `deleted`.
    ///
    /// Completion signature: `void(error_code, watched<std::optional<node_stat>>)`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_watch_exists(std::string path, CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken,
                                           void(error_code, watched<std::optional<node_stat>>)>(
            detail::initiate<error_code, watched<std::optional<node_stat>>>{core_}, token,
            &start_watch_exists, std::move(path));
    }

    /// Lists a node's children and sets a watch; the event is `children_changed` or `deleted`.
    ///
    /// Completion signature: `void(error_code, watched<children_result>)`.
    /// Errors: `zookeeper_errc::no_node`; no watch is set then.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_watch_children(std::string path, CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken,
                                           void(error_code, watched<children_result>)>(
            detail::initiate<error_code, watched<children_result>>{core_}, token,
            &start_watch_children, std::move(path));
    }

    /// Completes with the state as soon as it is another than `seen`.
    ///
    /// Completion signature: `void(error_code, connection_state)`.
    /// Errors: `errc::client_closed` there will be no other state; `operation_aborted`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait_state_change(connection_state seen, CompletionToken&& token = CompletionToken())
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, connection_state)>(
            detail::initiate<error_code, connection_state>{core_}, token, &start_wait_state_change,
            seen);
    }

    /// The state a moment ago.
    [[nodiscard]] connection_state state() const noexcept;

    /// The session's number, 0 when there is none.
    [[nodiscard]] std::int64_t session_id() const noexcept;

    /// The time-out that the servers granted, 0 before the first session.
    [[nodiscard]] std::chrono::milliseconds session_timeout() const noexcept;

    /// Numbers the connections of this client, from 1; 0 while there is none. Two operations that were
    /// started one after the other, with the same number before the first and after the completion of the
    /// second, went over one connection: the server saw them in order, with nothing lost between them.
    [[nodiscard]] std::uint64_t connection_id() const noexcept;

    [[nodiscard]] client_stats stats() const;

    /// What the last error was about: host, path, cause. For people; may be empty.
    [[nodiscard]] std::string last_error_detail() const;

private:
    friend struct detail::access;

    auto multi_of(std::vector<transaction_op> ops) { return async_multi(std::move(ops)); }
    template <class CompletionToken>
    auto multi_of(std::vector<transaction_op> ops, CompletionToken&& token) requires(
        !std::convertible_to<CompletionToken, transaction_op>)
    {
        return async_multi(std::move(ops), std::forward<CompletionToken>(token));
    }
    template <class... More>
    auto multi_of(std::vector<transaction_op> ops, transaction_op next, More&&... more)
    {
        ops.push_back(std::move(next));
        return multi_of(std::move(ops), std::forward<More>(more)...);
    }

    using core_ptr = std::shared_ptr<detail::client_core>;
    template <class... Results>
    using op = detail::operation_ptr<Results...>;

    static void start_connect(const core_ptr&, op<error_code>);
    static void start_close(const core_ptr&, op<error_code>);
    static void start_create(const core_ptr&, op<error_code, create_result>, std::string path,
                             std::string data, create_options options);
    static void start_get(const core_ptr&, op<error_code, get_result>, std::string path);
    static void start_set(const core_ptr&, op<error_code, node_stat>, std::string path,
                          std::string data, std::int32_t version);
    static void start_exists(const core_ptr&, op<error_code, std::optional<node_stat>>,
                             std::string path);
    static void start_children(const core_ptr&, op<error_code, children_result>, std::string path);
    static void start_remove(const core_ptr&, op<error_code>, std::string path,
                             std::int32_t version);
    static void start_multi(const core_ptr&, op<error_code, std::vector<transaction_result>>,
                            std::vector<transaction_op> ops);
    static void start_sync(const core_ptr&, op<error_code>, std::string path);
    static void start_watch_data(const core_ptr&, op<error_code, watched<get_result>>,
                                 std::string path);
    static void start_watch_exists(const core_ptr&,
                                   op<error_code, watched<std::optional<node_stat>>>,
                                   std::string path);
    static void start_watch_children(const core_ptr&, op<error_code, watched<children_result>>,
                                     std::string path);
    static void start_wait_state_change(const core_ptr&, op<error_code, connection_state>,
                                        connection_state seen);

    // With it a session can be taken over; empty when there is none. For tests.
    [[nodiscard]] std::string session_password() const;

    // Only lent: see borrowed_client.
    explicit client(core_ptr core) noexcept : core_{std::move(core)} {}

    core_ptr core_;
};

} // namespace colock

#endif
