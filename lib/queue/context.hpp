// The knowledge of a contender in all its stages: what its owner wants, its connection, and the requests under way.
#pragma once

#include <colock/layout.hpp>

#include "names/contender_name.hpp"
#include "names/guid.hpp"
#include "names/shared_layout.hpp"
#include "queue/command.hpp"
#include "queue/newcomer_watch.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace colock::protocol::queue {

struct settings {
    shared_layout layout = curator_layout();
    std::size_t holders = 1;
    bool shared = false; // joins as a reader, which waits for writers only
    bool rejoin_on_expiry = true;
    bool lingers = false; // the client keeps its node for a while when nobody uses it

    friend bool operator==(const settings&, const settings&) = default;
};

// The names that a listing shows.
struct listing {
    const std::vector<std::string>& children;
    std::int64_t directory = 0; // the transaction that created it
    bool watched = false;       // it asked for the watch for newcomers; an error sets none

    // Whether it shows no contender but the own one.
    [[nodiscard]] bool is_alone(const layout& l) const;
};

// Counts unanswered listings. The answers of a session come in order: a listing whose answer comes after that of a create was sent
// after the create.
class open_listings {
public:
    [[nodiscard]] explicit operator bool() const noexcept { return open_ != 0; }

    void send(commands& out, command::kind how = command::kind::list)
    {
        ++open_;
        out.push_back({how});
    }
    void answered() noexcept { open_ -= open_ != 0 ? 1 : 0; }
    void forget() noexcept { open_ = 0; }

    friend bool operator==(const open_listings&, const open_listings&) = default;

private:
    unsigned open_ = 0;
};

struct context {
    bool is_reader = false; // settings::shared at first; true from a step-down on
    settings options;
    guid own_guid; // in the name of the own node; each join has another one
    std::int64_t session = 0;
    open_listings listings;
    newcomer_watch newcomers;
    bool connected = false;

    bool try_only = false; // never waits for its turn
    bool safe = true;      // the session is known to live for a while
    // The directory in which the contender has made way, because its numbers are nearly used up; 0: in none. And how often it has
    // listed that since.
    std::int64_t made_way_in = 0;
    unsigned polls = 0;

    // The name of the own node, up to its sequence number.
    [[nodiscard]] node_name name_prefix() const;
    // Sends the listing that belongs to a join, a try or a recovery. A client that lingers sets the watch for newcomers
    // with it; a try does not linger.
    void list_to_join(commands& out);

    friend bool operator==(const context&, const context&) = default;
};

} // namespace colock::protocol::queue
