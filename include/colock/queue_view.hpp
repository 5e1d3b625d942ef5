// Looking into the queue of a lock, its holders and its waiters, and asking holders to release it.
#ifndef COLOCK_QUEUE_VIEW_HPP
#define COLOCK_QUEUE_VIEW_HPP

#include <colock/client.hpp>
#include <colock/detail/access.hpp>
#include <colock/detail/basic_lock.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/layout.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {

/// The process of the client that wrote a node, as far as the node's data show.
struct owner_info {
    std::optional<std::string> host;    ///< The name of its machine.
    std::optional<std::int64_t> pid;    ///< Its number there.
    std::optional<std::string> program; ///< Its name.
    /// The path of the node under which it runs: that of the `colock run` that has started it, and holds another lock
    /// meanwhile.
    std::optional<std::string> under = {};
    /// The data without the mark of a request, which other libraries and other users write as they like.
    std::string text;

    bool operator==(const owner_info&) const = default;
};

/// What the nodes of a lock carry unless `lock_options::owner_data` says otherwise:
/// `host=<name> pid=<number> program=<name>`, one line. The server knows the age of the node.
[[nodiscard]] COLOCK_DECL const std::string& default_owner_data();

/// Reads what `default_owner_data` writes, and what the program `colock run` writes, which has one more field:
/// `host=<name> pid=<number> under=<path> program=<name>`. Of other data only `text` is set. Leaves out the line that an
/// owner adds when a client has asked for the lock.
[[nodiscard]] COLOCK_DECL owner_info parse_owner(std::string_view data);

/// Replaces the data of a node to ask its owner to release the lock; the same text as in Apache Curator. `async_revoke`
/// writes it into the nodes of a queue. For a `single_node_mutex` write it yourself, by `client::async_set`. An owner in
/// a queue that uses this library restores its own data as soon as it has read the request, with one more line that
/// records the request.
inline constexpr std::string_view revocation_request = "__REVOKE__";

/// One node of a queue.
struct queue_entry {
    std::string name;        ///< Within the directory of the lock.
    std::string path;        ///< The whole path.
    std::int64_t number = 0; ///< Its sequence number: lower ones go first.
    bool shared = false;     ///< Wants the lock together with others, or shares it.
    /// According to the queue it has the lock, or is about to learn so. It is the first entry, or it shares the lock
    /// and so do all entries before it. Of a semaphore: it is the node of a permit.
    bool holds = false;
    std::string data; ///< By default `default_owner_data()` of the owner.
    std::int64_t czxid =
        0; ///< The transaction that created it: the high half of its `fencing_token`.
    std::int64_t session = 0; ///< Of its owner. 0: an operator created it, and has to delete it.
    /// Its creation, by the server's clock. It has been in the queue since then, including its wait. The permit of a
    /// semaphore has been held since then.
    std::chrono::system_clock::time_point since;
    /// Why the node could not be read, such as `zookeeper_errc::no_auth`. Only its name is known then, and what
    /// follows from the name.
    error_code unreadable;
    /// The node was not read, because of `view_options::most_read`. Only its name is known, and what follows from it.
    bool unread = false;

    /// A client has asked for the lock.
    [[nodiscard]] COLOCK_DECL bool is_revoked() const;
    /// What the data say about the owner: no more than `text`, the request, while a request replaces them; see
    /// `revocation_request`.
    [[nodiscard]] owner_info owner() const { return parse_owner(data); }
};

/// How far a view looks. A queue may have thousands of nodes, each of which is a request.
struct view_options {
    /// The most nodes that are read, in the order of the queue: the holders first, unless more share the lock. The rest
    /// of the entries are `queue_entry::unread`. Of a semaphore: of the permits, and again of the waiters.
    std::size_t most_read = std::numeric_limits<std::size_t>::max();
};

/// A queue as it was found, in its order.
struct queue_view {
    std::vector<queue_entry> entries; ///< The holders, then the waiters.

    /// The holders: the first entries, one at most unless they share the lock. Of a semaphore: its permits.
    [[nodiscard]] COLOCK_DECL std::span<const queue_entry> holders() const noexcept;
    /// The waiters, the next one first.
    [[nodiscard]] COLOCK_DECL std::span<const queue_entry> waiters() const noexcept;
};

