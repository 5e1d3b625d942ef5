// Who a client is by SASL with Kerberos: real tickets of a key server (MIT's) that the test starts.
#include <colock/diagnostics.hpp>
#include <colock/mutex.hpp>
#include <support/link.hpp>
#include <support/loopback_port.hpp>
#include <support/outcome.hpp>
#include <support/print.hpp>
#include <support/sasl_servers.hpp>
#include <support/subprocess.hpp>
#include <support/tcp_proxy.hpp>
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;

// Cyrus' mechanism does not give back what it has acquired.
extern "C" const char* __lsan_default_suppressions() // NOLINT(bugprone-reserved-identifier)
{
    return "leak:gss_acquire_cred\n";
}

namespace {

const std::string realm = "COLOCK.TEST";

void set(const char* name, const std::string& value)
{
    ::setenv(name, value.c_str(), 1);
}

// The files of a realm, whose keys are at this port.
void write_configuration(const std::string& at, std::uint16_t port)
{
    const auto address = "127.0.0.1:" + std::to_string(port);
    std::ofstream{at + "/krb5.conf"}
        << "[libdefaults]\n default_realm = " << realm
        << "\n dns_lookup_kdc = false\n dns_canonicalize_hostname = false\n"
           " rdns = false\n udp_preference_limit = 1\n[realms]\n "
        << realm << " = {\n  kdc = " << address << "\n }\n";
    std::ofstream{at + "/kdc.conf"} << "[kdcdefaults]\n kdc_listen = " << address
                                    << "\n kdc_tcp_listen = " << address << "\n[realms]\n " << realm
                                    << " = {\n  database_name = " << at
                                    << "/principal\n  key_stash_file = " << at << "/stash\n }\n";
}

void run_program(const std::vector<std::string>& command)
{
    subprocess program{command, {.capture_output = true}};
    if (!program.wait().success()) {
        throw std::runtime_error(command.front() + " failed");
    }
}

// A realm with bob, a ZooKeeper server, and a directory of tickets.
class kerberos {
public:
    kerberos()
    {
        write_configuration(files.path(), port_.number());
        set("KRB5_CONFIG", files.path() + "/krb5.conf");
        set("KRB5_KDC_PROFILE", files.path() + "/kdc.conf");
        set("KRB5CCNAME", "FILE:" + files.path() + "/tickets");
        run_program({"kdb5_util", "create", "-s", "-r", realm, "-P", "master"});
        for (const std::string who : {"bob", "zookeeper/localhost"}) {
            run_program({"kadmin.local", "-r", realm, "-q", "addprinc -randkey " + who});
        }
        run_program({"kadmin.local", "-r", realm, "-q", "ktadd -k " + bobs_keys() + " bob"});
        run_program({"kadmin.local", "-r", realm, "-q",
                     "ktadd -k " + files.path() + "/server.keytab zookeeper/localhost"});
        keys_.emplace(std::vector<std::string>{"krb5kdc", "-n", "-r", realm});
        if (!wait_until([this] { return port_.occupied(); }, 10s)) {
            throw std::runtime_error("krb5kdc does not listen");
        }
    }

    [[nodiscard]] std::string bobs_keys() const { return files.path() + "/bob.keytab"; }
    void give_bob_a_ticket(std::chrono::seconds lifetime = 600s) const
    {
        run_program({"kinit", "-l", std::to_string(lifetime.count()) + "s", "-k", "-t", bobs_keys(),
                     "bob"});
    }
    static void take_all_tickets() { run_program({"kdestroy", "-q"}); }

    [[nodiscard]] zookeeper_options server_options() const
    {
        auto options = asks_by_sasl(
            files.path(), "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true"
                          " storeKey=true useTicketCache=false keyTab=\"" +
                              files.path() + "/server.keytab\" principal=\"zookeeper/localhost@" +
                              realm + '"');
        options.jvm_flags.push_back("-Djava.security.krb5.conf=" + files.path() + "/krb5.conf");
        return options;
    }

    const temporary_directory files;

private:
    const loopback_port port_;
    std::optional<subprocess> keys_;
};

struct scene {
    scene()
    {
        keys.give_bob_a_ticket();
        server = std::make_unique<zookeeper_server>(keys.server_options());
        proxy = std::make_unique<tcp_proxy>(server->connect_string());
        zk.emplace(io, options());
    }

    [[nodiscard]] client_options options() const
    {
        return {.hosts = "localhost:" + std::to_string(proxy->port()),
                .session_timeout = 5s,
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

    kerberos keys;
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
    const access_control_list bobs{{permission_all, "sasl", "bob@" + realm}};
    BOOST_TEST((value_of(io, list).acl == bobs));
    held = {};
    close();
}

// A connection outlives the ticket. The next one needs another: without one the client tries again, and holds its lock as
// long as the session lives.
BOOST_FIXTURE_TEST_CASE(a_ticket_may_expire_and_be_renewed, scene)
{
    keys.give_bob_a_ticket(3s);
    BOOST_REQUIRE(!connect());
    const auto session = zk->session_id();
    mutex m{*zk, "/lock"};
    const outcome<unique_lock> locked;
    m.async_lock(locked.handler());
    auto held = value_of(io, locked);
    go_on(io, 4s); // by the clock of the keys, which counts whole seconds
    BOOST_TEST((zk->state() == connection_state::connected));

    proxy->cut();
    BOOST_TEST(becomes(connection_state::suspended));
    BOOST_TEST(becomes_true(
        io, [&] { return zk->last_error_detail().find("SASL GSSAPI: ") != std::string::npos; }));
    BOOST_TEST(zk->last_error_detail().find("xpired") != std::string::npos,
               zk->last_error_detail());
    BOOST_TEST(static_cast<bool>(held));
    keys.give_bob_a_ticket();
    BOOST_TEST(becomes(connection_state::connected));
    BOOST_TEST(zk->session_id() == session);
    BOOST_TEST(static_cast<bool>(held));
    held = {};
    close();
}

// With a table of keys the library of Kerberos gets its tickets itself.
BOOST_FIXTURE_TEST_CASE(a_keytab_is_enough, scene)
{
    kerberos::take_all_tickets();
    set("KRB5_CLIENT_KTNAME", keys.bobs_keys());
    BOOST_TEST(!connect());
    close();
    ::unsetenv("KRB5_CLIENT_KTNAME");
}

BOOST_FIXTURE_TEST_CASE(without_a_ticket_it_says_so, scene)
{
    kerberos::take_all_tickets();
    auto impatient = options();
    impatient.connect_timeout = 1s;
    zk.emplace(io, impatient);
    BOOST_TEST(connect() == errc::no_server);
    BOOST_TEST(why.message().find("SASL GSSAPI: ") != std::string::npos, why.message());
    close();
}

// A key server that accepts, and says nothing: only its connection waits.
BOOST_FIXTURE_TEST_CASE(a_silent_key_server_holds_up_nobody, scene)
{
    asio::ip::tcp::acceptor silent{io, {asio::ip::address_v4::loopback(), 0}};
    write_configuration(keys.files.path(), silent.local_endpoint().port());
    auto impatient = options();
    impatient.connect_timeout = 2s;
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
