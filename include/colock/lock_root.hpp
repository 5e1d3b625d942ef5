// A place for locks that other users of the ensemble cannot write to.
#ifndef COLOCK_LOCK_ROOT_HPP
#define COLOCK_LOCK_ROOT_HPP

#include <colock/client.hpp>
#include <colock/detail/access.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/detail/start_operation.hpp>

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

/// Makes a node below which locks are safe from clients that are not in `acl`, or checks the one that is there. At
/// completion without an error there is a node at `path` that stays, and no client but those in `acl` can do more than
/// read it, or create, change or delete anything below it, from then on.
///
/// A program calls it before it uses its locks, each time that it starts. Its client has an identity, and gives the nodes
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
/// whoever may write to the *parent* delete a node, but no node that has children. Several clients may call it at once,
/// and again: those that come later check what the first one has made. The operation waits for a connection while there
/// is none, and goes on when a connection breaks or the session ends. Three round trips at most, if no other client
/// creates or deletes these nodes meanwhile. To learn which identities "auth" stands for, it creates an ephemeral child
/// with that list, reads the list, and deletes the child.
///
/// If the list of a node that is there was ever replaced, others may have created nodes below it before. Then `.keep` is
/// made anew, because servers show a container, which goes by itself, like a node that stays; and the lists of
/// its children are read, too, and so on below those whose list was replaced; 100,000 lists at most. It does not look at
/// data, nor who created a node: what others made before and gave the right list, such as a contender that never leaves,
/// is still there.
///
/// `acl`: who may use the locks, this client among them, with `permission_delete`; it may give others `permission_read`. Give the locks the same
/// list, by `client_options::acl` or `lock_options::acl`. Without `permission_admin` a client sees no hashes of digests, so
/// it takes a node that is there for unprotected.
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
///    than to read; or `.keep` is ephemeral, has a time to live, or has children; or too many nodes are below a list that was
///    replaced. Nothing was changed but for `.keep`. Whoever may do so has to look what is below the node that is named,
///    and then to replace its list by `client::async_set_acl`, or to delete it; or use another path.
///  - `zookeeper_errc::no_auth`: the node, or a parent, is somebody else's, who may have been quicker; or the list does not
///    contain this client. The diagnostics tell which permission is missing on which node.
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
    return detail::start_operation<CompletionToken, void(error_code)>(
        detail::initiate<error_code>{detail::access::core(zk)}, token, &detail::lock_roots::ensure,
        std::move(path), std::optional{std::move(acl)});
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
    return detail::start_operation<CompletionToken, void(error_code)>(
        detail::initiate<error_code>{detail::access::core(zk)}, token, &detail::lock_roots::ensure,
        std::move(path), std::optional<access_control_list>{});
}

} // namespace colock

#endif
