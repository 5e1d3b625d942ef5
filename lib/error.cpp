#include <colock/error.hpp>

#include <cstdint>
#include <string>

namespace colock {

namespace {

const char* text(errc e) noexcept
{
    switch (e) {
    case errc::invalid_path:
        return "the path is not valid: it must begin with '/', must not end in '/', must not have "
               "more than 4096 bytes, and must not contain \"//\", \".\", \"..\" or control "
               "characters";
    case errc::invalid_hosts:
        return "client_options::hosts is empty or malformed: write \"host:port,host:port\"";
    case errc::invalid_option:
        return "an option has a value that makes no sense; the diagnostics of the operation say "
               "which";
    case errc::unknown_host:
        return "no host name of client_options::hosts could be resolved; check the names and the "
               "name service";
    case errc::no_server:
        return "no server of client_options::hosts accepts this client; check that ZooKeeper is "
               "running and reachable";
    case errc::connect_timeout:
        return "no server answered within client_options::connect_timeout; check that the ensemble "
               "has a quorum, or allow more time";
    case errc::no_chroot:
        return "client_options::chroot does not exist on the servers; create that node first";
    case errc::not_connected: return "the client is not connected; await async_connect() first";
    case errc::disconnected:
        return "there is no connection to a server at the moment; try again later";
    case errc::client_closed: return "the client was closed or destroyed";
    case errc::not_held: return "this object holds nothing: it is empty, moved-from or released";
    case errc::lock_lost: return "the lock was lost while it was held";
    case errc::session_expired:
        return "the session expired before the servers heard from this client again";
    case errc::node_deleted: return "somebody deleted the node of the lock";
    case errc::safe_until_passed:
        return "the servers did not confirm the session in time, and may have ended it";
    case errc::conflicting_use:
        return "another lock object of this client uses this path with other options, or as "
               "another kind of lock; use equal options";
    case errc::conflicting_kind:
        return "another client uses this path as another kind of lock, which would not exclude "
               "this one; use the same kind, or another path";
    case errc::sequence_exhausted:
        return "the sequence numbers of the lock's directory are used up; delete the directory "
               "while nobody uses it (colock does so in time itself where it has made the "
               "directory, and no other nodes are in it)";
    case errc::duplicate_sequence:
        return "another node in the lock's directory has the same number; delete what was created "
               "there by hand";
    case errc::owner_waits:
        return "this owner waits for the lock already; give each flow of control an owner of its "
               "own";
    case errc::too_many_permits: return "more permits were asked for than the semaphore has";
    case errc::conflicting_maximum:
        return "others give the semaphore, latch or barrier another number; give all of them the "
               "same, or delete its directory when nobody uses it";
    case errc::invalid_counter:
        return "the counter's node does not hold a number of four bytes, as Curator's SharedCount "
               "writes it";
    case errc::revoked:
        return "somebody asked for the lock; a body that ran under it was cancelled, and the lock "
               "released";
    case errc::unlock_out_of_order:
        return "a guard was unlocked before one that was taken inside it; unlock in the reverse "
               "order of locking";
    case errc::path_twice:
        return "a multi_lock names a path twice, and would wait for itself; name each path once";
    case errc::several_clients:
        return "the locks of a multi_lock belong to several clients; make them all of one client";
    case errc::not_ephemeral:
        return "there is a node at the path of the single_node_mutex that is not ephemeral and "
               "would stay for ever; delete it if it is a left-over, else use another path";
    case errc::cannot_guard:
        return "a single_node_mutex cannot guard a transaction, for the next holder's node looks "
               "the same; use its fencing token";
    case errc::request_too_large:
        return "the request is larger than client_options::max_request_size, which the servers "
               "would not take; write less at once";
    case errc::tls_failed:
        return "no server could be spoken to by TLS; the diagnostics of the operation say why, of "
               "the last server";
    case errc::unprotected:
        return "others may change or delete what is below this node; replace its access control "
               "list, or use another path";
    case errc::session_full:
        return "the session has as many nodes as the servers can bear at its end "
               "(client_options::max_session_size); hold fewer locks at once, or use another "
               "client as well";
    case errc::no_answer:
        return "no answer had come when the time was over, so nobody knows whether the lock is "
               "busy; try again later";
    case errc::name_in_use: return "another member of the group has this name; use another name";
    case errc::fenced:
        return "the store refuses this token: a later holder of the lock has been there";
    case errc::held_too_long:
        return "the body was cancelled, for it had held the lock for lock_options::max_hold";
    case errc::credentials_refused:
        return "the servers refuse the credentials that were added; correct them";
    case errc::nothing_to_lock: return "a multi_lock names no lock; give it at least one";
    case errc::forked:
        return "the client belongs to the parent of this forked process; make a client of its own "
               "in the child";
    }
    return "unknown colock error";
}

const char* text(zookeeper_errc e) noexcept
{
    switch (e) {
    case zookeeper_errc::system_error: return "ZooKeeper: system error";
    case zookeeper_errc::runtime_inconsistency:
        return "ZooKeeper: a runtime inconsistency was found";
    case zookeeper_errc::data_inconsistency: return "ZooKeeper: a data inconsistency was found";
    case zookeeper_errc::connection_loss:
        return "ZooKeeper: the connection was lost before the answer came; the request may have "
               "been carried out";
    case zookeeper_errc::marshalling_error:
        return "ZooKeeper: the request could not be written or the answer not be read; is it too "
               "large?";
    case zookeeper_errc::unimplemented:
        return "ZooKeeper: the server does not support this operation";
    case zookeeper_errc::operation_timeout:
        return "ZooKeeper: the server did not answer in time; the request may have been carried "
               "out";
    case zookeeper_errc::bad_arguments: return "ZooKeeper: invalid arguments";
    case zookeeper_errc::invalid_state: return "ZooKeeper: the session is over";
    case zookeeper_errc::new_config_no_quorum:
        return "ZooKeeper: no quorum of the new configuration";
    case zookeeper_errc::reconfig_in_progress:
        return "ZooKeeper: another reconfiguration is in progress";
    case zookeeper_errc::ssl_connection_error: return "ZooKeeper: TLS connection error";
    case zookeeper_errc::api_error: return "ZooKeeper: API error";
    case zookeeper_errc::no_node: return "ZooKeeper: the node does not exist";
    case zookeeper_errc::no_auth:
        return "ZooKeeper: no permission; check the node's access control list and "
               "client_options::credentials";
    case zookeeper_errc::bad_version: return "ZooKeeper: the node has another version";
    case zookeeper_errc::no_children_for_ephemerals:
        return "ZooKeeper: an ephemeral node cannot have children; use another parent";
    case zookeeper_errc::node_exists: return "ZooKeeper: the node exists already";
    case zookeeper_errc::not_empty: return "ZooKeeper: the node has children";
    case zookeeper_errc::session_expired: return "ZooKeeper: the session has expired";
    case zookeeper_errc::invalid_callback: return "ZooKeeper: invalid callback";
    case zookeeper_errc::invalid_acl:
        return "ZooKeeper: the access control list is empty or names an unknown scheme or missing "
               "credentials";
    case zookeeper_errc::auth_failed:
        return "ZooKeeper: the servers refuse the credentials; check client_options::credentials";
    case zookeeper_errc::closing: return "ZooKeeper: the connection is being closed";
    case zookeeper_errc::nothing: return "ZooKeeper: nothing to process";
    case zookeeper_errc::session_moved:
        return "ZooKeeper: the session has moved to another server; the request was not carried "
               "out";
    case zookeeper_errc::not_read_only: return "ZooKeeper: the server is read-only";
    case zookeeper_errc::ephemeral_on_local_session:
        return "ZooKeeper: a local session cannot have ephemeral nodes";
    case zookeeper_errc::no_watcher: return "ZooKeeper: there is no such watch";
    case zookeeper_errc::reconfig_disabled: return "ZooKeeper: reconfiguration is disabled";
    case zookeeper_errc::session_closed_require_sasl_auth:
        return "ZooKeeper: the servers serve only clients with an identity, and take none that "
               "this client has: credentials, a certificate, or SASL";
    case zookeeper_errc::quota_exceeded: return "ZooKeeper: the quota is exceeded";
    case zookeeper_errc::throttled_op:
        return "ZooKeeper: the server is overloaded and did not carry out the request; try again";
    }
    return "ZooKeeper: unknown error";
}

bool is_misuse(const error_code& ec) noexcept
{
    if (ec.category() == zookeeper_category()) {
        return ec == zookeeper_errc::bad_arguments || ec == zookeeper_errc::invalid_acl;
    }
    if (ec.category() != colock_category()) {
        return false;
    }
    switch (static_cast<errc>(ec.value())) {
    case errc::invalid_path:
    case errc::invalid_hosts:
    case errc::invalid_option:
    case errc::not_connected:
    case errc::not_held:
    case errc::conflicting_use:
    case errc::conflicting_kind:
    case errc::owner_waits:
    case errc::unlock_out_of_order:
    case errc::too_many_permits:
    case errc::conflicting_maximum:
    case errc::path_twice:
    case errc::several_clients:
    case errc::nothing_to_lock:
    case errc::cannot_guard:
    case errc::request_too_large:
    case errc::session_full:
    case errc::forked: return true;
    default: return false;
    }
}

const char* text(condition c) noexcept
{
    switch (c) {
    case condition::lock_lost: return "the lock was lost";
    case condition::revoked: return "another client has asked for the lock";
    case condition::outcome_unknown: return "a write may or may not have been carried out";
    case condition::misuse: return "the program, or one that shares the path, is wrong";
    case condition::unavailable: return "no server answers at the moment";
    }
    return "unknown colock condition";
}

// The ids make categories of several copies of the library compare equal.
template <class Value>
class category_of : public boost::system::error_category {
public:
    category_of(std::uint64_t id, const char* name) noexcept : error_category{id}, name_{name} {}
    const char* name() const noexcept override { return name_; }
    std::string message(int value) const override { return text(static_cast<Value>(value)); }
    const char* message(int value, char*, std::size_t) const noexcept override
    {
        return text(static_cast<Value>(value));
    }

private:
    const char* name_;
};

class colock_condition_category final : public category_of<condition> {
public:
    using category_of::category_of;

