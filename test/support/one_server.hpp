#ifndef COLOCK_TEST_SUPPORT_ONE_SERVER_HPP
#define COLOCK_TEST_SUPPORT_ONE_SERVER_HPP

#include "admin_session.hpp"
#include "link.hpp"
#include "zookeeper_server.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace colock::test {

/// A server that all cases of a suite share: `BOOST_AUTO_TEST_SUITE(name, *fixture<one_server>())`.
/**
 * Each case works below a node of its own, see `own_node()`, and asks the server only about its own
 * sessions and paths; one that stops or restarts a server starts its own.
 */
class one_server {
public:
    void setup()
    {
        using namespace std::chrono_literals;
        zookeeper_options options;
        options.tick_time = 500ms; // sessions from 1 to 10 s
        options.extended_types = true;
        options.container_check_interval = 100ms;
        running() = std::make_unique<zookeeper_server>(link_servers(options));
    }
    void teardown() { running().reset(); }

    static zookeeper_server& get() { return *running(); }

private:
    static std::unique_ptr<zookeeper_server>& running()
    {
        static std::unique_ptr<zookeeper_server> server;
        return server;
    }
};

/// A node with the name of the current test case, made if need be.
inline std::string own_node(zookeeper_server& server = one_server::get())
{
    auto const path = "/" + boost::unit_test::framework::current_test_case().p_name.get();
    admin_session(server.connect_string()).create_path(path);
    return path;
}

} // namespace colock::test

#endif
