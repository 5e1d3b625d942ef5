#include "session/request_words.hpp"

#include "session/missing_permission.hpp"
#include "zk/frame_guard.hpp"

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

// What a step does, as a request of its own.
zk::opcode request_like(transaction_op::kind step) noexcept
{
    switch (step) {
    case transaction_op::kind::create: return zk::opcode::create;
    case transaction_op::kind::set: return zk::opcode::set;
    case transaction_op::kind::remove: return zk::opcode::remove;
    case transaction_op::kind::check: break;
    }
    return zk::opcode::get; // they need the same
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
            return protocol::missing_permission_words(request_like(c.ops[i].type), c.ops[i].path);
        }
        if (c.op != zk::opcode::sync && c.op != zk::opcode::multi &&
            c.op != zk::opcode::forget_watches) {
            return protocol::missing_permission_words(c.op, c.path);
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
           std::to_string(zk::frame_guard::most_names) + " children, or their names more than " +
           std::to_string(zk::frame_guard::largest_frame >> 20) +
           " MiB, too many for one list; remove some, or spread them over several directories";
}

} // namespace colock::detail
