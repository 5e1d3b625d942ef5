// What a contender knows, whichever stage it is in: what it was asked for, its connection, and what is under way on it.
#pragma once

#include <colock/layout.hpp>

#include "newcomer_watch.hpp"
#include "protocol/command.hpp"
#include "protocol/directory/strategy.hpp"
#include "protocol/names/guid.hpp"

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace colock::protocol::queue {

struct settings {
    colock::layout layout = curator_layout();
    bool shared = false; // a reader, which waits for writers only
    bool rejoin_on_expiry = true;
    // The client keeps its node for a while when nobody uses it: see directory/strategy.hpp and newcomer_watch.hpp.
    bool lingers = false;
    // Each of these may be switched off: the lock excludes as well without it.
    bool fast_path = true;      // see directory/strategy.hpp
    bool drains = true;         // see drain.hpp
    std::size_t mark_from = 16; // contenders in the queue; see low_water_mark.hpp. 0: never

    friend bool operator==(const settings&, const settings&) = default;
};

// What a listing shows.
struct listing {
    const std::vector<std::string>& children;
    directory_state directory = {};
    bool watched = false; // it has set the watch for newcomers

    // Whether it shows no contender but the own one.
    [[nodiscard]] bool is_alone(const layout& l) const;
};

// Counts the listings that are not answered yet. Those that were sent for an earlier node are ignored when they are
// answered: they need not show the present one.
class open_listings {
public:
    // Whether one is open that was sent for the present node.
    [[nodiscard]] explicit operator bool() const noexcept { return open_ > outdated_; }

    // `watch`: for newcomers.
    void send(commands& out, bool watch = false)
    {
        ++open_;
        out.push_back({watch ? command::kind::list_and_watch : command::kind::list});
    }
    // From now on those that are open count as sent for an earlier node.
    void outdate() noexcept { outdated_ = open_; }
    void forget() noexcept { *this = {}; }

    // The oldest one is answered. Returns whether it was sent for the present node.
    [[nodiscard]] bool answered() noexcept
    {
        if (open_ != 0) {
            --open_;
        }
        if (outdated_ != 0) {
            --outdated_;
            return false;
        }
        return true;
    }

    friend bool operator==(const open_listings&, const open_listings&) = default;
    friend std::ostream& operator<<(std::ostream& text, const open_listings& l);

private:
    unsigned open_ = 0;
    unsigned outdated_ = 0;
};

struct context {
    settings options;
    guid own_guid; // in the name of the own node; each join has another one
    directory_strategy directory;
    newcomer_watch newcomers;

    std::int64_t session = 0;
    open_listings listings;
    bool connected = false;

    bool try_only = false;      // never waits for its turn
    bool safe = true;           // the session is known to live for a while
    bool count_refused = false; // by the servers: this contender takes the fast path no more
    bool mark_refused = false;  // the low-water mark was false: this contender trusts none any more

    [[nodiscard]] directory_strategy::rules rules() const noexcept
    {
        return {.fast_path = options.fast_path, .lingers = options.lingers};
    }
    // The name of the own node, up to its sequence number.
    [[nodiscard]] std::string name_prefix() const;
    // Lists, while there is no own node that a listing has shown. Who lingers sets the watch for newcomers with it; a try
    // does not linger.
    void list_to_join(commands& out);

    friend bool operator==(const context&, const context&) = default;
    friend std::ostream& operator<<(std::ostream& text, const context& c);
};

} // namespace colock::protocol::queue
