// What an endurance run measures: of this process, and of the server.
#ifndef COLOCK_TEST_ENDURANCE_FIGURES_HPP
#define COLOCK_TEST_ENDURANCE_FIGURES_HPP

#include <support/zookeeper_server.hpp>

#include <cstdint>

namespace endurance {

struct figures {
    std::int64_t resident = 0;    ///< Memory of this process, in bytes.
    std::int64_t heap = 0;        ///< Bytes of it that are in use.
    std::int64_t descriptors = 0; ///< Open descriptors of this process.
    std::int64_t connections = 0; ///< At the server, without its administrative ones.
    std::int64_t watches = 0;     ///< At the server.
    std::int64_t ephemerals = 0;  ///< Nodes at the server that belong to a session.
};

figures measure(const colock::test::zookeeper_server& server);

} // namespace endurance

#endif
