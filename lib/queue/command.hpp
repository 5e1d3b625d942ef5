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
        list,   // listed()
        list_again, // the same, after a pause
        list_and_watch, // the same, and watch the directory; newcomer() once after that if it was without error
        watch_newcomers, // newcomers_watched(): the same for a holder, whose client may hand over (cohort.hpp)
        watch,          // watched(), and fired() once if that was without error
        read_directory, // directory_read(): whether another one can take its place; `name` is the own node
        remove,         // removed()
        step_down, // stepped_down(): create the reader's node `name` in place of the own one, both or none
        look, // looked(), of a single_node: read whose the node is
        // No answer.
        remove_directory, // unless it has children
        unwatch,          // forget a watch; neither watched() nor fired() shall come of it any more
        prove, // that the session is safe; proved() when it is, unless the connection breaks
        // Reports, each at most once.
        granted, // the lock is held from now on
        busy,    // of a try: another contender has it
        shared, // the lock is held together with others from now on; or not, if there is an `error`
        lost, // `error` says why; follows granted only, also when it shows as late as at the release
        failed, // `error` says why; instead of granted
        gone, // the last: no node is left, answers are ignored; `error` if a node may remain after all
    };

    kind type;
    node_name name = {};
    error_code error = {};

    [[nodiscard]] bool is_request() const noexcept { return type <= kind::look; }
    [[nodiscard]] bool is_report() const noexcept { return type >= kind::granted; }

    friend bool operator==(const command&, const command&) = default;
};

using commands = std::vector<command>;

struct node_identity {
    std::int64_t czxid = 0;    // the transaction that created it
    std::int64_t owner = 0;    // its session
    bool has_children = false; // which an ephemeral node never has

    friend bool operator==(const node_identity&, const node_identity&) = default;
};

} // namespace colock::protocol
