// The knowledge of a contender in all its stages: what its owner wants, its connection, and the requests under way.
#pragma once

#include <colock/layout.hpp>

#include "newcomer_watch.hpp"
#include "protocol/command.hpp"
#include "protocol/directory/fast_path.hpp"
#include "protocol/names/contender_name.hpp"
#include "protocol/names/guid.hpp"
#include "protocol/names/shared_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colock::protocol::queue {

struct settings {
    shared_layout layout = curator_layout();
    bool shared = false; // joins as a reader, which waits for writers only
    bool rejoin_on_expiry = true;
    bool lingers = false; // the client keeps its node for a while when nobody uses it
    // Only tests switch these off. The lock excludes as well without them.
    bool fast_path = true;             // directory/fast_path.hpp
    bool drains_at_end = true;         // draining.hpp
    std::size_t mark_queues_from = 16; // low_water_mark.hpp: contenders in the queue. 0: never

    friend bool operator==(const settings&, const settings&) = default;
};

// The names that a listing shows.
struct listing {
    const std::vector<std::string>& children;
    directory_state directory = {};
    bool watched = false; // it has set the watch for newcomers

    mutable std::optional<std::vector<entry>> sorted = {}; // from the first question on

    // The contenders among the children, lowest number first. All who are shown this listing have the same layout.
    [[nodiscard]] const std::vector<entry>& queue(const layout& l) const;
    // Whether it shows no contender but the own one.
    [[nodiscard]] bool is_alone(const layout& l) const;
};

// Counts unanswered listings. One is sent when it is asked for or later, never before, and the answers of a session
// come in order. So a listing that is answered behind a create was sent behind it.
class open_listings {
public:
    [[nodiscard]] explicit operator bool() const noexcept { return open_ != 0; }

    // `watch`: for newcomers.
    void send(commands& out, bool watch = false)
    {
        ++open_;
        out.push_back({watch ? command::kind::list_and_watch : command::kind::list});
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
    guid own_guid;         // in the name of the own node; each join has another one
    lent_memory directory; // what the client knows of it
    std::int64_t session = 0;
    open_listings listings;
    newcomer_watch newcomers;
    bool connected = false;

    bool try_only = false;     // never waits for its turn
    bool safe = true;          // the session is known to live for a while
    bool mark_refused = false; // the low-water mark was false: this contender trusts none any more

    // A client that lingers has to know whether others come, and a listing that sets a watch tells that. The fast path
    // has no such listing.
    [[nodiscard]] bool uses_fast_path() const noexcept
    {
        return options.fast_path && !options.lingers;
    }
    [[nodiscard]] bool expects_alone() const noexcept
    {
        return uses_fast_path() && directory->expects_alone();
    }
    // The name of the own node, up to its sequence number.
    [[nodiscard]] node_name name_prefix() const;
    // Sends the listing that belongs to a join, a try or a recovery. A client that lingers sets the watch for newcomers
    // with it; a try does not linger.
    void list_to_join(commands& out);

    friend bool operator==(const context&, const context&) = default;
};

} // namespace colock::protocol::queue
