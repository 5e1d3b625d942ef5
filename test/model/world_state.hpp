// What a walk is about, what can happen in it, and what a client of it remembers.
#pragma once

#include "automaton.hpp"
#include "depth_first.hpp"

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace colock::model {

// What one walk is about. The budgets are those of the adversary.
struct scenario {
    std::size_t clients = 3;
    std::size_t tries = 0;    // so many of them, the last ones, do not wait
    const char* readers = ""; // an 'r' for each of them that shares the lock; for the others a 'w'
    unsigned cancels = 0;
    unsigned breaks = 0;     // of a connection
    unsigned expiries = 0;   // of a session
    unsigned removals = 0;   // of any node, by an operator
    unsigned changes = 0;    // of any node's data, by an operator
    unsigned refusals = 0;   // of a request, which can be repeated
    unsigned denials = 0;    // of a listing, by one who steps down, for good
    unsigned reaps = 0;      // of the directory, while it is empty
    unsigned downgrades = 0; // of a writer that holds the lock
    bool foreigner =
        false; // a Curator process holds the write lock first, and may step down to a reader
    unsigned elders = 0; // foreign contenders that queue from before, and leave in any order
    bool patient_elders = false; // in their order only
    bool directory_exists = true;
    std::int64_t first_number = 0; // of the nodes in the directory, unless it is made anew
    bool replaceable = true;       // a directory that a client makes is like it
    bool stranger = false;         // it has a child that is no contender
    bool one_by_one = false;       // a contender joins when nothing is under way
    bool own_watch = true;         // holders watch their node
    bool rejoin_on_expiry = true;
    bool doubts = false; // nobody is granted before it is known that the session is safe
    bool barrier = true; // stands before what is sent on a new connection
    bool stalls = false; // there are two servers, which may read late what was sent to them
    unsigned offers = 0; // of the session to a server, each of which the client gives up
    bool careful =
        true; // the client offers the session only to a server that has nothing old to read
    unsigned lags = 0; // so often a client's server falls behind the leader, until it catches up
};

enum class step_kind : std::uint8_t {
    process, // the server takes the next request of a client
    deliver, // a client takes the next reply or event
    join,
    leave,  // after the grant
    assure, // the session is known to be safe; those who await a proof hear of it later
    prove,
    notice_break,
    notice_expiry,
    notice_both, // the connection ends and its session is known to be over, at once
    reconnect,
    process_late,
    process_old,
    take_over,
    foreigner_leaves,
    foreigner_gives_up,
    catch_up,
    // The adversary's. Everything has to end well without any of these.
    cancel,
    break_connection,
    expire,
    remove_node,
    change_node,
    refuse,
    deny,
    reap,
    foreigner_steps_down,
    step_down,
    offer_in_vain,
    fall_behind,
};

struct step {
    step_kind kind;
    std::uint8_t which = 0; // the client, or the index of the node

    [[nodiscard]] bool is_adverse() const noexcept { return kind >= step_kind::cancel; }
};

inline std::string to_string(const step& s)
{
    static constexpr const char* names[] = {"process",
                                            "deliver",
                                            "join",
                                            "leave",
                                            "assure",
                                            "prove",
                                            "notice break",
                                            "notice expiry",
                                            "notice both",
                                            "reconnect",
                                            "process late",
                                            "process old",
                                            "take over",
                                            "foreigner leaves",
                                            "foreigner gives up",
                                            "catch up",
                                            "cancel",
                                            "break",
                                            "expire",
                                            "remove node",
                                            "change node",
                                            "refuse",
                                            "deny",
                                            "reap",
                                            "foreigner steps down",
                                            "step down",
                                            "offer in vain",
                                            "fall behind"};
    return std::string{names[static_cast<std::size_t>(s.kind)]} + ' ' + std::to_string(s.which);
}

using steps = boost::container::static_vector<step, 64>;

// What does not change while a world does.
class laboratory {
public:
    explicit laboratory(const scenario& s) : scenario_{s}
    {
        for (std::size_t i = 0; i != s.clients; ++i) {
            protocol::contender::settings settings;
            settings.rejoin_on_expiry = s.rejoin_on_expiry;
            settings.layout = names_;
            settings.shared = is_reader(i);
            const std::vector<protocol::contender> one{{settings, {.high = i + 1, .low = 1}}};
            automata_.push_back(std::make_unique<automaton>(text_, one, is_try(i)));
        }
    }

    [[nodiscard]] const scenario& rules() const noexcept { return scenario_; }
    [[nodiscard]] bool is_try(std::size_t client) const noexcept
    {
        return client + scenario_.tries >= scenario_.clients;
    }
    [[nodiscard]] bool is_reader(std::size_t client) const noexcept
    {
        return client < std::string_view{scenario_.readers}.size() &&
               scenario_.readers[client] == 'r';
    }
    [[nodiscard]] const layout& names() const noexcept { return names_; }
    [[nodiscard]] static layout names_of(const scenario& s)
    {
        return *s.readers != '\0' || s.foreigner ? curator_shared_layout() : curator_layout();
    }
    [[nodiscard]] automaton& contenders(std::size_t client) { return *automata_[client]; }
    [[nodiscard]] texts& text() noexcept { return text_; }

private:
    scenario scenario_;
    layout names_ = names_of(scenario_);
    texts text_;
    std::vector<std::unique_ptr<automaton>> automata_;
};

// The client side of one contender. The watch table does what zk::watch_registry does.
struct client {
    struct watch_entry {
        text_id name;
        std::uint8_t announced = 0;
        bool set = false;
        bool subscribed = false;
    };

    state_id contender = 0;
    std::uint8_t directory = 0; // which one it has listed last
    bool joined = false;
    bool left = false; // the user wants no more of it
    bool granted = false;
    bool refused = false; // busy or failed
    bool lost = false;
    bool gone = false;
    bool safe = true;     // its session, as far as is known
    bool proving = false; // that it is
    bool stepping_down = false;
    text_id held = 0;            // the node of the grant
    text_id led = 0;             // the node of this client that it has last seen to be the lowest
    text_id robbed = 0;          // the node that the adversary removed
    bool robbed_holding = false; // while it was held
    boost::container::static_vector<watch_entry, max_clients + 2> watches = {};
};

} // namespace colock::model
