// What servers say to each other.
#pragma once

#include "submitted.hpp"
#include "transaction.hpp"
#include "tree.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace colock::simulated {

using touches = std::vector<std::pair<std::int64_t, std::chrono::milliseconds>>;

struct peer_message {
    enum class kind {
        // Between all, to find a leader. Both tell: what they do, and what is on their disks.
        question,
        answer,

        // A follower comes to its leader.
        follower_info,  // epoch: the newest that it has accepted
        leader_info,    // epoch: the new one
        epoch_accepted, // epoch, zxid: of its history; valid: it had not accepted this epoch before
        synchronise,    // what it lacks, or has too much of; zxid: up to this all is decided
        new_leader,
        new_leader_accepted,
        up_to_date, // serve clients

        // The leader and those who follow it.
        proposal,
        logged, // zxid: up to this
        commit,
        request,
        revalidate,
        revalidated,
        synced, // the answer to a `sync`
        ping,
        pong,
    };
    enum class doing { looking, following, leading };

    kind what = kind::ping;
    std::size_t from = 0; // a server; of `follower_info`, a question and an answer
    doing state = doing::looking;
    std::int64_t epoch = 0;
    std::int64_t zxid = 0;
    shared_transaction proposed = {};
    shared_request request = {};
    std::int64_t session = 0;
    std::chrono::milliseconds timeout{};
    bool valid = false;
    touches touched = {};

    // Of `synchronise`.
    std::shared_ptr<const tree> snapshot = {}; // takes the place of all that the follower has
    std::int64_t keep = 0; // without a snapshot it keeps its own up to this zxid
    std::vector<shared_transaction> records = {}; // it appends them
};

} // namespace colock::simulated
