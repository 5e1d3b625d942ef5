#include "session/request_words.hpp"

#include "session/missing_permission.hpp"
#include "zk/frame_guard.hpp"

#include <optional>

namespace colock::detail {

namespace {

// The step of a transaction that failed. The steps before it have no error, and those after it a general one.
std::size_t failed_step(const zk::call& c, const zk::reply& r)
{
    std::size_t i = 0;
    while (i < r.results.size() && i < c.ops.size() && !r.results[i].error) {
        ++i;
    }
    return i;
}

std::optional<protocol::deed> deed_of(zk::opcode op) noexcept
{
    using protocol::deed;
    switch (op) {
    case zk::opcode::create: return deed::create;
    case zk::opcode::remove: return deed::remove;
    case zk::opcode::exists: return deed::exists;
    case zk::opcode::get: return deed::get;
    case zk::opcode::set: return deed::set;
    case zk::opcode::children: return deed::children;
    case zk::opcode::get_acl: return deed::get_acl;
    case zk::opcode::set_acl: return deed::set_acl;
    case zk::opcode::sync:
    case zk::opcode::multi:
    case zk::opcode::forget_watches: break;
    }
    return {};
}

protocol::deed deed_of(transaction_op::kind step) noexcept
{
    using protocol::deed;
    switch (step) {
    case transaction_op::kind::create: return deed::create;
    case transaction_op::kind::set: return deed::set;
    case transaction_op::kind::remove: return deed::remove;
    case transaction_op::kind::check: break;
    }
    return deed::check;
}

} // namespace

std::string subject_of(const zk::call& c, const zk::reply& r)
{
    const auto i = failed_step(c, r);
    return "path " + (i < c.ops.size() ? c.ops[i].path : c.path);
}

std::string error_words(const zk::call& c, const zk::reply& r)
{
    if (r.error == zookeeper_errc::no_auth) {
        if (const auto i = failed_step(c, r); i < c.ops.size()) {
            return protocol::missing_permission_words(deed_of(c.ops[i].type), c.ops[i].path);
        }
        if (const auto what = deed_of(c.op)) {
            return protocol::missing_permission_words(*what, c.path);
        }
    }
    return r.error.message();
}

bool is_cut_off(const request& r, const zk::reply& reply)
{
    return reply.error == zookeeper_errc::marshalling_error && r.call.op == zk::opcode::children;
}

std::string too_many_names_words(const request& r)
{
    return "path " + r.call.path + ": it has more than " +
           std::to_string(zk::frame_guard::most_names) +
           " children, too many for one list; remove some, or spread them over several directories";
}

} // namespace colock::detail
