// The parts of ZooKeeper's nodes: metadata, modes, access control, transactions, watch events.
#ifndef COLOCK_NODE_HPP
#define COLOCK_NODE_HPP

#include <colock/error.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {

/// The metadata of a node, as ZooKeeper reports it.
struct node_stat {
    std::int64_t czxid = 0;    ///< Transaction that created the node.
    std::int64_t mzxid = 0;    ///< Transaction that last changed its data.
    std::int64_t ctime = 0;    ///< Creation, in milliseconds since 1970 by the server's clock.
    std::int64_t mtime = 0;    ///< Last change, in milliseconds since 1970.
    std::int32_t version = 0;  ///< Number of changes to the data.
    std::int32_t cversion = 0; ///< Number of changes to the children.
    std::int32_t aversion = 0; ///< Number of changes to the access control list.
    /// Session that owns an ephemeral node, else 0. Of a node with a time to live, and of a container of an older
    /// server, it is another number.
    std::int64_t ephemeral_owner = 0;
    std::int32_t data_length = 0;  ///< Bytes of data.
    std::int32_t num_children = 0; ///< Number of children.
    std::int64_t pzxid = 0;        ///< Transaction that last changed the children.

    bool operator==(const node_stat&) const = default;
};

/// What kind of node to create. An ephemeral one goes with the session of its client; to the path of a sequential one
/// the servers append ten digits.
enum class create_mode {
    persistent = 0,
    ephemeral = 1,
    persistent_sequential = 2,
    ephemeral_sequential = 3,
    container = 4,                      ///< Removed by the server some time after its last child.
    persistent_with_ttl = 5,            ///< Needs `zookeeper.extendedTypesEnabled` on the server.
    persistent_sequential_with_ttl = 6, ///< Needs `zookeeper.extendedTypesEnabled` on the server.
};

/// The name of the value, such as "persistent_sequential_with_ttl"; "unknown" of a number that is none of them.
[[nodiscard]] constexpr std::string_view to_string(create_mode value) noexcept
{
    switch (value) {
    case create_mode::persistent: return "persistent";
    case create_mode::ephemeral: return "ephemeral";
    case create_mode::persistent_sequential: return "persistent_sequential";
    case create_mode::ephemeral_sequential: return "ephemeral_sequential";
    case create_mode::container: return "container";
    case create_mode::persistent_with_ttl: return "persistent_with_ttl";
    case create_mode::persistent_sequential_with_ttl: return "persistent_sequential_with_ttl";
    }
    return "unknown";
}

/// Bits of `acl_entry::permissions`.
enum permission : std::int32_t {
    permission_read = 1,
    permission_write = 2,
    permission_create = 4,
    permission_delete = 8,
    permission_admin = 16,
    permission_all = 31,
};

/// One entry of an access control list: the clients with this identity have these permissions.
struct acl_entry {
    std::int32_t permissions = permission_all; ///< Bits of `permission`.
    std::string
        scheme;     ///< How the servers know a client, such as "world", "auth", "digest" or "ip".
    std::string id; ///< The identity, as the scheme writes it: "anyone" of "world".

    bool operator==(const acl_entry&) const = default;
};

/// Who may do what with a node. It must not be empty.
using access_control_list = std::vector<acl_entry>;

/// Everybody may do everything. The default.
inline access_control_list open_acl()
{
    return {{permission_all, "world", "anyone"}};
}

/// Everybody may read.
inline access_control_list read_only_acl()
{
    return {{permission_read, "world", "anyone"}};
}

/// A client with the identity of the creating client (credentials, certificate, SASL) may do everything. Without one the
/// server answers `zookeeper_errc::invalid_acl`.
inline access_control_list creator_acl()
{
    return {{permission_all, "auth", ""}};
}

