// The client: an awaitable ZooKeeper session on a user's executor.
#ifndef COLOCK_CLIENT_HPP
#define COLOCK_CLIENT_HPP

#include <colock/client_options.hpp>
#include <colock/client_state.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>
#include <colock/fwd.hpp>
#include <colock/node.hpp>
#include <colock/transaction.hpp>
#include <colock/watch.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {

/// An awaitable ZooKeeper client: a session with one of several servers.
///
/// The client reconnects with exponential back-off, and begins another session when the old one has expired. It runs
/// on the executor that it is given, and never blocks, but to start a session guard. It adds no thread, except one for each look-up of a host *name*, and
/// one for each step of SASL, for which nothing waits. Numeric addresses need no look-up.
///
/// The rest of this comment applies to all member functions; each function documents what is special about it.
///
/// **Requests** reach the server in the order in which they were started, and are answered in that order. What the client
/// repeats comes later: a read after a loss or a throttling, and a create whose parents were missing. *Reads*
/// change nothing (get, exists, children, get_acl, sync, and those that watch); *writes* do (create, set, remove,
/// set_acl, multi). While there is no connection, requests wait: reads, also those that were under way when the
/// connection broke or that a server throttled, and writes that were not sent. A write that was sent fails when the
/// connection is lost. No wait has a limit of its own, but each can be cancelled; docs/operations.md says what ends each
/// operation when no server answers.
///
/// **Errors** of every request, besides those that it lists itself:
///
/// | code | what it means, and what to do |
/// |---|---|
/// | `errc::invalid_path` | The path is malformed; write it like "/locks/orders". Nothing was sent. |
/// | `errc::not_connected` | `async_connect` was not called, or it failed. Call it first. |
/// | those of `async_connect` | The attempt to connect that the request waited for has failed. |
/// | `errc::client_closed` | `async_close` was called. |
/// | `errc::forked` | This process is a forked child of the one that has made the client. Make another client. |
/// | `errc::request_too_large` | More than `client_options::max_request_size`. Nothing was sent. Write less at once. |
/// | `errc::session_full` | Creates: the session has no room for another ephemeral node. Use another client as well. |
/// | `zookeeper_errc::no_auth` | An access control list does not allow it. See `async_add_credentials`. |
/// | `zookeeper_errc::auth_failed` | The servers refuse the credentials of the options. Make another client. |
/// | `zookeeper_errc::connection_loss` | Writes: sent, and not answered. They may have been carried out: check. |
/// | `errc::session_expired` | Writes: the same, and the session has ended meanwhile. |
/// | `zookeeper_errc::throttled_op` | Writes: not carried out, the server has too much to do. Try again later. |
/// | `operation_aborted` | The operation was cancelled, or the client was destroyed. |
///
/// `errc::session_expired` is also the reason of a lost lock: it belongs to the conditions `outcome_unknown` and
/// `lock_lost`.
///
/// **Cancellation** of every request: one that was not sent is withdrawn by any type. A read that was sent completes at
/// once for any type. A write that was sent completes at once for terminal and partial, and may still be carried out;
/// total is ignored.
///
/// **Executor**: a handler runs on its associated executor, by default the client's. It never runs within the function
/// that starts the operation, and the memory of the operation is returned to the handler's allocator before.
///
/// **Thread safety**: all functions of one object may be called from several threads at once, except moving, assigning
/// and destroying it. Internal state lives on a strand of the executor.
///
/// **Lifetime**: a connected client keeps `run()` of its `io_context`, or `join()` of its `thread_pool`, from returning
/// until it is closed or destroyed; other execution contexts need work of their own. The destructor completes every
/// operation with `operation_aborted`, makes held locks lost (`errc::client_closed`) and ends the session in the
/// background; it does not block. The execution context may be destroyed first: no handler is invoked then, and the
/// session ends by its time-out or sooner.
///
/// **Forked children** cannot affect their parent through their copies of clients, locks and guards: docs/threads.md.
///
/// **Not supported**: persistent and recursive watches, reconfiguration of the ensemble, read-only sessions.
class COLOCK_DECL client {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Creates a client that is not connected. Does no I/O. `async_connect` checks the options.
    /// Throws `boost::system::system_error` when the process may open no further descriptor.
    client(executor_type executor, client_options options);

