// What a contender does because of what its client knows of the lock's directory.
#pragma once

#include "memory.hpp"
#include "protocol/command.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace colock::protocol {

// Metadata of the directory, as an answer tells them.
struct directory_state {
    std::int64_t czxid = 0; // the transaction that created it
    std::int32_t version = 0;
    std::int32_t children = 0;

    friend bool operator==(const directory_state&, const directory_state&) = default;
};

// What came of the step of a transaction that writes to the directory.
struct directory_write {
    error_code error = {};
    directory_state now = {}; // without an error
};

// The uncontended fast path. It can be skipped at first reading, and switched off by `rules`.
//
// A client that takes a lock again and again, alone, need not list the queue to know that nobody else is there. It
// creates its node in a transaction that also writes to the directory; the answer tells how many children there are. To be
// allowed that, the client gets to know the directory while it holds the lock: it reads the data once, and writes colock's
// mark once.
//
// The memory is that of the client and its session, and is lent to the contender for one input at a time.
class directory_strategy {
public:
    struct rules {
        bool fast_path = true;
        // The client keeps its node for a while when nobody uses it. Then it has to know whether others come, and a
        // listing that sets a watch tells that. The fast path has no such listing.
        bool lingers = false;
    };

    void use(directory_memory& of_client) noexcept { memory_ = &of_client; }

    // ---- before the node is created

    [[nodiscard]] bool expects_nobody(const rules& r) const noexcept;
    // The command that creates the node by the fast path.
    [[nodiscard]] command create_and_count(std::string prefix) const;

    // ---- answers

    void made(std::int64_t czxid) const noexcept { memory_->made(czxid); }
    void listed(const directory_state& d) const noexcept { memory_->seen(d.czxid, d.version); }
    void read_by_waiter(const directory_state& d, bool ours) const noexcept
    {
        memory_->read_in_queue(d.czxid, d.version, ours);
    }
    void identified(const directory_state& d, bool ours) const noexcept
    {
        memory_->read(d.czxid, d.version, ours);
    }
    // `ec` is that of the whole transaction, which wrote colock's mark.
    void marked(const error_code& ec, const directory_write& w) const noexcept;
    // The low-water mark could not be written: nor can anything else.
    void mark_denied() const noexcept;
    void met_others() const noexcept { memory_->met_others(); }

    // ---- decisions

    // The lock is granted. `met_siblings`: other children of the directory were seen on the way. What makes the fast path possible for the next contender is requested right away, because
    // nobody can replace the directory while the own node is in it.
    void granted(const rules& r, const std::string& own_name, std::int64_t number,
                 bool met_siblings, bool try_only, commands& out) const;
    // Whether a waiter of this client has seen that colock has made this directory.
    [[nodiscard]] bool recognises(std::int64_t czxid) const noexcept
    {
        return memory_->is_ours(czxid);
    }
    [[nodiscard]] bool may_write_mark() const noexcept;

    // The memory is only lent: two contenders are equal whatever it is.
    friend bool operator==(const directory_strategy&, const directory_strategy&) noexcept
    {
        return true;
    }

private:
    directory_memory* memory_ = nullptr;
};

// The directory and its ancestors were to be created one by one, the outermost first. What it comes to: no error when the
// directory is there, or creating them again may help.
[[nodiscard]] error_code outcome_of_making(std::span<const error_code> of_each) noexcept;

} // namespace colock::protocol