namespace detail {

// Where a queue is, and how the nodes in it are named.
struct queue_place {
    std::shared_ptr<client_core> core;
    std::string path;
    layout names;
};
[[nodiscard]] COLOCK_DECL queue_place place_of(const basic_lock& lock);
[[nodiscard]] COLOCK_DECL queue_place place_of(const election& of);
// Of its directory; the layouts of its two queues are fixed.
[[nodiscard]] COLOCK_DECL queue_place place_of(const semaphore& of);

// A lock whose holders and waiters share one queue.
template <class Lock>
concept queueing = std::same_as<Lock, mutex> || std::same_as<Lock, recursive_mutex> ||
    std::same_as<Lock, shared_mutex> || std::same_as<Lock, election>;

struct COLOCK_DECL queue_queries {
    static void view(const std::shared_ptr<client_core>& core,
                     operation_ptr<error_code, queue_view> op, std::string path, layout names,
                     view_options options);
    static void view_permits(const std::shared_ptr<client_core>& core,
                             operation_ptr<error_code, queue_view> op, std::string path,
                             view_options options);
    static void wait_position(const std::shared_ptr<client_core>& core,
                              operation_ptr<error_code, std::size_t> op, std::string node,
                              layout names, std::optional<std::size_t> seen);
    static void revoke(const std::shared_ptr<client_core>& core, operation_ptr<error_code> op,
                       std::string node);
    static void revoke_holders(const std::shared_ptr<client_core>& core,
                               operation_ptr<error_code, std::size_t> op, std::string path,
                               layout names);
};

} // namespace detail

/// Looks into the queue of the lock at `path`. At completion `view` has holders and waiters, in order, with what their
/// nodes say. When you have the lock object, pass that instead: it knows the path and the layout.
///
/// Lists the directory, then reads the nodes, up to 64 at a time: two round trips for a short queue. A long list is
/// handled in slices, so that other handlers of the client's executor are not kept waiting. A node that cannot be
/// read is marked (`queue_entry::unreadable`). The view leaves out children of the directory that are not of the
/// layout, and contenders that leave meanwhile. A directory that does not exist is an empty queue.
///
/// The view is what the server of this client knows, which may lag a little. To see the newest state, call
/// `client::async_sync` before. While there is no connection the operation waits for one.
///
/// Completion signature: `void(error_code, queue_view view)`.
/// Errors:
///  - `errc::invalid_path`: the path is malformed. `errc::invalid_option`: so is the layout.
///  - `zookeeper_errc::no_auth`: an access control list does not allow to list the directory.
///  - others of `client::async_children`, such as `errc::not_connected` and `errc::client_closed`.
///  - `operation_aborted`: cancelled, or the client was destroyed.
///
/// Cancellation: terminal, partial, total: completes at once.
/// Executor: the handler's associated one, by default the client's; never within this function.
/// Thread safety: may be called from several threads at once.
template <class CompletionToken = boost::asio::deferred_t>
auto async_view_queue(const client& zk, std::string path, layout names,
                      CompletionToken&& token = CompletionToken())
{
    return detail::start<CompletionToken>(detail::access::core(zk), token,
                                          &detail::queue_queries::view, std::move(path),
                                          std::move(names), view_options{});
}

/// Looks into the queue of the lock at `path`, and reads `options.most_read` nodes at most: however long the queue is, the
/// cost is that of one list and these reads. At completion `view` has all holders and waiters, in order; those after the last one that
/// was read with their names only. A contender that leaves meanwhile is left out, and no other is read in its place.
/// Otherwise as without options.
///
/// Completion signature: `void(error_code, queue_view view)`.
/// Errors:
///  - `errc::invalid_path`: the path is malformed. `errc::invalid_option`: so is the layout.
///  - `zookeeper_errc::no_auth`: an access control list does not allow to list the directory.
///  - others of `client::async_children`, such as `errc::not_connected` and `errc::client_closed`.
///  - `operation_aborted`: cancelled, or the client was destroyed.
///
/// Cancellation: terminal, partial, total: completes at once.
/// Executor: the handler's associated one, by default the client's; never within this function.
/// Thread safety: may be called from several threads at once.
template <class CompletionToken = boost::asio::deferred_t>
auto async_view_queue(const client& zk, std::string path, layout names, view_options options,
                      CompletionToken&& token = CompletionToken())
{
    return detail::start<CompletionToken>(detail::access::core(zk), token,
                                          &detail::queue_queries::view, std::move(path),
                                          std::move(names), options);
}

