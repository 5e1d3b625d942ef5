#ifndef COLOCK_TEST_SUPPORT_SNAPSHOT_HPP
#define COLOCK_TEST_SUPPORT_SNAPSHOT_HPP

#include <cstdint>
#include <map>
#include <string>

namespace colock::test {

class zookeeper_server;

/// Sets the counters from which a server numbers the sequential children of nodes: a place where it would take
/// weeks to get by creating nodes.
/**
 * The nodes exist. The server is stopped and started, without its clients' sessions being ended; what is changed
 * is its snapshot. It has to run without digests (`-Dzookeeper.digest.enabled=false`), which would be wrong.
 */
void set_sequence_counters(zookeeper_server& server,
                           std::map<std::string, std::int32_t> const& counters);

} // namespace colock::test

#endif
