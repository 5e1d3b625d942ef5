// A semaphore: sessions with one acquisition or two each, a server that has the queue of its lock, the leases and the
// counter, and an adversary. What can happen next, and what has to be true after each step.
//
// The lock of the queue is a simple one here, because other walks examine it: a node in a queue for each session, which
// a session's acquisitions hand on in memory.
#pragma once

#include "depth_first.hpp"
#include "messages.hpp"
#include "names/contender_name.hpp"
#include "recipes/semaphore/acquisition.hpp"
#include "recipes/semaphore/numbers.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace colock::model::permits {

// What one walk is about. The budgets are those of the adversary.
struct scenario {
    std::size_t sessions = 2;
    std::size_t acquisitions = 1;                 // of each session
    std::size_t tries = 0;                        // so many sessions, the last ones, do not wait
    std::vector<std::int64_t> wanted = {1, 1, 1}; // by the sessions
    std::int64_t permits = 1;
    std::vector<std::int64_t> numbers = {}; // of permits, by the sessions, where they disagree
    bool counter = false;                   // a node says how many there are
    std::int64_t later = 0;                 // and says this, some time or other
    std::int64_t elsewhere = 0;  // the maximum that somebody has written into the directory
    bool other_kind = false;     // a mutex has its queue at the semaphore's path
    unsigned cancels = 0;        // of these, some are told at once, and some when no trace is left
    unsigned deadlines = 0;      // that pass
    unsigned breaks = 0;         // of a connection
    unsigned expiries = 0;       // of a session
    unsigned removals = 0;       // of a lease, by an operator
    unsigned queue_removals = 0; // of a node in the queue, by an operator
    unsigned doubts = 0;         // whether the queue's lock is held still: it counts as lost
    unsigned refusals = 0;       // of a create, which can be repeated
    unsigned reaps = 0;          // of the directory, while it is empty
    unsigned rivals = 0; // locks of another kind that come, and stay unless they see the directory
    bool directory_exists = true;
    bool rejoin_on_expiry = true;
    bool ghosts =
        false; // what belongs to a session goes some time after its client has heard of the expiry
};

enum class operation : std::uint8_t {
    join,
    try_join,
    leave,
    check_place, // is the node in the queue there still?
    list,
    list_and_watch,
    read_maximum,
    list_siblings,
    read_limit,
    create,
    make_directory,
    remove_leases,
    remove_directory,
    renew_list, // a watch, behind a reconnection
    renew_limit,
    // Told by the server, unasked.
    granted,
    busy,
    place_gone,
    list_changed,
    limit_changed,
    // Told by the client itself.
    queue_unlocked,
    paused,
    changed,
};
enum class code : std::uint8_t {
    ok,
    no_node,
    no_place,
    other_limit,
    throttled,
    unknown,
    aborted,
    expired
};

constexpr std::size_t max_sessions = 3, max_acquisitions = 2, max_leases = 8;

struct lease {
    std::uint8_t session = 0;
    std::uint8_t high = 0, low = 0; // of the guid
    std::uint8_t serial = 0;
};
using leases = boost::container::static_vector<lease, max_leases>;

struct request {
    operation op;
    std::uint8_t who = 0;
    std::uint8_t low = 0;          // of the guid
    std::uint8_t number = 0;       // of the node in the queue, or what a watch has seen
    bool wanted = true;            // known to the client only
    std::int8_t limit_version = 0; // that the create needs
};

struct message {
    operation op;
    std::uint8_t who = 0;
    code answer = code::ok;
    bool wanted = true;
    std::uint8_t number = 0;
    std::uint8_t limit = 0;
    leases found = {};
};

// A public watch, as the client has it.
struct watch {
    bool alive = false, fired = false;
    bool taken = false; // a wait has been told
    bool armed = false; // at the server
    std::uint8_t seen = 0;
};

enum class outcome_of : std::uint8_t { none, granted, busy, cancelled, failed };