/// How to create a node.
///
/// Do not make options with an `acl` in braces in a statement that contains `co_await`: GCC 12 destroys the `acl`
/// twice. Give such options a name in a statement before it:
///
/// ```cpp
/// const colock::create_options mine{.acl = colock::creator_acl()};
/// co_await zk.async_create(path, text, mine);
/// ```
struct create_options {
    /// What kind of node it is.
    create_mode mode = create_mode::persistent;
    /// Access control of the new node; `client_options::acl` when empty.
    std::optional<access_control_list> acl = {};
    /// Time to live of a node without children, for the two modes that have one.
    std::chrono::milliseconds ttl = {};
    /// Whether `client::async_create` also creates the parents that are missing: as persistent nodes without data and
    /// with the same access control. They stay when the node itself cannot be created.
    bool parents = false;
};

/// A created node: its path, which ends in its number for a sequential one, and its metadata.
struct create_result {
    std::string path; ///< Of the new node.
    node_stat stat;   ///< Of the new node.
};

/// A node's data and metadata.
struct get_result {
    std::string data; ///< Of the node.
    node_stat stat;   ///< Of the node.
};

/// The names of a node's children, in no particular order, and the node's own metadata.
struct children_result {
    std::vector<std::string> names; ///< Of the children, without the node's path.
    node_stat stat;                 ///< Of the node itself.
};

/// The access control list of a node, and the node's metadata. `stat.aversion` is the version of the list.
struct acl_result {
    access_control_list acl; ///< Of the node.
    node_stat stat;          ///< Of the node.
};

/// The version that matches any version.
inline constexpr std::int32_t any_version = -1;

/// One step of a transaction. The functions below make such steps; a `transaction` gathers several.
struct transaction_op {
    /// What a step does.
    enum class kind {
        check,  ///< Fails the transaction unless the node is there and has this version.
        create, ///< Creates the node.
        set,    ///< Replaces the node's data.
        remove, ///< Deletes the node.
    };

    kind type = kind::check;            ///< What this step does.
    std::string path;                   ///< Of every kind.
    std::string data = {};              ///< Of `create` and `set`; others ignore it.
    std::int32_t version = any_version; ///< Of `check`, `set` and `remove`; `create` ignores it.
    create_options create = {}; ///< Of `create`, without `ttl` and `parents`; others ignore it.
};

/// Fails the transaction unless the node exists and has this version.
inline transaction_op check_op(std::string path, std::int32_t version = any_version)
{
    return {transaction_op::kind::check, std::move(path), {}, version, {}};
}

/// Creates a node. Containers and the modes with a time to live are not possible in a transaction.
inline transaction_op create_op(std::string path, std::string data = {},
                                create_options options = {})
{
    return {transaction_op::kind::create, std::move(path), std::move(data), any_version,
            std::move(options)};
}

/// Replaces a node's data.
inline transaction_op set_op(std::string path, std::string data, std::int32_t version = any_version)
{
    return {transaction_op::kind::set, std::move(path), std::move(data), version, {}};
}

/// Deletes a node that has no children.
inline transaction_op remove_op(std::string path, std::int32_t version = any_version)
{
    return {transaction_op::kind::remove, std::move(path), {}, version, {}};
}

/// The result of one step of a transaction.
struct transaction_result {
    /// Of a failed transaction: the cause at the step that failed, `zookeeper_errc::runtime_inconsistency`
    /// at the steps after it, no error at those before it (which were undone as well).
    error_code error;
    std::string path; ///< Of a create: the path of the new node.
    node_stat stat;   ///< Of a set: the metadata afterwards.
};

/// The event that a watch reports.
enum class watch_event_type {
    created = 1,
    deleted = 2,
    changed = 3,
    children_changed = 4,
};

/// The name of the value, such as "children_changed"; "unknown" of a number that is none of them.
[[nodiscard]] constexpr std::string_view to_string(watch_event_type value) noexcept
{
    switch (value) {
    case watch_event_type::created: return "created";
    case watch_event_type::deleted: return "deleted";
    case watch_event_type::changed: return "changed";
    case watch_event_type::children_changed: return "children_changed";
    }
    return "unknown";
}

/// What has happened to a node that was watched.
struct watch_event {
    watch_event_type type = watch_event_type::changed; ///< What has happened.
    std::string path;                                  ///< Of the node that was watched.
};

} // namespace colock

#endif
