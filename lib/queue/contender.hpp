// One contender for a lock: joins the queue, waits, holds, leaves. Sans-io.
#pragma once

#include "names/guid.hpp"
#include "queue/command.hpp"
#include "queue/context.hpp"
#include "queue/stage.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

namespace colock::protocol {

// The contenders before one that waits, as far as it knows them: for people.
struct blocked_by {
    // How many contenders block it. Unknown where there is no queue, or no place in it yet.
    std::optional<std::size_t> count = {};
    // It watches each of them. Else some may have gone since it listed the queue.
    bool all_watched = false;
    // The name of the node that has the lock, when this contender watches it.
    std::optional<std::string_view> holder = {};
    // It waits without a place until the queue is empty, because the sequence numbers run out.
    bool stands_by = false;
};

// The rules of docs/internals/queue.md. Inputs are member functions, outputs are appended to `out`.
// No clock, no I/O, no threads: copies may be taken, which is how the tests walk through every interleaving.
//
// It is ZooKeeper's lock recipe, in stages: `joining` creates a node in the queue, `waiting` watches its predecessors, `holding`
// has the lock, `leaving` removes the node. Each is a type in queue/ with the rules that belong to it; what they share is
// `queue::context`. Each input is handed to the present stage, and may lead to another one. A stage has functions for those
// inputs that mean something in it.
//
// The users of one client share a contender. When the lock is handed over among them is decided in cohort.hpp.
class contender {
public:
    using settings = queue::settings;
    using listing = queue::listing;

    contender(settings s, guid first)
        : context_{.is_reader = s.shared, .options = std::move(s), .own_guid = first}
    {
    }

    // Intentions of the caller. `connected`: whether there is a connection now, with this session.
    void join(bool connected, std::int64_t session, commands& out);
    void try_join(bool connected, std::int64_t session, commands& out); // never waits for its turn
    void leave(commands& out); // may come at any time, and twice
    // From the exclusive lock to a shared one, with no gap: Curator's downgrade. Only while it is held.
    void step_down(commands& out);
    // The lock is held for long enough that it is worth watching the own node.
    void watch_own_node(commands& out);
    // Whether remote contenders are in the queue. Without a result newcomers_watched() tells, also of a question that is
    // open already; but nothing does when the lock is not held, or there is no connection.
    std::optional<remote_contention> look_around(commands& out);

    // Whether the session is known to live for a while longer: without that nothing is granted. To be told
    // before every input that may grant.
    void assume_safe(bool safe) noexcept { context_.safe = safe; }
    void proved(commands& out);

    // The connection. Precondition of connected(): a quorum write precedes, on this connection, whatever
    // is sent now, so that no read sees a state older than the loss of the previous connection.
    void connected(std::int64_t session, commands& out);
    void suspended();
    void expired(commands& out);

    // Answers.
    // The directory and its ancestors were created one by one, the outermost first.
    void directory_made(std::span<const error_code> of_each, commands& out);
    void created(const error_code& ec, std::string_view name, node_identity identity,
                 commands& out);
    void listed(const error_code& ec, const listing& l, commands& out);
    std::optional<remote_contention> newcomers_watched(const error_code& ec, const listing& l);
    [[nodiscard]] remote_contention newcomer();
    void watched(std::string_view name, const error_code& ec, node_identity identity,
                 commands& out);
    void fired(std::string_view name, bool deleted, commands& out);
    // `replaceable`: a directory that this client makes would be like it.
    void directory_read(bool replaceable);
    void removed(const error_code& ec, commands& out);
    void stepped_down(const error_code& ec, commands& out);

    [[nodiscard]] bool holds() const noexcept;
    // At most one predecessor is left.
    [[nodiscard]] bool is_next() const noexcept;
    [[nodiscard]] bool is_gone() const noexcept
    {
        return std::holds_alternative<queue::gone>(stage_);
    }
    // For people.
    [[nodiscard]] blocked_by blockers() const noexcept;
    [[nodiscard]] remote_contention contention() const noexcept;
    // The sequence numbers are nearly used up: its client's next contender creates its node after this one's has been removed, or
    // the directory would never be empty.
    [[nodiscard]] bool is_late() const noexcept;
    [[nodiscard]] bool has_node() const noexcept { return place() != nullptr; }
    [[nodiscard]] std::string_view name() const noexcept;
    [[nodiscard]] node_name node() const noexcept; // the same, and it stays
    [[nodiscard]] node_identity identity() const noexcept;

    friend bool operator==(const contender&, const contender&) = default;

private:
    template <class Input>
    void dispatch(Input&& input);
    [[nodiscard]] const queue::place*
    place() const noexcept; // of the own node, if its name is known

    queue::context context_;
    queue::stage stage_;
};

} // namespace colock::protocol
