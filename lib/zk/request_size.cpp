#include "zk/request_size.hpp"

namespace colock::zk {

namespace {

// Of ZooKeeper's serialisation: what a number takes, and what stands before a text or a list.
constexpr std::size_t int_size = 4, long_size = 8, bool_size = 1, length_size = 4;

constexpr std::size_t request_header = 2 * int_size; // xid, operation
constexpr std::size_t step_header =
    2 * int_size + bool_size; // in a transaction: operation, end, error

std::size_t text_size(const std::string& text) noexcept
{
    return length_size + text.size();
}

std::size_t path_size(const std::string& path, std::size_t chroot) noexcept
{
    return length_size + (chroot != 0 && path == "/" ? chroot : chroot + path.size());
}

std::size_t acl_size(const access_control_list& acl) noexcept
{
    auto size = length_size;
    for (const auto& entry : acl) {
        size += int_size + text_size(entry.scheme) + text_size(entry.id);
    }
    return size;
}

std::size_t step_size(const transaction_op& op, const call& c, std::size_t chroot) noexcept
{
    const auto size = step_header + path_size(op.path, chroot);
    switch (op.type) {
    case transaction_op::kind::create:
        return size + text_size(op.data) + acl_size(op.create.acl ? *op.create.acl : c.acl) +
               int_size;
    case transaction_op::kind::set: return size + text_size(op.data) + int_size;
    case transaction_op::kind::check:
    case transaction_op::kind::remove: return size + int_size;
    }
    return size;
}

} // namespace

std::size_t request_size(const call& c, std::size_t chroot) noexcept
{
    const auto size = request_header + path_size(c.path, chroot);
    switch (c.op) {
    case opcode::create:
        return size + text_size(c.data) + acl_size(c.acl) + int_size +
               (has_ttl(c.mode) ? long_size : 0);
    case opcode::set: return size + text_size(c.data) + int_size;
    case opcode::remove:
    case opcode::forget_watches: return size + int_size;
    case opcode::exists:
    case opcode::get:
    case opcode::children: return size + bool_size;
    case opcode::sync:
    case opcode::get_acl: return size;
    case opcode::set_acl: return size + acl_size(c.acl) + int_size;
    case opcode::multi: {
        auto all = request_header + step_header; // the last one says that this is the end
        for (const auto& op : c.ops) {
            all += step_size(op, c, chroot);
        }
        return all;
    }
    }
    return size;
}

} // namespace colock::zk
