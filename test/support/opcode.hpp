#ifndef COLOCK_TEST_SUPPORT_OPCODE_HPP
#define COLOCK_TEST_SUPPORT_OPCODE_HPP

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace colock::test {

/// The kinds of requests in ZooKeeper's protocol, by their numbers on the wire.
enum class opcode : std::int32_t {
    notification = 0, ///< A watch event. Comes from the server only, as a reply nobody asked for.
    create = 1,
    remove = 2,
    exists = 3,
    get_data = 4,
    set_data = 5,
    get_acl = 6,
    set_acl = 7,
    get_children = 8,
    sync = 9,
    ping = 11,
    get_children2 = 12,
    check = 13,
    multi = 14,
    create2 = 15,
    reconfig = 16,
    check_watches = 17,
    remove_watches = 18,
    create_container = 19,
    create_ttl = 21,
    auth = 100,
    set_watches = 101,
    sasl = 102,
    get_ephemerals = 103,
    set_watches2 = 105,
    add_watch = 106,
    connect = -10, ///< Has no number on the wire: the first frame of a connection.
    close = -11
};

/// A number on the wire without a name gives "?".
inline char const* name_of(opcode which) noexcept
{
    switch (which) {
    case opcode::notification: return "notification";
    case opcode::create: return "create";
    case opcode::remove: return "remove";
    case opcode::exists: return "exists";
    case opcode::get_data: return "get_data";
    case opcode::set_data: return "set_data";
    case opcode::get_acl: return "get_acl";
    case opcode::set_acl: return "set_acl";
    case opcode::get_children: return "get_children";
    case opcode::sync: return "sync";
    case opcode::reconfig: return "reconfig";
    case opcode::sasl: return "sasl";
    case opcode::ping: return "ping";
    case opcode::get_children2: return "get_children2";
    case opcode::check: return "check";
    case opcode::multi: return "multi";
    case opcode::create2: return "create2";
    case opcode::check_watches: return "check_watches";
    case opcode::remove_watches: return "remove_watches";
    case opcode::create_container: return "create_container";
    case opcode::create_ttl: return "create_ttl";
    case opcode::auth: return "auth";
    case opcode::set_watches: return "set_watches";
    case opcode::get_ephemerals: return "get_ephemerals";
    case opcode::set_watches2: return "set_watches2";
    case opcode::add_watch: return "add_watch";
    case opcode::connect: return "connect";
    case opcode::close: return "close";
    }
    return "?";
}

/// A set of kinds; the empty one stands for all.
class opcode_set {
public:
    opcode_set() = default;
    opcode_set(opcode one) : members_{one} {}
    opcode_set(std::initializer_list<opcode> several) : members_(several) {}

    bool contains(opcode which) const
    {
        return members_.empty() ||
               std::find(members_.begin(), members_.end(), which) != members_.end();
    }

private:
    std::vector<opcode> members_;
};

inline opcode_set any_opcode()
{
    return {};
}

/// The four requests that make one node.
inline opcode_set any_create()
{
    return {opcode::create, opcode::create2, opcode::create_container, opcode::create_ttl};
}

inline opcode_set any_get_children()
{
    return {opcode::get_children, opcode::get_children2};
}

} // namespace colock::test

#endif
