// One contender for a lock: joins the queue, waits, holds, leaves. Sans-io.
#pragma once

#include "command.hpp"
#include "names/guid.hpp"
#include "queue/context.hpp"
#include "queue/stage.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::protocol {

// The queue protocol of docs/architecture.md. Inputs are member functions, outputs are appended to `out`.
// No clock, no I/O, no threads: copies may be taken, which is how the tests walk through every interleaving.
//
// It is ZooKeeper's lock recipe, in stages: `join` creates a node in the queue, `wait` watches its predecessors, `hold`
// has the lock, `leave` removes the node. A fifth stage, `drain`, is entered only when the sequence numbers are nearly
// used up. Each is a type in queue/ with the rules that belong to it; what they share is `queue::context`. Each input is
// handed to the present stage, and may lead to another one. A stage has functions for those inputs that mean something
// in it.
class contender {
public:
    using settings = queue::settings;

    contender(settings s, guid first) : context_{.options = std::move(s), .own_guid = first} {}

    // Intentions of the caller. `connected`: whether there is a connection now, with this session.
    void join(bool connected, std::int64_t session, commands& out);
    void try_join(bool connected, std::int64_t session, commands& out); // never waits for its turn
    void leave(commands& out); // may come at any time, and twice
    // From the exclusive lock to a shared one, with no gap: Curator's downgrade. Only while it is held.
    void step_down(commands& out);
    // The lock is held for long enough that it is worth watching the own node.
    void guard(commands& out);

    // Whether the session is known to live for a while longer: without that nothing is granted. To be told
    // before every input that may grant.
    void assume_safe(bool safe) noexcept { context_.safe = safe; }
    void proved(commands& out);

    // The connection. Precondition of connected(): a quorum write precedes, on this connection, whatever
    // is sent now, so that no read sees a state older than the loss of the previous connection.
    void connected(std::int64_t session, commands& out);
    void suspended();
    void expired(commands& out);

    // Whether nobody else is likely to be in the queue, and the directory may be written to. To be told before every
    // input that may make it join.
    void expect_nobody(bool likely) noexcept { context_.expects_nobody = likely; }

    // Answers.
    void directory_made(const error_code& ec, commands& out);
    void created(const error_code& ec, std::string_view name, node_identity identity,
                 commands& out);
    // `alone`: the directory has no other child.
    void counted(const error_code& ec, std::string_view name, node_identity identity, bool alone,
                 commands& out);
    // `recognised`: it is a directory that was seen to be colock's before.
    void listed(const error_code& ec, const std::vector<std::string>& children, bool recognised,
                commands& out);
    void watched(std::string_view name, const error_code& ec, node_identity identity,
                 commands& out);
    void fired(std::string_view name, bool deleted, commands& out);
    // `mark`: up to this sequence number nobody is left, says the directory of this queue; -1 without a mark.
    void directory_read(const error_code& ec, bool ours, std::int64_t mark, commands& out);
    void removed(const error_code& ec, commands& out);
    void stepped_down(const error_code& ec, commands& out);

    [[nodiscard]] bool holds() const noexcept;
    // At most one predecessor is left.
    [[nodiscard]] bool is_next() const noexcept;
    [[nodiscard]] bool is_gone() const noexcept;
    // Whether it is in the stage `drain`: it waits until the queue has drained, without a node or about to have none.
    [[nodiscard]] bool holds_back() const noexcept;
    // Whether newcomers drain behind its node: there may be more contenders than the queue shows.
    [[nodiscard]] bool drains() const noexcept;
    [[nodiscard]] bool has_node() const noexcept { return place() != nullptr; }
    [[nodiscard]] std::string_view name() const noexcept;
    // Whether others stood in the queue, before this one or behind it, when it was last listed.
    [[nodiscard]] bool met_others() const noexcept;
    // Whether the directory had any other child then.
    [[nodiscard]] bool met_siblings() const noexcept { return context_.met_siblings; }
    [[nodiscard]] node_identity identity() const noexcept;
    [[nodiscard]] std::int64_t number() const noexcept;

    // A text that is equal for equal states; for the walk over all of them.
    [[nodiscard]] std::string fingerprint() const;
    friend bool operator==(const contender&, const contender&) = default;

private:
    template <class Input>
    void hand(Input&& input);
    [[nodiscard]] const queue::place*
    place() const noexcept; // of the own node, if its name is known

    queue::context context_;
    queue::stage stage_;
};

} // namespace colock::protocol