/// Looks into the queue of a `mutex`, `recursive_mutex`, `shared_mutex` or `election`. At completion `view` has
/// holders and waiters, in order. The function that takes a path says how it reads them. The object need not live on.
///
/// Completion signature: `void(error_code, queue_view view)`.
/// Errors:
///  - `errc::invalid_path`, `errc::invalid_option`: the path, or the layout, of the object is malformed.
///  - `zookeeper_errc::no_auth`: an access control list does not allow to list the directory.
///  - others of `client::async_children`, such as `errc::not_connected` and `errc::client_closed`.
///  - `operation_aborted`: cancelled, or the client was destroyed.
///
/// Cancellation: terminal, partial, total: completes at once.
/// Executor: the handler's associated one, by default the client's; never within this function.
/// Thread safety: may be called from several threads at once.
template <detail::queueing Lock, class CompletionToken = boost::asio::deferred_t>
auto async_view_queue(const Lock& lock, CompletionToken&& token = CompletionToken())
{
    auto at = detail::place_of(lock);
    return detail::start<CompletionToken>(std::move(at.core), token, &detail::queue_queries::view,
                                          std::move(at.path), std::move(at.names), view_options{});
}

/// Looks into the queue of a `mutex`, `recursive_mutex`, `shared_mutex` or `election`, and reads `options.most_read` nodes at
/// most. At completion `view` has all holders and waiters, in order; those after the last one that was read with their
/// names only. The function that takes a path says more. The object need not live on.
///
/// Completion signature: `void(error_code, queue_view view)`.
/// Errors:
///  - `errc::invalid_path`, `errc::invalid_option`: the path, or the layout, of the object is malformed.
///  - `zookeeper_errc::no_auth`: an access control list does not allow to list the directory.
///  - others of `client::async_children`, such as `errc::not_connected` and `errc::client_closed`.
///  - `operation_aborted`: cancelled, or the client was destroyed.
///
/// Cancellation: terminal, partial, total: completes at once.
/// Executor: the handler's associated one, by default the client's; never within this function.
/// Thread safety: may be called from several threads at once.
template <detail::queueing Lock, class CompletionToken = boost::asio::deferred_t>
auto async_view_queue(const Lock& lock, view_options options,
                      CompletionToken&& token = CompletionToken())
{
    auto at = detail::place_of(lock);
    return detail::start<CompletionToken>(std::move(at.core), token, &detail::queue_queries::view,
                                          std::move(at.path), std::move(at.names), options);
}

/// Looks into a semaphore. At completion `view.holders()` are the nodes of the permits that are held, one for each
/// permit, in the order in which they were granted. `view.waiters()` are the acquisitions that wait, the next one
/// first; the waiters of one client share a node. The waiters are listed first. So one that is granted permits
/// meanwhile may be among both, and none is missing. The object need not live on.
///
/// Completion signature: `void(error_code, queue_view view)`.
/// Errors:
///  - `errc::invalid_path`: the path of the object is malformed.
///  - `zookeeper_errc::no_auth`: an access control list does not allow to list the directories.
///  - others of `client::async_children`, such as `errc::not_connected` and `errc::client_closed`.
///  - `operation_aborted`: cancelled, or the client was destroyed.
///
/// Cancellation: terminal, partial, total: completes at once.
/// Executor: the handler's associated one, by default the client's; never within this function.
/// Thread safety: may be called from several threads at once.
template <class CompletionToken = boost::asio::deferred_t>
auto async_view_queue(const semaphore& of, CompletionToken&& token = CompletionToken())
{
    auto at = detail::place_of(of);
    return detail::start<CompletionToken>(std::move(at.core), token,
                                          &detail::queue_queries::view_permits, std::move(at.path),
                                          view_options{});
}

/// Looks into a semaphore, and reads `options.most_read` nodes of permits, and as many of waiters, at most. At completion
/// `view.holders()` are all permits that are held, and `view.waiters()` all acquisitions that wait; those after the last
/// one that was read with their names only. Otherwise as without options. The object need not live on.
///
/// Completion signature: `void(error_code, queue_view view)`.
/// Errors:
///  - `errc::invalid_path`: the path of the object is malformed.
///  - `zookeeper_errc::no_auth`: an access control list does not allow to list the directories.
///  - others of `client::async_children`, such as `errc::not_connected` and `errc::client_closed`.
///  - `operation_aborted`: cancelled, or the client was destroyed.
///
/// Cancellation: terminal, partial, total: completes at once.
/// Executor: the handler's associated one, by default the client's; never within this function.
/// Thread safety: may be called from several threads at once.
template <class CompletionToken = boost::asio::deferred_t>
auto async_view_queue(const semaphore& of, view_options options,
                      CompletionToken&& token = CompletionToken())
{
    auto at = detail::place_of(of);
    return detail::start<CompletionToken>(std::move(at.core), token,
                                          &detail::queue_queries::view_permits, std::move(at.path),
                                          options);
}

