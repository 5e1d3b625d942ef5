// A contender for a lock that is one ephemeral node, without a queue. Sans-io.
#pragma once

#include <colock/error.hpp>

#include "queue/contender.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace colock::protocol {

// The client that creates the node has the lock; the others watch it, and try again when it is gone. The commands are those
// of command.hpp, and their names are empty: there is but one path.
//
// Nothing in the node tells whose it is but its owner and its czxid. So:
// - A create whose answer was lost is found by its owner. When a session has several contenders, each is told
//   which node another one of them knows to be its own (`spoken_for`); of what is nobody's any of them may
//   take possession, since none was granted yet.
// - A remove is repeated only after the own node was seen after a barrier: the path may be somebody else's by now.
//   The first one is not preceded by a look, which would cost a round trip, and would not be proof either.
class single_node {
public:
    explicit single_node(bool rejoin_on_expiry = true) : rejoins_{rejoin_on_expiry} {}

    // Intentions of the user, as in contender.hpp.
    void join(bool connected, std::int64_t session, commands& out);
    void try_join(bool connected, std::int64_t session, commands& out);
    void leave(commands& out);
    void watch_own_node(commands& out);
    // Before join(): whether another contender of this session has the node, or is about to let it go. The others who
    // wait hear of that when we do, and shall have the same chance; so we look before we create.
    void yield_turn(bool yields) noexcept { yields_turn_ = yields; }

    void assume_safe(bool safe) noexcept { safe_ = safe; }
    void proved(commands& out);

    // The connection. Precondition of connected(): as in contender.hpp.
    void connected(std::int64_t session, commands& out);
    void suspended();
    void expired(commands& out);

    // Answers.
    // The directories above were created one by one, the outermost first.
    void directory_made(std::span<const error_code> of_each, commands& out);
    void created(const error_code& ec, std::string_view name, node_identity identity,
                 commands& out);
    void looked(const error_code& ec, node_identity identity, bool spoken_for, commands& out);
    void watched(std::string_view name, const error_code& ec, node_identity identity,
                 commands& out);
    void fired(std::string_view name, bool deleted, commands& out);
    void removed(const error_code& ec, commands& out);

    [[nodiscard]] bool holds() const noexcept { return state_ == state::granted; }
    // It will be granted on the answer to a write, which proves by itself that the session is safe.
    [[nodiscard]] bool is_next() const noexcept { return false; }
    [[nodiscard]] bool is_gone() const noexcept { return state_ == state::gone; }
    // For people. Without a queue nobody knows how many wait.
    [[nodiscard]] blocked_by blockers() const noexcept
    {
        return state_ == state::waiting ? blocked_by{.holder = std::string_view{}} : blocked_by{};
    }
    [[nodiscard]] bool has_node() const noexcept { return identity_ != node_identity{}; }
    [[nodiscard]] std::string_view name() const noexcept { return {}; }
    // Nobody can see whether others wait.
    [[nodiscard]] remote_contention contention() const noexcept { return remote_contention::some; }
    [[nodiscard]] const node_identity& identity() const noexcept { return identity_; }

    friend bool operator==(const single_node&, const single_node&) = default;

private:
    enum class state {
        idle,       // not begun, or waiting for a connection to begin
        probing,    // a try, which looks before it writes
        making,     // the directories above
        creating,   // the create is under way
        lost_track, // the create's outcome is unknown
        waiting,    // for the node of somebody else to go
        owning,     // the node is ours; not granted before the session is known to be safe
        granted,
        leaving, // the node, or what may have become of the create, is being removed
        gone,
    };
    enum class watch_state { none, arming, armed };

    void begin(commands& out);
    void create(commands& out);
    void met(node_identity other, commands& out);
    void recover(bool exists, node_identity identity, bool spoken_for, commands& out);
    void settle_leaving(bool exists, node_identity identity, bool spoken_for, commands& out);
    void report_busy(commands& out);
    void arm(commands& out);
    void drop_watch(commands& out);
    void own(node_identity identity, commands& out);
    void own_node_vanished(commands& out);
    void grant(commands& out);
    void fail(const error_code& ec, commands& out);
    void start_leaving(commands& out);
    void finish(const error_code& ec, commands& out);

    bool rejoins_; // when its session has expired
    state state_ = state::idle;

    bool connected_ = false;
    std::int64_t session_ = 0;
    bool try_only_ = false;
    bool yields_turn_ = false;
    bool begun_ = false; // join or try_join was called
    bool held_ = false;  // it was granted
    bool safe_ = true;
    bool proving_ = false;     // to be granted as soon as it is proved that the session is safe
    bool remove_lost_ = false; // a remove was not answered: it may have been carried out

    node_identity identity_; // of the own node
    watch_state watch_ = watch_state::none;
};

} // namespace colock::protocol
