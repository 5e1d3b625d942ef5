// A request to ZooKeeper, and what comes back, as data; and who receives it.
#pragma once

#include <colock/node.hpp>

#include "zk/recycled.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace colock::zk {

// With a longer one the C client cannot calculate: it doubles the time-out of a session, in 32 bits.
inline constexpr std::chrono::milliseconds longest_session_timeout{0x3fff'ffff};

enum class opcode {
    create,
    remove,
    exists,
    get,
    set,
    children,
    sync,
    multi,
    forget_watches, // frees every watch of the session on a path
    get_acl,
    set_acl,
};

enum class watch_kind { data, children };

// The steps of a transaction, or their results. Users have them in plain vectors.
template <class T>
using recycled_vector = std::vector<T, detail::recycling_allocator<T>>;
template <class To, class T, class Allocator>
[[nodiscard]] To moved_to(std::vector<T, Allocator>&& from)
{
    return To(std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Whether the server appends a number to the path.
[[nodiscard]] constexpr bool is_sequential(create_mode mode) noexcept
{
    return mode == create_mode::persistent_sequential ||
           mode == create_mode::ephemeral_sequential ||
           mode == create_mode::persistent_sequential_with_ttl;
}
[[nodiscard]] constexpr bool has_ttl(create_mode mode) noexcept
{
    return mode == create_mode::persistent_with_ttl ||
           mode == create_mode::persistent_sequential_with_ttl;
}

// A request, as data. `path` has been validated.
struct call {
    opcode op = opcode::get;
    std::string path = {};
    std::string data = {};
    bool watch = false;
    watch_kind kind = watch_kind::data; // of forget_watches
    std::int32_t version = any_version; // of set_acl: that of the list
    create_mode mode = create_mode::persistent;
    std::chrono::milliseconds ttl{};
    access_control_list acl = {};
    recycled_vector<transaction_op> ops = {};

    // Whether it may change anything on the servers.
    [[nodiscard]] bool is_write() const noexcept
    {
        return op == opcode::create || op == opcode::remove || op == opcode::set ||
               op == opcode::set_acl ||
               (op == opcode::multi && std::ranges::any_of(ops, [](const transaction_op& each) {
                    return each.type != transaction_op::kind::check;
                }));
    }
};

// What came back. Which members have a meaning depends on the request.
struct reply {
    error_code error = {};
    std::string detail = {}; // what the error is about, and its cause
    std::string text = {};   // path of a create, data of a get
    node_stat stat = {};
    std::vector<std::string> names = {};
    access_control_list acl = {};
    recycled_vector<transaction_result> results = {};
};

// Receives the reply to one request. `answered` is called exactly once for every request that was accepted, at the
// latest when its handle is destroyed.
class receiver {
public:
    virtual void answered(reply&& r) noexcept = 0;

protected:
    ~receiver() = default;
};

// Receives the events of all watches of a handle.
class watch_receiver {
public:
    virtual void watch_fired(watch_event&& event) noexcept = 0;

protected:
    ~watch_receiver() = default;
};

struct session_identity {
    std::int64_t id = 0;
    std::array<char, 16> password{};
};

} // namespace colock::zk
