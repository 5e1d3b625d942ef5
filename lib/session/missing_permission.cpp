#include "session/missing_permission.hpp"

#include "names/path.hpp"
#include "names/shown.hpp"

#include <array>
#include <utility>

namespace colock::protocol {

namespace {

struct needed_permission {
    std::int32_t any_of; // bits of `permission`
    std::string_view node;
};

needed_permission permission_for(zk::opcode what, std::string_view path) noexcept
{
    switch (what) {
    case zk::opcode::create: return {permission_create, parent_path(path)};
    case zk::opcode::remove: return {permission_delete, parent_path(path)};
    case zk::opcode::set: return {permission_write, path};
    case zk::opcode::get_acl: return {permission_read | permission_admin, path};
    case zk::opcode::set_acl: return {permission_admin, path};
    default: break; // `exists` from 3.8.4 and 3.9.2 on
    }
    return {permission_read, path};
}

} // namespace

std::string permission_words(std::int32_t permissions, std::string_view conjunction)
{
    constexpr std::array<std::pair<permission, std::string_view>, 5> names{
        {{permission_read, "READ"},
         {permission_write, "WRITE"},
         {permission_create, "CREATE"},
         {permission_delete, "DELETE"},
         {permission_admin, "ADMIN"}}};
    std::string text;
    for (const auto& [bit, name] : names) {
        if ((permissions & bit) != 0) {
            text += text.empty() ? "" : conjunction;
            text += name;
        }
    }
    return text;
}

std::string missing_permission_words(zk::opcode what, std::string_view path)
{
    const auto needed = permission_for(what, path);
    return "ZooKeeper: no permission: this client lacks " +
           permission_words(needed.any_of, " or ") + " on " + shown(needed.node) +
           "; check that node's access control list and client_options::credentials";
}

} // namespace colock::protocol
