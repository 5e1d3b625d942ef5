// Who a client is by SASL with Kerberos: real tickets of a key server (MIT's) that the test starts.
#include <colock/diagnostics.hpp>
#include <colock/mutex.hpp>
#include <support/kerberos.hpp>
#include <support/link.hpp>
#include <support/outcome.hpp>
#include <support/print.hpp>
#include <support/tcp_proxy.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;

// Cyrus' mechanism does not give back what it has acquired.
extern "C" const char* __lsan_default_suppressions() // NOLINT(bugprone-reserved-identifier)
{
    return "leak:gss_acquire_cred\n";
}

namespace {

struct scene {
    scene()
    {
        keys.give_a_ticket("bob");
        server = std::make_unique<zookeeper_server>(keys.server_options());
        proxy = std::make_unique<tcp_proxy>(server->connect_string());
        zk.emplace(io, options());
    }

    [[nodiscard]] client_options options() const
    {
        return {.hosts = "localhost:" + std::to_string(proxy->port()),
                .session_timeout = 10s,
                .connect_timeout = 20s,
                .tick = 500ms,
                .acl = creator_acl(),
                .sasl = {.mechanism = "GSSAPI"}};
    }
    error_code connect()
    {
        const outcome<> o;
        zk->async_connect(bind_diagnostics(why, o.handler()));
        return code_of(io, o);
    }
    void close()
    {
        const outcome<> o;
        zk->async_close(o.handler());
        value_of(io, o);
    }
    bool becomes(connection_state state)
    {
        return becomes_true(io, [&] { return zk->state() == state; });
    }

    kerberos keys{{"bob"}};
    std::unique_ptr<zookeeper_server> server;
    std::unique_ptr<tcp_proxy> proxy;
    asio::io_context io;
    std::optional<client> zk;
    diagnostics why;
};

} // namespace

BOOST_AUTO_TEST_SUITE(of_kerberos)

BOOST_FIXTURE_TEST_CASE(a_ticket_says_who_the_client_is, scene)
{
    BOOST_REQUIRE(!connect());
    mutex m{*zk, "/lock"};
    const outcome<unique_lock> locked;
    m.async_lock(locked.handler());
    auto held = value_of(io, locked);
    const outcome<acl_result> list;
    zk->async_get_acl(held.node(), list.handler());
    const access_control_list bobs{{permission_all, "sasl", "bob@" + keys.realm}};
    BOOST_TEST((value_of(io, list).acl == bobs));
    held = {};
    close();
}

// A connection outlives the ticket. The next one needs another: without one the client tries again, and holds its lock as
// long as the session lives.
BOOST_FIXTURE_TEST_CASE(a_ticket_may_expire_and_be_renewed, scene)
{
    keys.give_a_ticket("bob");
    BOOST_REQUIRE(!connect()); // the first login takes a server seconds
    close();
    zk.emplace(io, options());
    keys.give_a_ticket("bob", 6s);
    BOOST_REQUIRE(!connect());
    const auto session = zk->session_id();
    mutex m{*zk, "/lock"};
    const outcome<unique_lock> locked;
    m.async_lock(locked.handler());
    auto held = value_of(io, locked);
    go_on(io, 7s); // by the clock of the keys, which counts whole seconds
    BOOST_TEST((zk->state() == connection_state::connected));

    proxy->cut();
    BOOST_TEST(becomes(connection_state::suspended));
    BOOST_TEST(becomes_true(
        io, [&] { return zk->last_error_detail().find("SASL GSSAPI: ") != std::string::npos; }));
    BOOST_TEST(zk->last_error_detail().find("xpired") != std::string::npos,
               zk->last_error_detail());
    BOOST_TEST(static_cast<bool>(held));
    keys.give_a_ticket("bob");
    BOOST_TEST(becomes(connection_state::connected));
    BOOST_TEST(zk->session_id() == session);
    BOOST_TEST(static_cast<bool>(held));
    held = {};
    close();
}

// With a table of keys the library of Kerberos gets its tickets itself.
BOOST_FIXTURE_TEST_CASE(a_keytab_is_enough, scene)
{
    keys.take_tickets();
    ::setenv("KRB5_CLIENT_KTNAME", keys.keys_of("bob").c_str(), 1);
    BOOST_TEST(!connect());
    close();
    ::unsetenv("KRB5_CLIENT_KTNAME");
}

BOOST_FIXTURE_TEST_CASE(without_a_ticket_it_says_so, scene)
{
    keys.take_tickets();
    auto impatient = options();
    impatient.connect_timeout = 4s;
    zk.emplace(io, impatient);
    BOOST_TEST(connect() == errc::no_server);
    BOOST_TEST(why.message().find("SASL GSSAPI: ") != std::string::npos, why.message());
    BOOST_TEST(server->sessions().empty()); // which nobody would end
    close();
}

// It would live for as long as the client tries, and nobody else would get its lock.
BOOST_FIXTURE_TEST_CASE(without_a_ticket_the_session_ends, scene)
{
    auto short_lived = options();
    short_lived.session_timeout = 3s;
    zk.emplace(io, short_lived);
    BOOST_REQUIRE(!connect());
    mutex m{*zk, "/lock"};
    const outcome<unique_lock> locked;
    m.async_lock(locked.handler());
    const auto held = value_of(io, locked);
    keys.take_tickets();
    proxy->cut();
    BOOST_TEST(becomes_true(io, [&] { return server->sessions().empty(); }));
    BOOST_TEST(!held);
    keys.give_a_ticket("bob");
    BOOST_TEST(becomes(connection_state::connected));
    close();
}

// A key server that accepts, and says nothing: only its connection waits.
BOOST_FIXTURE_TEST_CASE(a_silent_key_server_holds_up_nobody, scene)
{
    asio::ip::tcp::acceptor silent{io, {asio::ip::address_v4::loopback(), 0}};
    keys.move_to(silent.local_endpoint().port());
    auto impatient = options();
    impatient.connect_timeout = 6s;
    zk.emplace(io, impatient);
    const outcome<> connected;
    zk->async_connect(connected.handler());
    asio::steady_timer timer{io};
    std::chrono::steady_clock::duration longest{0};
    for (int i = 0; i != 100; ++i) {
        const auto before = std::chrono::steady_clock::now();
        timer.expires_after(10ms);
        const outcome<> waited;
        timer.async_wait(waited.handler());
        run_until(io, [&] { return waited.done(); });
        longest = std::max(longest, std::chrono::steady_clock::now() - before);
    }
    BOOST_TEST(!connected.done());
    BOOST_TEST((longest < 1s));
    BOOST_TEST(code_of(io, connected) == errc::connect_timeout);
    close();
}

BOOST_AUTO_TEST_SUITE_END()