/// Waits until the position of a contender differs from `seen`. At completion `position` is the new one.
/// Completes soon when it differs already, or when nothing was seen.
///
/// The position is the number of contenders that must release before this one has the lock: 0 when it has it, or is
/// about to learn so. For a contender that shares the lock it counts those up to the last one before it that does
/// not. It never grows. A loop that begins with nothing seen gets the position first, and then each change that
/// lasts. Of several changes in quick succession it may get only the last one. It ends when the node goes,
/// with an exception (`zookeeper_errc::no_node`). Here `path` is the path of the node:
///
/// ```cpp
/// std::optional<std::size_t> position;
/// for (;;) {
///     position = co_await colock::async_wait_position(m, path, position);
///     show(*position);
/// }
/// ```
///
/// `node` is that of a contender on any client: a `queue_entry::path`. The one by which this client waits is the
/// entry of `async_view_queue` whose session is `client::session_id()`; waiters that share it (`max_local_grants`)
/// have the position in common. If that node is removed, the waiter gets a new one at the end of the queue. A node is
/// removed with its session, and when the waiters that share it have had their turn.
///
/// It watches the directory: one request and the whole list whenever a contender comes or goes. That suits a few
/// onlookers, not each waiter of a long queue, which learns of its turn from its own lock. The wait outlasts a
/// disconnection and the end of this client's session.
///
/// Completion signature: `void(error_code, std::size_t position)`.
/// Errors:
///  - `zookeeper_errc::no_node`: the contender is not, or no longer, there.
///  - `errc::invalid_path`: `node` is malformed, or its name is not that of a contender of the layout.
///  - `errc::invalid_option`: the layout is malformed.
///  - `zookeeper_errc::no_auth`: an access control list does not allow to list the directory.
///  - others of `client::async_children`, such as `errc::not_connected` and `errc::client_closed`.
///  - `operation_aborted`: cancelled, or the client was destroyed.
///
/// Cancellation: terminal, partial, total: completes at once, and removes the watch.
/// Executor: the handler's associated one, by default the client's; never within this function.
/// Thread safety: may be called from several threads at once.
template <class CompletionToken = boost::asio::deferred_t>
auto async_wait_position(const client& zk, std::string node, layout names,
                         std::optional<std::size_t> seen,
                         CompletionToken&& token = CompletionToken())
{
    return detail::start<CompletionToken>(detail::access::core(zk), token,
                                          &detail::queue_queries::wait_position, std::move(node),
                                          std::move(names), seen);
}

/// Waits until the position of a contender of this `mutex`, `recursive_mutex`, `shared_mutex` or `election` is
/// different from `seen`. At completion `position` is the new one. The function that takes a layout says what a
/// position is. The object need not live on.
///
/// Completion signature: `void(error_code, std::size_t position)`.
/// Errors:
///  - `zookeeper_errc::no_node`: the contender is not, or no longer, there.
///  - `errc::invalid_path`: `node` is malformed, or its name is not that of a contender of this lock.
///  - `errc::invalid_option`: the layout of the object is malformed.
///  - `zookeeper_errc::no_auth`: an access control list does not allow to list the directory.
///  - others of `client::async_children`, such as `errc::not_connected` and `errc::client_closed`.
///  - `operation_aborted`: cancelled, or the client was destroyed.
///
/// Cancellation: terminal, partial, total: completes at once, and removes the watch.
/// Executor: the handler's associated one, by default the client's; never within this function.
/// Thread safety: may be called from several threads at once.
template <detail::queueing Lock, class CompletionToken = boost::asio::deferred_t>
auto async_wait_position(const Lock& lock, std::string node, std::optional<std::size_t> seen = {},
                         CompletionToken&& token = CompletionToken())
{
    auto at = detail::place_of(lock);
    return detail::start<CompletionToken>(std::move(at.core), token,
                                          &detail::queue_queries::wait_position, std::move(node),
                                          std::move(at.names), seen);
}

/// Gets the position of a contender of this lock, for a caller that has seen none yet. Completion signature, errors and
/// cancellation are those with `seen`.
template <detail::queueing Lock, class CompletionToken>
    requires(!std::convertible_to<CompletionToken, std::optional<std::size_t>>)
