// MariaDB refuses the late write of an earlier holder, and ends its transaction in time.
#include "store_server.hpp"

using namespace colock::test;

namespace {

struct mariadb : store_server {
    mariadb()
    {
        const auto server = find_program("mariadbd").empty() ? std::string{"/usr/sbin/mariadbd"}
                                                             : find_program("mariadbd");
        if (::access(server.c_str(), X_OK) != 0) {
            skip("mariadb-server is missing");
        }
        const auto data = "--datadir=" + directory() + "/data";
        run({"mariadb-install-db", "--no-defaults", data, "--skip-test-db",
             "--auth-root-authentication-method=normal"});
        start({server, "--no-defaults", data, "--port=" + port(), "--bind-address=127.0.0.1",
               "--socket=" + directory() + "/socket", "--pid-file=" + directory() + "/pid",
               "--innodb-buffer-pool-size=16M"},
              SIGTERM);
        BOOST_REQUIRE(wait_until([&] { return listens(); }, 60s));
    }

    fence_scene scene{"fenced_mariadb", "libmariadb-dev", port()};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fence_mariadb, mariadb)

BOOST_AUTO_TEST_CASE(a_late_write_is_refused)
{
    scene.late_write_is_refused();
}

BOOST_AUTO_TEST_CASE(a_stopped_transaction_is_ended)
{
    colock::test::a_stopped_transaction_is_ended(scene, "MariaDB");
}

BOOST_AUTO_TEST_CASE(a_transaction_that_goes_on_comes_first)
{
    colock::test::a_transaction_that_goes_on_comes_first(scene);
}

BOOST_AUTO_TEST_SUITE_END()
