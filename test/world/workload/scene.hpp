// What all programs of a world have in common.
#pragma once

#include <colock/error.hpp>
#include <colock/layout.hpp>

#include "../check/findings.hpp"
#include "../check/guards.hpp"
#include "../check/holds.hpp"
#include "../check/journal.hpp"
#include "../check/members.hpp"
#include "../check/operations.hpp"
#include "../check/queues.hpp"
#include "../check/rendezvous.hpp"
#include "../check/shards.hpp"
#include "../check/watches.hpp"
#include "../rarity.hpp"
#include "simulated.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace world::workload {

namespace asio = boost::asio;

class customer;

enum class lock_kind {
    mutex,
    recursive_mutex,
    shared_mutex,
    single_node_mutex,
    semaphore,
    election
};

// A path that programs contend for. All of them take it for the same kind of lock.
struct place {
    lock_kind kind = lock_kind::mutex;
    std::string path;
    colock::layout layout;
    std::int64_t permits = 1;
    std::string counter = {}; // a node that holds the number of permits: so many at most
    std::size_t queue = 0;    // of check::queues
    std::string written = {}; // a node whose data are the token of the last holder that wrote it
};

// The shards of a world. Their members have these options in common.
struct shared_work {
    std::string path;
    std::vector<std::size_t> locks; // of check::queues, one for each shard
    std::chrono::milliseconds settle;
    std::chrono::milliseconds prepare_limit;
    std::chrono::milliseconds take_limit;
    std::chrono::milliseconds safety_margin;
    std::size_t moves_at_a_time;
    bool bodies_end; // by themselves, now and then
};

struct scene {
    timeline& time;
    check::findings& found;
    check::journal& journal;
    check::operations& operations;
    check::queues& queues;
    check::holds& holds;
    check::watches& watches;
    check::guards& guards;
    check::shards& shards;
    check::members& members;
    check::rendezvous& rendezvous;
    std::string hosts;
    std::string chroot; // below which all places are
    std::chrono::milliseconds tick;
    std::chrono::milliseconds least_timeout; // of sessions
    std::chrono::milliseconds most_timeout;
    std::chrono::milliseconds surest_timeout; // no server grants less to somebody who asks for it
    bool onlookers = false;                   // look into queues, and ask holders to let go
    bool peers = false;                       // take mutexes in Curator's way
    bool too_small_ticks =
        false;            // client_options::tick is wrong, in the direction that is not safe
    bool several = false; // are taken at once: some are held while others are waited for
    rarity rare = rarity::none;
    std::set<std::int64_t> may_leave_nodes = {}; // sessions whose client has said so in its log
    std::vector<std::string> changing = {};      // nodes that programs watch
    bool guarded = false; // what programs create is for those with their credentials only
    std::set<const customer*> customers = {};
    std::vector<place> places;
    std::optional<shared_work> shared = {};
    std::string group = {}; // the path, where programs join one
    std::optional<check::rendezvous::place> meeting = {};
    std::vector<colock::errc> expected; // which say elsewhere that a program is wrong
    bool calm = false;                  // no more trouble, and nobody holds a lock for long
    bool draining = false;              // programs end what they do, and begin nothing
};

} // namespace world::workload