auto async_wait_position(const Lock& lock, std::string node, CompletionToken&& token)
{
    return async_wait_position(lock, std::move(node), std::nullopt,
                               std::forward<CompletionToken>(token));
}

/// Asks the owner of a node, which holds a lock or waits for it, to release it. At completion the node contains the
/// request, or the node is gone. One round trip.
///
/// The owner decides how to react: by `held_lock::async_wait_revoked` and `lock_options::cancel_when_revoked` here, by
/// `makeRevocable` in Apache Curator. The request replaces the data of the node, until an owner that uses this library
/// restores them. While there is no connection it waits for one, and is sent again when the connection breaks,
/// which is harmless.
///
/// `node` is that of a contender in a queue, as in `queue_entry::path` or `held_lock::node`. The node of a
/// `single_node_mutex` is not one of these: its header says how to ask its holder.
///
/// Completion signature: `void(error_code)`.
/// Errors:
///  - `errc::invalid_path`: `node` is malformed, or its name does not end in the ten digits of a contender, so that
///    no other node is overwritten.
///  - `zookeeper_errc::no_auth`: an access control list does not allow to write the node.
///  - others of `client::async_set`, such as `errc::not_connected` and `errc::client_closed`.
///  - `operation_aborted`: cancelled, or the client was destroyed.
///
/// Cancellation: terminal, partial, total: completes at once; a request that was sent may be carried out.
/// Executor: the handler's associated one, by default the client's; never within this function.
/// Thread safety: may be called from several threads at once.
template <class CompletionToken = boost::asio::deferred_t>
auto async_revoke(const client& zk, std::string node, CompletionToken&& token = CompletionToken())
{
    return detail::start<CompletionToken>(detail::access::core(zk), token,
                                          &detail::queue_queries::revoke, std::move(node));
}

/// Asks the holders of the lock at `path` to release it. At completion `asked` is how many were asked: none, one, or
/// all that share it. Two round trips. When you have the lock object, pass that instead: it knows the path and the
/// layout.
///
/// Completion signature: `void(error_code, std::size_t asked)`.
/// Errors: some may have been asked all the same.
///  - `errc::invalid_path`: the path is malformed. `errc::invalid_option`: so is the layout.
///  - `zookeeper_errc::no_auth`: an access control list does not allow to list the directory, or to write a node.
///  - others of `client::async_children` and `client::async_set`, such as `errc::not_connected` and `errc::client_closed`.
///  - `operation_aborted`: cancelled, or the client was destroyed.
///
/// Cancellation: terminal, partial, total: completes at once; requests that were sent may be carried out.
/// Executor: the handler's associated one, by default the client's; never within this function.
/// Thread safety: may be called from several threads at once.
template <class CompletionToken = boost::asio::deferred_t>
auto async_revoke_holders(const client& zk, std::string path, layout names,
                          CompletionToken&& token = CompletionToken())
{
    return detail::start<CompletionToken>(detail::access::core(zk), token,
                                          &detail::queue_queries::revoke_holders, std::move(path),
                                          std::move(names));
}

/// Asks the holders of this `mutex`, `recursive_mutex`, `shared_mutex` or `election` to release it. At completion
/// `asked` is how many were asked: none, one, or all that share it. Two round trips. The object need not live on.
///
/// Completion signature: `void(error_code, std::size_t asked)`.
/// Errors: some may have been asked all the same.
///  - `errc::invalid_path`, `errc::invalid_option`: the path, or the layout, of the object is malformed.
///  - `zookeeper_errc::no_auth`: an access control list does not allow to list the directory, or to write a node.
///  - others of `client::async_children` and `client::async_set`, such as `errc::not_connected` and `errc::client_closed`.
///  - `operation_aborted`: cancelled, or the client was destroyed.
///
/// Cancellation: terminal, partial, total: completes at once; requests that were sent may be carried out.
/// Executor: the handler's associated one, by default the client's; never within this function.
/// Thread safety: may be called from several threads at once.
template <detail::queueing Lock, class CompletionToken = boost::asio::deferred_t>
auto async_revoke_holders(const Lock& lock, CompletionToken&& token = CompletionToken())
{
    auto at = detail::place_of(lock);
    return detail::start<CompletionToken>(std::move(at.core), token,
                                          &detail::queue_queries::revoke_holders,
                                          std::move(at.path), std::move(at.names));
}

} // namespace colock

#endif
