// Other libraries through `colock serve`, as test/interop has them through ZooKeeper: what each of them has of locks.
#include <support/admin_session.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>

#include "colock_process.hpp"
#include "interop/peer_process.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace colock::test {

namespace {

struct scene {
    scene()
    {
        address = server.read_line(patience).value_or("");
        BOOST_REQUIRE(!address.empty());
    }

    // Null where the library is not on this machine.
    std::unique_ptr<peer> start(const std::string& name)
    {
        const auto program = std::string{COLOCK_PEERS} + '/' + name;
        if (!std::filesystem::exists(program)) {
            BOOST_TEST_MESSAGE("skipped: there is no " << name);
            return nullptr;
        }
        return std::make_unique<peer>(std::vector<std::string>{program}, address);
    }

    void take_turns(const std::string& name, const std::string& other)
    {
        const auto one = start(name);
        const auto two = start(other);
        if (!one || !two) {
            return;
        }
        admin_session admin{address};
        admin.create_path("/locks/turns");
        admin.create_path("/counter");
        admin.set("/counter", "0");
        one->tell("turns /locks/turns 30 /counter");
        two->tell("turns /locks/turns 30 /counter");
        one->expect("done");
        two->expect("done");
        BOOST_TEST(admin.get("/counter") == "60");
        admin.remove("/counter");
    }

    subprocess server{{COLOCK_PROGRAM, "serve", "--port", "0", "--quiet"},
                      {.capture_output = true}};
    std::string address;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(served_peers, scene)

BOOST_AUTO_TEST_CASE(mutexes_take_turns)
{
    for (const auto* name : {"curator", "kazoo", "go-zookeeper", "zookeeper-recipe"}) {
        BOOST_TEST_CONTEXT(name)
        {
            take_turns(name, name);
        }
    }
}

BOOST_AUTO_TEST_CASE(curators_recipes_work)
{
    const auto one = start("curator");
    const auto two = start("curator");
    if (!one || !two) {
        return;
    }
    one->ask("read-lock /rw", "locked");
    two->ask("read-lock /rw", "locked");
    two->ask("read-unlock /rw", "unlocked");
    BOOST_TEST(!two->ask("try-write /rw 200", "busy").size());
    one->ask("read-unlock /rw", "unlocked");
    two->ask("write-lock /rw", "locked");
    two->ask("write-unlock /rw", "unlocked");

    one->ask("acquire /semaphore 2 2", "acquired");
    two->ask("try-acquire /semaphore 2 1 200", "busy");
    one->ask("release /semaphore 1", "released");
    two->ask("acquire /semaphore 2 1", "acquired");

    one->ask("set-count /count 1", "set");
    one->ask("acquire-counted /counted /count 1", "acquired");
    one->ask("release /counted 1", "released");

    one->ask("latch /leader one", "latched");
    BOOST_TEST(one->ask("await-leader /leader 10000", "leading").empty());
    two->ask("latch /leader two", "latched");
    BOOST_TEST(two->ask("participants /leader", "participants") == "one two");
    one->ask("unlatch /leader", "unlatched");
    two->ask("await-leader /leader 10000", "leading");

    const auto node = one->ask("lock-revocable /revocable", "locked");
    two->ask("revoke " + node, "revoked");
    one->ask("await-revocation /revocable 10000", "asked");
    one->ask("unlock /revocable", "unlocked");

    one->ask("multi-lock /m1 /m2", "locked");
    one->ask("multi-unlock", "unlocked");

    one->ask("set-barrier /barrier", "set");
    two->ask("wait-on-barrier /barrier 200", "shut");
    two->tell("wait-on-barrier /barrier 20000");
    BOOST_TEST(two->waits());
    one->ask("remove-barrier /barrier", "removed");
    two->expect("passed");

    one->tell("enter /double 2 20000");
    BOOST_TEST(one->waits());
    two->ask("enter /double 2 20000", "entered");
    one->expect("entered");
    one->tell("leave /double 20000");
    BOOST_TEST(one->waits());
    two->ask("leave /double 20000", "left");
    one->expect("left");
}

#ifdef COLOCK_TEST_TLS
// ZooKeeper's client in Java, with a certificate. Netty, which it needs for that, is no part of the programs.
BOOST_AUTO_TEST_CASE(javas_client_speaks_tls)
{
    const temporary_directory made;
    const auto file = [&](const char* name) { return made.path() + "/tls/" + name; };
    subprocess secure{
        {COLOCK_PROGRAM, "serve", "--port", "0", "--quiet", "--tls", made.path() + "/tls"},
        {.capture_output = true}};
    const auto at = secure.read_line(patience).value_or("");
    BOOST_REQUIRE(!at.empty());
    write_file(file("both.pem"), file_text(file("client.pem")) + file_text(file("client.key")));
    std::string netty;
    for (const auto* part : {"buffer", "codec", "common", "handler", "resolver", "transport"}) {
        netty += (netty.empty() ? "" : ":") + std::string{"/usr/share/java/netty-"} + part + ".jar";
        if (!std::filesystem::exists(netty.substr(netty.rfind(':') + 1))) {
            BOOST_TEST_MESSAGE("skipped: there is no Netty");
            return;
        }
    }
    const auto options = "JAVA_TOOL_OPTIONS=-Dzookeeper.client.secure=true "
                         "-Dzookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty "
                         "-Dzookeeper.ssl.keyStore.location=" +
                         file("both.pem") +
                         " -Dzookeeper.ssl.trustStore.location=" + file("ca.pem") +
                         " -Xbootclasspath/a:" + netty;
    for (const auto* name : {"curator", "zookeeper-recipe"}) {
        const auto program = std::string{COLOCK_PEERS} + '/' + name;
        if (std::filesystem::exists(program)) {
            peer one{{"env", options, program}, at};
            peer two{{"env", options, program}, at};
            one.ask("lock /locks/m", "locked");
            two.tell("lock /locks/m");
            BOOST_TEST(two.waits());
            one.ask("unlock /locks/m", "unlocked");
            two.expect("locked");
            two.ask("unlock /locks/m", "unlocked");
        }
    }
}
#endif

// A session ends some time after its client was killed.
BOOST_AUTO_TEST_CASE(a_killed_holder_is_followed)
{
    for (const auto* name : {"curator", "kazoo", "go-zookeeper"}) {
        BOOST_TEST_CONTEXT(name)
        {
            const auto one = start(name);
            const auto two = start(name);
            if (one && two) {
                one->ask("lock /killed", "locked");
                two->tell("lock /killed");
                BOOST_TEST(two->waits());
                one->kill();
                two->expect("locked");
                two->ask("unlock /killed", "unlocked");
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(kazoos_recipes_work)
{
    const auto one = start("kazoo");
    const auto two = start("kazoo");
    if (!one || !two) {
        return;
    }
    one->ask("read-lock /rw", "locked");
    two->ask("read-lock /rw", "locked");
    one->ask("read-unlock /rw", "unlocked");
    two->ask("read-unlock /rw", "unlocked");
    two->ask("write-lock /rw", "locked");
    two->ask("write-unlock /rw", "unlocked");
    one->ask("acquire /semaphore 1", "acquired");
    two->tell("acquire /semaphore 1");
    BOOST_TEST(two->waits());
    one->ask("release /semaphore", "released");
    two->expect("acquired");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test
