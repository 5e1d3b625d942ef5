// What the leader decides: a change of the tree, or of the sessions, at its place in the order.
#pragma once

#include <colock/node.hpp>

#include "status.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace colock::simulated {

using shared_acl = std::shared_ptr<const colock::access_control_list>;

// One step. The leader has resolved everything that depends on the state: numbers, versions, identities.
struct change {
    enum class kind { create, remove, set, set_acl, check };

    kind what = kind::check;
    std::string path = {};
    std::string data = {};
    shared_acl acl = {};
    std::int64_t owner =
        0; // of a create, as the server keeps it: a session, a container, a time to live
    std::int32_t parent_version = 0; // of a create: the counter of the parent afterwards
    std::int32_t version = 0;        // of a set: afterwards; of a set_acl: that of the list
};

struct transaction {
    enum class kind {
        single,        // one step
        multi,         // several, or the reasons why not
        open_session,  //
        close_session, // and what goes with it, in `changes`
        refused, // a request that the leader refused; it takes a place in the order nevertheless
    };

    std::int64_t zxid = 0;
    std::int64_t time = 0; // milliseconds since 1970, by the leader's clock
    kind what = kind::refused;
    std::int64_t session = 0; // which asked; 0: nobody, such as the removal of an empty container
    std::uint64_t origin = 0; // the request that it answers; 0: none
    std::vector<change> changes = {};
    status error = {};                   // of a refused one
    std::vector<status> refusals = {};   // of a refused multi, for each step; else empty
    std::chrono::milliseconds timeout{}; // of a session that is opened
    bool expired = false;                // of one that is closed: the leader did it

    // It changes nodes, or would have: false for what was refused.
    [[nodiscard]] bool is_carried_out() const noexcept
    {
        return what != kind::refused && refusals.empty();
    }
};

using shared_transaction = std::shared_ptr<const transaction>;

// Told of what is decided, in the order of zxids, at the instant at which the leader decides it.
class observer {
public:
    // Already carried out in ensemble::decided(). Sessions are opened and closed by transactions, too.
    virtual void committed(const transaction& t) = 0;
    // From now on the leader counts a session by this time-out. Its client hears of it later, if at all.
    virtual void counted(std::int64_t session, std::chrono::milliseconds timeout)
    {
        static_cast<void>(session);
        static_cast<void>(timeout);
    }
    // A server sends an event to a client.
    virtual void woken(std::int64_t session, colock::watch_event_type type, const std::string& path)
    {
        static_cast<void>(session);
        static_cast<void>(type);
        static_cast<void>(path);
    }

protected:
    ~observer() = default;
};

} // namespace colock::simulated
