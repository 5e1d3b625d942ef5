// What the walks of test/model/hand_off.cpp are about, what can happen in them, and what a client of them remembers.
#pragma once

#include "automaton.hpp"
#include "depth_first.hpp"
#include "lock/cohort.hpp"

#include <boost/container/static_vector.hpp>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::model::hand_off {

// What one walk is about. The budgets are those of the adversary, and concern the first client and all nodes.
struct scenario {
    std::vector<unsigned> users = {3, 1}; // of each client; each wants the lock once
    unsigned tries = 0;                   // so many further users of the first client do not wait
    bool readers = false;                 // the first client's users hold the lock together
    unsigned max_grants = 1; // on one node, behind the first, while another client waits
    bool lingers = false;    // the first client keeps a node for a while that nobody uses
    unsigned cancels = 0;
    unsigned breaks = 0;
    unsigned expiries = 0;
    unsigned removals = 0; // of any node, by an operator
    bool rejoin_on_expiry = true;
    std::int64_t first_number = 0; // of the nodes in the directory, unless it is made anew
};

inline void require(bool truth, const char* what)
{
    if (!truth) {
        throw violation{what};
    }
}

enum class step_kind : std::uint8_t {
    arrive,
    try_arrive,
    release,
    strand, // the client carries out what an input of a user has brought about
    linger_over,
    process, // the server takes the next request of a client
    deliver, // a client takes the next reply or event
    notice_break,
    notice_expiry,
    reconnect,
    // The adversary's.
    cancel,
    cancel_try,
    break_connection,
    expire,
    remove_node,
};

struct step {
    step_kind kind;
    std::uint8_t client = 0;
    std::uint8_t which = 0; // the driver, or the index of the node

    [[nodiscard]] bool is_adverse() const noexcept { return kind >= step_kind::cancel; }
};

inline std::string to_string(const step& s)
{
    static constexpr const char* names[] = {
        "user arrives",   "user tries",    "user lets go of", "strand",        "linger over",
        "process",        "deliver",       "notice break",    "notice expiry", "reconnect",
        "waiter cancels", "try cancelled", "break",           "expire",        "remove node"};
    return std::string{names[static_cast<std::size_t>(s.kind)]} + ", client " +
           std::to_string(s.client) + ", " + std::to_string(s.which);
}

// One of a client's contenders has this number; 0 is none.
using serial = std::uint8_t;
constexpr serial max_serial = 15;

// What an input of a user leaves to the strand.
struct work {
    boost::container::static_vector<serial, 2> leaving = {};
    bool cancelled = false; // a waiter, which completes when this contender is gone
    serial cancelled_with = 0;
    bool asks = false; // a user that does not wait has found nobody here

    [[nodiscard]] bool is_nothing() const noexcept { return leaving.empty() && !cancelled; }
};

// What contender_driver does for one contender.
struct driver {
    serial number = 0;
    state_id contender = 0;
    std::uint8_t users = 0;     // that have the lock by its node
    std::uint8_t cancelled = 0; // waiters that wait for its node to go
    bool trying = false;        // for a user that does not wait
    bool granted = false;
    bool told = false; // its users, that they have lost the lock
    bool left = false;
    bool was_idle = false;
    bool gone = false;
    text_id held = 0;
    // During a step.
    bool performing = false;
    std::vector<output> commands = {};
    boost::container::static_vector<serial, 2> leave_behind_create = {};
};

// What local_queue and the session do. What they decide is decided by the cohort.
struct client {
    struct watch_entry {
        text_id name; // 0: of the directory
        std::uint8_t announced = 0;
        bool set = false;
        boost::container::static_vector<serial, 4> subscribers = {};

        // False when it is none.
        bool unsubscribe(serial number)
        {
            const auto at = std::ranges::find(subscribers, number);
            const bool found = at != subscribers.end();
            if (found) {
                subscribers.erase(at);
            }
            return found;
        }
    };

    std::uint32_t cohort = 0;
    std::uint8_t to_come = 0;
    std::uint8_t to_try = 0;
    std::uint8_t waiting = 0;
    serial holder = 0;
    serial contender = 0;
    serial last = 0;
    text_id robbed = 0;         // the node that an operator has deleted
    std::uint8_t directory = 0; // which one it has listed last
    bool look = false;
    bool lingering = false;
    bool timer = false;
    std::uint8_t timer_at = 0;
    std::uint8_t now = 0;
    // What the cohort was last told of the queue.
    protocol::remote_contention known = protocol::remote_contention::unknown;
    std::uint8_t handed_off = 0; // on the holder's node, since it was granted or somebody came
    boost::container::static_vector<work, 8> strand = {};
    boost::container::static_vector<driver, 6> drivers = {};
    boost::container::static_vector<watch_entry, 6> watches = {};
    [[nodiscard]] driver* find(serial number)
    {
        const auto at = std::ranges::find(drivers, number, &driver::number);
        return number != 0 && at != drivers.end() ? &*at : nullptr;
    }
};

// What does not change while a world does.
class laboratory {
public:
    explicit laboratory(const scenario& s)
        : rules{s}, names{s.readers ? curator_shared_layout() : curator_layout()}
    {
        for (std::size_t i = 0; i != s.users.size(); ++i) {
            protocol::contender::settings settings;
            settings.rejoin_on_expiry = s.rejoin_on_expiry;
            settings.layout = names;
            settings.shared = s.readers && i == 0;
            settings.lingers = s.lingers && i == 0;
            std::vector<protocol::contender> all;
            for (unsigned number = 0; number != max_serial; ++number) {
                all.push_back({settings, {.high = i + 1, .low = 1 + 1000 * number}});
            }
            automata_.push_back(std::make_unique<automaton>(text, all, false));
        }
    }

    [[nodiscard]] automaton& contenders(std::size_t client) { return *automata_[client]; }
    // The first state of a client's cohort.
    [[nodiscard]] std::uint32_t first_cohort(std::size_t client)
    {
        using std::chrono::nanoseconds;
        const bool lingers = rules.lingers && client == 0;
        return number_of(protocol::cohort{{.shared = rules.readers && client == 0,
                                           .max_grants = rules.max_grants,
                                           .max_time = nanoseconds{100},
                                           .linger = nanoseconds{lingers ? 1 : 0},
                                           .max_linger = nanoseconds{lingers ? 2 : 0}}});
    }
    [[nodiscard]] std::uint32_t number_of(const protocol::cohort& c)
    {
        return cohorts.id_of(c, c.waiting() | c.users() << 4 |
                                    std::size_t{c.wants_contender()} << 8 |
                                    std::size_t{c.holds()} << 9);
    }

    const scenario rules;
    const layout names;
    texts text;
    numbering<protocol::cohort> cohorts;

private:
    std::vector<std::unique_ptr<automaton>> automata_;
};

} // namespace colock::model::hand_off