struct acquisition {
    std::uint32_t state = 0; // in the laboratory's table
    bool begun = false, left = false, gone = false;
    bool pausing = false, waiting = false;
    bool released = false, removing = false, lost = false; // the permits
    bool expired = false; // the session, while it had the queue's lock
    outcome_of outcome = outcome_of::none;
    std::uint8_t low = 0;                         // of the guid of its leases
    std::uint8_t read_maximum = 0, read_from = 0; // a directory
    watch list, limit;
};

enum class place_state : std::uint8_t { none, joining, held, leaving };

struct session {
    std::uint8_t id = 0;
    bool alive = true, connected = true;
    std::uint8_t compared = 0; // a directory; 0: none
    place_state place = place_state::none;
    std::uint8_t number = 0;                // of its node in the queue
    std::uint8_t holder = 0, unlocking = 0; // an acquisition and one; 0: none
    code lost = code::ok;                   // why the holder has lost the queue's lock
    boost::container::static_vector<std::uint8_t, max_acquisitions> waiting = {};
    boost::container::static_vector<request, 24> requests = {}, unsent = {};
    boost::container::static_vector<message, 24> messages = {};
    boost::container::static_vector<acquisition, max_acquisitions> all = {};
};

enum class step_kind : std::uint8_t {
    process,
    deliver,
    begin,
    release,
    resume,
    change,
    notice_break,
    notice_expiry,
    reconnect,
    change_limit,
    sweep,
    rival_looks,
    // The adversary's.
    cancel_at_once,
    cancel,
    deadline,
    break_connection,
    expire,
    remove_lease,
    remove_place,
    doubt,
    refuse,
    reap,
    rival_comes,
};

struct step {
    step_kind kind;
    std::uint8_t session = 0;
    std::uint8_t who = 0;

    [[nodiscard]] bool is_adverse() const noexcept { return kind >= step_kind::cancel_at_once; }
};

inline std::string to_string(const step& s)
{
    static constexpr const char* names[] = {
        "process", "deliver",      "begin",          "release",      "resume",
        "change",  "notice break", "notice expiry",  "reconnect",    "change limit",
        "sweep",   "rival looks",  "cancel at once", "cancel",       "deadline",
        "break",   "expire",       "remove lease",   "remove place", "doubt",
        "refuse",  "reap",         "rival comes"};
    return std::string{names[static_cast<std::size_t>(s.kind)]} + ' ' + std::to_string(s.session) +
           '.' + std::to_string(s.who);
}

// The states of the shipped acquisition, each of them once.
class laboratory {
public:
    using machine = protocol::permits::acquisition;

    explicit laboratory(const scenario& s) : rules{s} {}

    [[nodiscard]] const machine& operator[](std::uint32_t id) const { return *states_[id]; }
    [[nodiscard]] std::uint32_t first(std::size_t session, std::size_t who)
    {
        protocol::permits::settings s;
        s.wanted = rules.wanted[session];
        s.permits = permits_of(session);
        s.try_only = session + rules.tries >= rules.sessions;
        s.rejoin_on_expiry = rules.rejoin_on_expiry;
        if (rules.counter) {
            s.permits.reset();
        }
        return id_of(machine{s, {session * max_acquisitions + who, 0}});
    }
    [[nodiscard]] std::uint32_t id_of(const machine& value)
    {
        const auto [at, inserted] =
            ids_.try_emplace(value, static_cast<std::uint32_t>(states_.size()));
        if (inserted) {
            states_.push_back(&at->first);
        }
        return at->second;
    }

    // As this session has been told.
    [[nodiscard]] std::int64_t permits_of(std::size_t session) const
    {
        return rules.numbers.empty() ? rules.permits : rules.numbers[session];
    }

    const scenario rules;

private:
    std::map<machine, std::uint32_t> ids_;
    std::vector<const machine*> states_;
};

} // namespace colock::model::permits
