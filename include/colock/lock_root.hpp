// A place for locks that other users of the ensemble cannot write to.
#ifndef COLOCK_LOCK_ROOT_HPP
#define COLOCK_LOCK_ROOT_HPP

#include <colock/client.hpp>
#include <colock/detail/access.hpp>
#include <colock/detail/initiate.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace colock {

namespace detail {

struct lock_roots {
    COLOCK_DECL static void ensure(const std::shared_ptr<client_core>& core,
                                   operation_ptr<error_code> op, std::string path,
                                   std::optional<access_control_list> acl);
};

} // namespace detail

/// Creates a node below which locks are safe from clients that are not in `acl`, or checks an existing one. At
/// completion without an error there is a persistent node at `path`, and from then on only the clients in `acl` can do
/// more than read it, or create, change or delete anything below it.
///
/// Call it each time that the program starts, before it uses its locks. The client has an identity, and gives the nodes
/// of its locks an access control list that names it:
///
/// ```cpp
/// const colock::client_options mine{.hosts = hosts,
///                                   .credentials = {{"digest", "orders:secret"}},
///                                   .acl = colock::creator_acl()};
/// colock::client own{context, mine};
/// co_await own.async_connect();
/// co_await colock::async_ensure_lock_root(own, "/locks");
/// colock::mutex stock{own, "/locks/stock"};
/// ```
///
/// Missing parents are created with the same list. The node gets a persistent child `.keep`, because ZooKeeper lets
/// whoever may write to the *parent* delete a node, unless it has children. Several clients may call it at once,
/// and again: those that come later check what the first one has created. The operation waits for a connection while
/// there is none, and continues when a connection breaks or the session ends. Three round trips at most, unless the list
/// was replaced, or another client creates or deletes these nodes meanwhile. To learn which identities "auth" means, it creates an ephemeral child
/// with that list, reads the list, and deletes the child.
///
/// If the list of an existing node was ever replaced, others may have created nodes below it before. Then the operation
/// gives `.keep` another child, because servers show a container, which they delete without one, like a persistent node; and
/// it reads the lists of the children, too, and so on below those whose list was replaced; 100,000 lists at most. It checks
/// neither data nor creators: a node that others created before with the right list, such as a contender that never leaves,
/// is still there.
///
/// `acl`: who may use the locks, this client among them, with `permission_delete`; it may give others `permission_read`. Give the locks the same
/// list, by `client_options::acl` or `lock_options::acl`. Without `permission_admin` a client sees no hashes of digests, so
/// it takes an existing node for unprotected.
///
/// docs/security.md has the whole recipe.
///
/// Completion signature: `void(error_code)`.
/// Errors, whose diagnostics (`bind_diagnostics`) name the node, the entry or the permission:
///  - `errc::invalid_option`: the list is empty, gives nobody `permission_delete`, or gives everybody (`world:anyone`, or
///    all addresses) more than `permission_read`, as the default of `client_options::acl` does. Set it to `creator_acl()`.
///    Nothing was sent.
///  - `errc::invalid_path`: the path is malformed. Nothing was sent.
///  - `errc::unprotected`: the node exists, and its list, or that of `.keep` or of another node below, gives others more
///    than to read; or `.keep` is ephemeral or has a time to live; or too many nodes are below a list that was
///    replaced. Nothing was changed but `.keep`, which may have been made, and what is below it. A client with the
///    permission has to check what is below the named node, and then to replace its list by `client::async_set_acl`, or
///    to delete it; or use another path.
///  - `zookeeper_errc::no_auth`: the node, or a parent, is somebody else's, who may have been quicker; or the list does not
///    contain this client. The diagnostics say which permission is missing on which node.
///  - `zookeeper_errc::invalid_acl`: the list has an unknown scheme, or it has the scheme "auth" and the client has no
///    identity: set `client_options::credentials`, or `client_options::tls` with a certificate.
///  - `zookeeper_errc::no_children_for_ephemerals`: the node, or a parent, is ephemeral. Use another path.
///  - `zookeeper_errc::no_node`, `node_exists`: some other client creates, deletes or changes these nodes again and again.
///  - `zookeeper_errc::throttled_op`: the server has too much to do. Try again later.
///  - `errc::not_connected`: call `client::async_connect` first. `errc::client_closed`: the client was closed.
///  - other codes of `client::async_create`.
///  - `operation_aborted`: cancelled, or the client was destroyed.
///
/// Cancellation: terminal, partial: completes at once; what was sent may still be carried out. Total: only while nothing
/// was sent.
/// Executor: the handler's associated one, by default the client's; never within this function.
/// Thread safety: may be called from several threads at once.
template <class CompletionToken = boost::asio::deferred_t>
auto async_ensure_lock_root(const client& zk, std::string path, access_control_list acl,
                            CompletionToken&& token = CompletionToken())
{
    return detail::start<CompletionToken>(detail::access::core(zk), token,
                                          &detail::lock_roots::ensure, std::move(path),
                                          std::optional{std::move(acl)});
}

/// The same with `client_options::acl` of the client.
///
/// Completion signature: `void(error_code)`.
/// Errors and cancellation: those with a list.
template <class CompletionToken = boost::asio::deferred_t>
    requires(!std::convertible_to<CompletionToken, access_control_list>)
auto async_ensure_lock_root(const client& zk, std::string path,
                            CompletionToken&& token = CompletionToken())
{
    return detail::start<CompletionToken>(detail::access::core(zk), token,
                                          &detail::lock_roots::ensure, std::move(path),
                                          std::optional<access_control_list>{});
}

} // namespace colock

#endif
