// The orders of a contender: requests to the server, and reports to its owner.
#pragma once

#include <colock/error.hpp>

#include "names/node_name.hpp"

#include <cstdint>
#include <vector>

namespace colock::protocol {

// Names are those of children of the lock's directory.
struct command {
    enum class kind {
        // Requests. Each is answered by exactly one call of the function named, in the order in which
        // they were issued; when the connection breaks, first all that are open are answered with a code
        // for which outcome_unknown() is true, then comes suspended() or expired().
        make_directory, // directory_made(): create the directory and its parents, unless they exist
        create, // created(): `name` is the prefix to which the server appends the sequence number
        // counted(): creates as `create` does, and writes colock's signature over data of version `number`, in one
        // transaction. The answer tells how many children the directory then has.
        create_and_count,
        list, // listed()
        list_and_watch, // likewise, and watch the directory; newcomer() once behind that if it was without error
        watch_newcomers, // newcomers_watched(): the same for a holder, whose client may hand over (cohort.hpp)
        watch,              // watched(), and fired() once if that was without error
        read_directory,     // directory_read()
        identify_directory, // directory_identified(): read its data
        // directory_signed(): checks that the own node `name` exists, and writes colock's signature over data of version
        // `number`, in one transaction.
        sign_directory,
        remove, // removed()
        // removed_and_marked(): removes as `remove` does, and raises the low-water mark to `number`, in one transaction.
        remove_and_mark,
        step_down, // stepped_down(): create the reader's node `name` in place of the own one, both or none
        look, // looked(), of a single_node: read whose the node is
        // No answer.
        remove_directory, // unless it has children; behind the remove that precedes
        unwatch,          // forget a watch; neither watched() nor fired() shall come of it any more
        prove, // that the session is safe; proved() when it is, unless the connection breaks
        // Reports, each at most once.
        granted, // the lock is held from now on
        busy,    // of a try: another contender has it
        shared, // the lock is held together with others from now on; or not, if there is an `error`
        lost, // `error` says why; follows granted only, also when it shows as late as at the release
        failed,       // `error` says why; instead of granted
        mark_refused, // the low-water mark in the directory cannot be true: `number` is what it claims
        gone, // the last: no node is left, answers are ignored; `error` if a node may remain after all
    };

    kind type;
    node_name name = {};
    error_code error = {};
    std::int64_t number = 0;

    [[nodiscard]] bool is_request() const noexcept { return type <= kind::look; }
    [[nodiscard]] bool is_report() const noexcept { return type >= kind::granted; }

    friend bool operator==(const command&, const command&) = default;
};

using commands = std::vector<command>;

struct node_identity {
    std::int64_t czxid = 0; // the transaction that created it
    std::int64_t owner = 0; // its session

    friend bool operator==(const node_identity&, const node_identity&) = default;
};

} // namespace colock::protocol