    bool equivalent(const error_code& ec, int value) const noexcept override
    {
        switch (static_cast<condition>(value)) {
        case condition::lock_lost:
            return ec == errc::lock_lost || ec == errc::session_expired ||
                   ec == errc::node_deleted || ec == errc::safe_until_passed ||
                   ec == errc::fenced || ec == errc::forked;
        case condition::revoked: return ec == errc::revoked;
        case condition::outcome_unknown: return outcome_unknown(ec);
        case condition::misuse: return is_misuse(ec);
        case condition::unavailable: return is_retryable(ec) || ec == errc::unknown_host;
        }
        return false;
    }
};

} // namespace

const boost::system::error_category& condition_category() noexcept
{
    static const colock_condition_category category{0xd50a8c1e9b3774f2, "colock.condition"};
    return category;
}

const boost::system::error_category& colock_category() noexcept
{
    static const category_of<errc> category{0x9c2f64b1d07e53a8, "colock"};
    return category;
}

const boost::system::error_category& zookeeper_category() noexcept
{
    static const category_of<zookeeper_errc> category{0x3be81f07a5d2c946, "colock.zookeeper"};
    return category;
}

bool is_retryable(const error_code& ec) noexcept
{
    return ec &&
           (ec == errc::disconnected || ec == errc::no_server || ec == errc::connect_timeout ||
            ec == errc::no_answer || ec == zookeeper_errc::connection_loss ||
            ec == zookeeper_errc::operation_timeout ||
            ec == zookeeper_errc::runtime_inconsistency || ec == zookeeper_errc::session_moved ||
            ec == zookeeper_errc::throttled_op);
}

bool is_session_fatal(const error_code& ec) noexcept
{
    return ec == errc::session_expired || ec == errc::client_closed ||
           ec == zookeeper_errc::session_expired || ec == zookeeper_errc::auth_failed ||
           ec == zookeeper_errc::session_closed_require_sasl_auth;
}

bool outcome_unknown(const error_code& ec) noexcept
{
    return ec &&
           (ec == zookeeper_errc::connection_loss || ec == zookeeper_errc::operation_timeout ||
            ec == zookeeper_errc::runtime_inconsistency || ec == errc::session_expired ||
            ec == zookeeper_errc::session_expired || ec == zookeeper_errc::closing);
}

} // namespace colock
