// What an answer of the servers says of a lock's directory.
#pragma once

#include "protocol/contender.hpp"
#include "zk/call.hpp"

namespace colock::detail {

[[nodiscard]] inline protocol::directory_state directory_in(const node_stat& s)
{
    return {.czxid = s.czxid, .version = s.version, .children = s.num_children};
}

// Refers to the reply.
[[nodiscard]] inline protocol::contender::listing listing_in(const zk::reply& r)
{
    return {.children = r.names, .directory = directory_in(r.stat)};
}

} // namespace colock::detail