    /// The same, on the executor of a context, such as an `io_context` or a `thread_pool`.
    template <class ExecutionContext>
        requires requires(ExecutionContext& context)
        {
            context.get_executor();
        }
    client(ExecutionContext& context, client_options options)
        : client(executor_type(context.get_executor()), std::move(options))
    {
    }

    /// As the two above, of these servers (`client_options::hosts`), with the defaults of all other options.
    template <class At, std::convertible_to<std::string_view> Hosts>
    client(At&& at, const Hosts& hosts) : client(std::forward<At>(at), only_hosts(hosts))
    {
    }

    /// Moves the session. Locks, guards and watches move with it. A moved-from client may be assigned or destroyed.
    client(client&& other) noexcept;
    /// Moves the session. The session that this object had before ends as by the destructor.
    client& operator=(client&& other) noexcept;
    ~client();

    /// The executor of the constructor.
    [[nodiscard]] executor_type get_executor() const noexcept;

    /// Connects. At completion there is a session, the servers have accepted the credentials, and the chroot exists.
    ///
    /// Completes without an error when the client is connected already. Several calls may be under way: they share one
    /// attempt and its deadline, `client_options::connect_timeout` from the first of them.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: those of bad options first, before anything is sent. The diagnostics (`bind_diagnostics`) name the
    /// option or the host.
    ///  - `errc::invalid_hosts`, `errc::invalid_option`, `errc::invalid_path` (the chroot), `errc::request_too_large`
    ///    (a credential): correct the options.
    ///  - `errc::unknown_host`, `errc::no_server`, `errc::connect_timeout`, `errc::tls_failed`: the last failure before
    ///    the deadline. Try again later.
    ///  - `errc::no_chroot`: create the node `client_options::chroot`, by a client without a chroot.
    ///  - `zookeeper_errc::auth_failed`, `session_closed_require_sasl_auth`: the servers refuse the credentials, or want
    ///    some.
    ///  - `errc::client_closed`: `async_close` was called.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// After a failure a client that has never been connected is idle, and may call this again. So is a client whose
    /// identity the servers refuse (`auth_failed`, `session_closed_require_sasl_auth`). Another one that was connected
    /// before keeps trying.
    ///
    /// Cancellation: terminal, partial, total: completes at once. The attempt ends when no other caller waits for it.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_connect(CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_connect);
    }

    /// Ends the session. At completion without an error the servers have removed all ephemeral nodes of the session.
    ///
    /// Requests that were sent are answered first. Those that wait, and later ones, complete with
    /// `errc::client_closed`. Held locks are lost (`errc::client_closed`). A closed client cannot connect again.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: the client is closed all the same, and the servers end the session after its time-out. Later calls
    /// complete with `errc::disconnected`.
    ///  - `errc::disconnected`: there was no connection, or no answer within `client_options::close_timeout`.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    /// Cancellation: terminal, partial, total: completes at once, and breaks the connection.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_close(CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_close);
    }

    /// Creates a node with these data. At completion the node exists; the result has its path and metadata.
    ///
    /// A sequential mode appends ten digits to `path`, which may then end in '/'. With `create_options::parents`
    /// missing parents are created first, which takes one more round trip when there are any. A write.
    ///
    /// Completion signature: `void(error_code, create_result created)`.
    /// Errors, besides those of every request:
    ///  - `zookeeper_errc::node_exists`: there is a node at `path`.
    ///  - `zookeeper_errc::no_node`: the parent is missing. Create it, or set `create_options::parents`.
    ///  - `zookeeper_errc::no_children_for_ephemerals`: the parent is ephemeral.
    ///  - `zookeeper_errc::invalid_acl`: the list is empty, has an unknown scheme, or has the scheme "auth" and the
    ///    client has no identity.
    ///  - `zookeeper_errc::unimplemented`: the servers have no nodes with a time to live; see `create_mode`.
    ///  - `errc::invalid_option`: the time to live is not positive, or longer than 34 years.
    ///  - `zookeeper_errc::quota_exceeded`: an operator has set a quota.
    /// Cancellation: terminal, partial: completes at once, and may still be carried out. Total: only what was not sent.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_create(std::string path, std::string data, create_options options,
                      CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_create, std::move(path),
                                              std::move(data), std::move(options));
    }

    /// The same, with this mode and `client_options::acl`.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_create(std::string path, std::string data, create_mode mode,
                      CompletionToken&& token = CompletionToken())
    {
        return async_create(std::move(path), std::move(data), create_options{.mode = mode},
                            std::forward<CompletionToken>(token));
    }

    /// The same, of a persistent node.
    template <class CompletionToken>
        requires(!std::convertible_to<CompletionToken, create_mode> &&
                 !std::convertible_to<CompletionToken, create_options>)
    auto async_create(std::string path, std::string data, CompletionToken&& token)
    {
        return async_create(std::move(path), std::move(data), create_options{},
                            std::forward<CompletionToken>(token));
    }
    /// The same, to be awaited.
    auto async_create(std::string path, std::string data)
    {
        return async_create(std::move(path), std::move(data), create_options{});
    }

    /// Reads the data and the metadata of a node, as the server of this connection knows them: other clients' writes
    /// may be missing, see `async_sync`. A read.
    ///
    /// Completion signature: `void(error_code, get_result found)`.
    /// Errors, besides those of every request:
    ///  - `zookeeper_errc::no_node`: there is no node at `path`.
    ///  - `zookeeper_errc::marshalling_error`: the data have more than 32 MiB.
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_get(std::string path, CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_get, std::move(path));
    }

    /// Replaces the data of a node if they have this version (`node_stat::version`). At completion the node has these
    /// data; the result is its new metadata. A write.
    ///
    /// Completion signature: `void(error_code, node_stat written)`.
    /// Errors, besides those of every request:
    ///  - `zookeeper_errc::no_node`: there is no node at `path`.
    ///  - `zookeeper_errc::bad_version`: the data were changed since. Read them again.
    ///  - `zookeeper_errc::quota_exceeded`: an operator has set a quota.
    /// Cancellation: terminal, partial: completes at once, and may still be carried out. Total: only what was not sent.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_set(std::string path, std::string data, std::int32_t version,
                   CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_set, std::move(path),
                                              std::move(data), version);
    }

    /// The same, whatever version the data have.
    template <class CompletionToken = boost::asio::deferred_t>
        requires(!std::convertible_to<CompletionToken, std::int32_t>)
    auto async_set(std::string path, std::string data, CompletionToken&& token = CompletionToken())
    {
        return async_set(std::move(path), std::move(data), any_version,
                         std::forward<CompletionToken>(token));
    }

    /// Reads the metadata of a node; an empty optional, and no error, when there is no node at `path`. A read.
    ///
    /// Completion signature: `void(error_code, std::optional<node_stat> found)`.
    /// Errors: those of every request.
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_exists(std::string path, CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_exists, std::move(path));
    }

    /// Lists the names of a node's children, and reads the node's metadata. A read.
    ///
    /// Completion signature: `void(error_code, children_result found)`.
    /// Errors, besides those of every request:
    ///  - `zookeeper_errc::no_node`: there is no node at `path`.
    ///  - `zookeeper_errc::marshalling_error`: the node has more than 250,000 children, or their names have
    ///    more than 32 MiB: too many for one list.
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_children(std::string path, CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_children, std::move(path));
    }

    /// Deletes a node if its data have this version (`node_stat::version`) and it has no children. At completion there
    /// is no such node. A write.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors, besides those of every request:
    ///  - `zookeeper_errc::no_node`: there is no node at `path`.
    ///  - `zookeeper_errc::bad_version`: the data were changed since. Read them again.
    ///  - `zookeeper_errc::not_empty`: the node has children. Delete them first.
    /// Cancellation: terminal, partial: completes at once, and may still be carried out. Total: only what was not sent.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_remove(std::string path, std::int32_t version,
                      CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_remove, std::move(path),
                                              version);
    }

    /// The same, whatever version the data have.
    template <class CompletionToken = boost::asio::deferred_t>
        requires(!std::convertible_to<CompletionToken, std::int32_t>)
    auto async_remove(std::string path, CompletionToken&& token = CompletionToken())
    {
        return async_remove(std::move(path), any_version, std::forward<CompletionToken>(token));
    }

    /// Carries out all steps or none, in one transaction. At completion without an error all of them are carried out;
    /// `results` has one entry a step. An empty transaction succeeds, and sends nothing. A write.
    ///
    /// ```cpp
    /// co_await zk.async_multi(colock::transaction{}.create("/orders/new", text).remove("/orders/old"));
    /// ```
    ///
    /// Completion signature: `void(error_code, std::vector<transaction_result> results)`.
    /// Errors, besides those of every request:
    ///  - that of the first step that failed, as documented at `async_create`, `async_set` and `async_remove`. `results`
    ///    shows which step it was; nothing was carried out.
    ///  - `errc::invalid_option`: a step creates a container or a node with a time to live, which ZooKeeper's C client
    ///    cannot put into a transaction, or has `create_options::parents`. Nothing was sent.
    /// Cancellation: terminal, partial: completes at once, and may still be carried out. Total: only what was not sent.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_multi(std::vector<transaction_op> ops, CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_multi, std::move(ops));
    }
    /// Carries out these steps or none; a token may follow them. Completion, errors and cancellation are those of the
    /// overload with a vector. `co_await zk.async_multi(colock::check_op(path), colock::remove_op(path))`.
    template <std::same_as<transaction_op> Op, class... More>
    auto async_multi(Op first, More&&... more)
    {
        return multi_of(detail::steps(std::move(first)), std::forward<More>(more)...);
    }

    /// Reads the access control list of a node, and the node's metadata. A read.
    ///
    /// The servers want `permission_read` or `permission_admin`. Without the latter they show "x" in place of the
    /// secret of a digest.
    ///
    /// Completion signature: `void(error_code, acl_result found)`.
    /// Errors, besides those of every request:
    ///  - `zookeeper_errc::no_node`: there is no node at `path`.
    ///  - `zookeeper_errc::marshalling_error`: the list has more than 50,000 entries, or 32 MiB.
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_get_acl(std::string path, CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_get_acl, std::move(path));
    }

    /// Replaces the access control list of a node if the list has this version (`node_stat::aversion`, which is not the
    /// version of the data). At completion the node has this list. A write. The servers want `permission_admin`.
    ///
    /// Do not write the list in braces in a statement that contains `co_await`: GCC 12 destroys it twice. Give it a
    /// name in a statement before, or call a function such as `creator_acl()`.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors, besides those of every request:
    ///  - `zookeeper_errc::no_node`: there is no node at `path`.
    ///  - `zookeeper_errc::bad_version`: the list was changed since. Read it again.
    ///  - `zookeeper_errc::invalid_acl`: the list is empty, has an unknown scheme, or has the scheme "auth" and the
    ///    client has no identity.
    /// Cancellation: terminal, partial: completes at once, and may still be carried out. Total: only what was not sent.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_set_acl(std::string path, access_control_list acl, std::int32_t version,
                       CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_set_acl, std::move(path),
                                              std::move(acl), version);
    }

    /// The same, whatever version the list has.
    template <class CompletionToken = boost::asio::deferred_t>
        requires(!std::convertible_to<CompletionToken, std::int32_t>)
    auto async_set_acl(std::string path, access_control_list acl,
                       CompletionToken&& token = CompletionToken())
    {
        return async_set_acl(std::move(path), std::move(acl), any_version,
                             std::forward<CompletionToken>(token));
    }

    /// Adds to `client_options::credentials`, without a reconnection. At completion a server has accepted them:
    /// requests that are started from now on have their rights, and so have lock objects.
    ///
    /// ```cpp
    /// co_await zk.async_add_credentials("digest", "worker:secret");
    /// ```
    ///
    /// The client sends all its credentials on each later connection, also in another session, before any request. They
    /// cannot be withdrawn. While there is no connection the operation waits for one; the next connection uses its
    /// credentials in any case. Adding credentials that the client has already is no error.
    ///
    /// `secret`: for the scheme "digest" it reads "user:password".
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors:
    ///  - `errc::invalid_option`: the scheme is empty, or a digest has no colon. Nothing was sent.
    ///  - `errc::request_too_large`: they are larger than `client_options::max_request_size`. Nothing was sent.
    ///  - `errc::credentials_refused`: a server has refused them, and has closed the connection. The client forgets
    ///    them, and continues in the same session on another connection. When several are being added, all of them fail:
    ///    add one after the other. Most servers refuse an unknown scheme; they refuse a wrong password later, with
    ///    `zookeeper_errc::no_auth`.
    ///  - `errc::not_connected`: call `async_connect` first, or put them into `client_options::credentials`.
    ///  - `errc::client_closed`, or `operation_aborted` when the client was destroyed.
    /// Cancellation: terminal, partial, total: completes at once. The client may keep the credentials.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_add_credentials(std::string scheme, std::string secret,
                               CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_add_credentials,
                                              credential{std::move(scheme), std::move(secret)});
    }

    /// From the next connection on, the client uses this context; the current connection and the session continue. This
    /// is how certificates and keys are renewed while locks are held.
    ///
    /// Throws `boost::system::system_error` with `errc::invalid_option` when the client was made without `tls`, or `context`
    /// is empty: it cannot switch between TLS and plain TCP; or when its `session_guard` cannot have the context.
    void use_tls(std::shared_ptr<boost::asio::ssl::context> context);

    /// Replaces `client_options::hosts`, while locks are held. At completion the client is connected to a server of this list,
    /// or has never been connected: it needs the others no longer. `co_await zk.async_set_hosts("zk2:2181,zk4:2181")`.
    ///
    /// A connection to a server of the list stays. Otherwise the client resumes its session at one of them, once its requests
    /// are answered, or after a second. While there is no connection the operation waits for one. Of several calls the last
    /// one counts, and all complete with it. Servers of another ensemble do not know the session: locks are lost
    /// (`errc::session_expired`). If none can be reached, the session ends by its time-out, unless another call comes before.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: those of `async_connect`, when that ends without a first connection; the list stays. Besides:
    ///  - `errc::invalid_hosts`: correct the list; the diagnostics say where. The former one stays.
    ///  - `errc::unknown_host`: no name of the list is known. The connection stays; the next one is to this list.
    ///  - `errc::client_closed`, or `operation_aborted` when the client was destroyed.
    /// Cancellation: terminal, partial, total: completes at once. The list stays.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_set_hosts(std::string hosts, CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_set_hosts, std::move(hosts));
    }

    /// Brings the server of this connection up to date. Reads that are started at completion see every write that was
    /// complete when this operation began, except during a change of leaders. Any `path` will do, such as "/". A read.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: those of every request.
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_sync(std::string path, CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_sync, std::move(path));
    }

    /// Reads the data and the metadata of a node, and watches them: `found.value` is what was read, `found.changes`
    /// waits for the event, which is `changed` or `deleted`. A read.
    ///
    /// Completion signature: `void(error_code, watched<get_result> found)`.
    /// Errors, besides those of every request: those of `async_get`; no watch is set then.
    /// Cancellation: terminal, partial, total: completes at once, without a watch.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_watch(std::string path, CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_watch_data, std::move(path));
    }

    /// Reads the metadata of a node, an empty optional when there is none, and watches it: the event is `created`,
    /// `changed` or `deleted`. A read.
    ///
    /// Completion signature: `void(error_code, watched<std::optional<node_stat>> found)`.
    /// Errors: those of every request; no watch is set then.
    /// Cancellation: terminal, partial, total: completes at once, without a watch.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_watch_exists(std::string path, CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_watch_exists, std::move(path));
    }

    /// Lists a node's children, and watches the list: the event is `children_changed` (a child was created or deleted)
    /// or `deleted` (the node itself). A read.
    ///
    /// Completion signature: `void(error_code, watched<children_result> found)`.
    /// Errors, besides those of every request: no watch is set then.
    ///  - `zookeeper_errc::no_node`: there is no node at `path`.
    ///  - `zookeeper_errc::marshalling_error`: the node has more than 250,000 children, or their names have
    ///    more than 32 MiB: too many for one list.
    /// Cancellation: terminal, partial, total: completes at once, without a watch.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_watch_children(std::string path, CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_watch_children, std::move(path));
    }

    /// Waits until the state differs from `seen`; at completion it is `now`, or was a moment ago. Of several changes
    /// in quick succession a loop may see only the last one.
    ///
    /// Completion signature: `void(error_code, connection_state now)`.
    /// Errors:
    ///  - `errc::client_closed`: `seen` is `closed`, and no other state follows it.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait_state_change(connection_state seen, CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(core_, token, &start_wait_state_change, seen);
    }

    /// The state a moment ago. Waits for nothing.
    [[nodiscard]] connection_state state() const noexcept;

    /// The number of the session, as the servers' logs have it (in hexadecimal there); 0 when there is none.
    [[nodiscard]] std::int64_t session_id() const noexcept;

    /// The time-out that the servers have granted, which may differ from `client_options::session_timeout`; 0 before
    /// the first session.
    [[nodiscard]] std::chrono::milliseconds session_timeout() const noexcept;

    /// Numbers the connections of this client, from 1; 0 while there is none. Compare it before one operation starts
    /// and after a later one has completed. If it is the same, both went over one connection: the server saw them in
    /// order, with nothing lost between them.
    [[nodiscard]] std::uint64_t connection_id() const noexcept;

    /// Counters and current figures; each is exact, but they are not taken at the same instant.
    [[nodiscard]] client_stats stats() const;

    /// What the client's last failure was about: host, path, cause. For people; may be empty. With several operations
    /// under way it may be the failure of another one. Prefer `bind_diagnostics`, which describes one operation.
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
    static void start_get_acl(const core_ptr&, op<error_code, acl_result>, std::string path);
    static void start_set_acl(const core_ptr&, op<error_code>, std::string path,
                              access_control_list acl, std::int32_t version);
    static void start_add_credentials(const core_ptr&, op<error_code>, credential added);
    static void start_sync(const core_ptr&, op<error_code>, std::string path);
    static void start_watch_data(const core_ptr&, op<error_code, watched<get_result>>,
                                 std::string path);
    static void start_watch_exists(const core_ptr&,
                                   op<error_code, watched<std::optional<node_stat>>>,
                                   std::string path);
    static void start_watch_children(const core_ptr&, op<error_code, watched<children_result>>,
                                     std::string path);
    static void start_set_hosts(const core_ptr&, op<error_code>, std::string hosts);
    static void start_wait_state_change(const core_ptr&, op<error_code, connection_state>,
                                        connection_state seen);

    [[nodiscard]] static client_options only_hosts(std::string_view hosts);

    // Only lent: see borrowed_client.
    explicit client(core_ptr core) noexcept : core_{std::move(core)} {}

    core_ptr core_;
};

} // namespace colock

#endif
