// Servers that refuse clients, or what locks need: everybody ends soon, with the same error, and the text says what to do.
#include <support/blocking_socket.hpp>
#include <support/outcome.hpp>
#include <support/run.hpp>
#include <support/zookeeper_server.hpp>

#include "../integration/lockable_kinds.hpp"
#include "colock_process.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace colock::test::cli_refusing_test {

using namespace std::chrono_literals;

namespace {

// Serves none but those who have shown a password.
zookeeper_server& demanding_server()
{
    static zookeeper_server server{{.jvm_flags = {"-Dzookeeper.enforce.auth.enabled=true",
                                                  "-Dzookeeper.enforce.auth.schemes=digest"}}};
    return server;
}

constexpr auto demanded = zookeeper_errc::session_closed_require_sasl_auth;

} // namespace

BOOST_AUTO_TEST_SUITE(cli_refusing)

BOOST_AUTO_TEST_CASE_TEMPLATE(every_kind_of_lock_ends_where_an_identity_is_demanded, Kind, kinds)
{
    asio::io_context io;
    client zk{io, {.hosts = demanding_server().connect_string()}};
    const outcome<> connected;
    zk.async_connect(connected.handler());
    BOOST_TEST(!code_of(io, connected));
    outcome<typename Kind::guard> o;
    diagnostics why;
    Kind{zk, "/lock"}.lock(bind_diagnostics(why, o.handler()));
    BOOST_TEST(code_of(io, o) == demanded);
    BOOST_TEST(has(why.message(), "/lock"), why.message());
    run_until(io, [&] { return zk.state() == connection_state::idle; });
}

BOOST_AUTO_TEST_CASE(a_network_that_cannot_be_reached_is_no_server_that_refuses)
{
    subprocess possible{{"unshare", "--map-root-user", "--net", "true"}};
    if (!possible.wait().success()) {
        BOOST_TEST_MESSAGE("no network namespaces here");
        return;
    }
    for (const std::string tls : {"", " --tls"}) {
        subprocess p{{"sh", "-c",
                      "exec unshare --map-root-user --net " COLOCK_PROGRAM
                      " run --servers 127.0.0.1:2181 --connect-timeout 500ms" +
                          tls + " /lock -- true 2>&1"},
                     {.capture_output = true}};
        BOOST_TEST(has(p.read_line(long_enough).value_or(""), "Network is unreachable"), tls);
        BOOST_TEST(p.wait().code == 121);
    }
}

BOOST_AUTO_TEST_CASE(a_refused_client_connects_again_when_it_is_asked_to_and_can_say_who_it_is)
{
    asio::io_context io;
    client zk{io, {.hosts = demanding_server().connect_string()}};
    const auto connects = [&] {
        const outcome<> o;
        zk.async_connect(o.handler());
        return code_of(io, o);
    };
    BOOST_TEST(!connects());
    const outcome<children_result> refused;
    zk.async_children("/", refused.handler());
    BOOST_TEST(code_of(io, refused) == demanded);
    run_until(io, [&] { return zk.state() == connection_state::idle; });
    BOOST_TEST(has(zk.last_error_detail(), "takes none that this client has"),
               zk.last_error_detail());
    BOOST_TEST(zk.stats().connections == 1U); // it has tried no other by itself
    BOOST_TEST(!connects());
    const outcome<> added; // before the first request
    zk.async_add_credentials("digest", "me:secret", added.handler());
    BOOST_TEST(!code_of(io, added));
    const outcome<children_result> served;
    zk.async_children("/", served.handler());
    BOOST_TEST(!code_of(io, served));
}

BOOST_AUTO_TEST_CASE(every_command_ends_and_names_the_option)
{
    const auto servers = demanding_server().connect_string();
    const std::vector<std::string> rows[] = {
        {"run", "/lock", "--", "true"},
        {"run", "--try", "/lock", "--", "true"},
        {"run", "--timeout", "30s", "/lock", "--", "true"},
        {"run", "--shared", "/lock", "--", "true"},
        {"run", "--permits", "1/2", "/permits", "--", "true"},
        {"run", "--permits", "1/2", "--timeout", "30s", "/permits", "--", "true"},
        {"elect", "/leader", "--", "true"},
        {"ls", "/"},
        {"why", "/lock"},
        {"revoke", "/lock"},
        {"break", "--yes", "/lock"},
        {"bench", "--seconds", "1"},
    };
    for (const auto& row : rows) {
        const auto r = run_colock(servers, row);
        BOOST_TEST(r.status == 122, row[0] << ' ' << row[1] << ": " << r.err);
        BOOST_TEST(has(r.err, "use --sasl, --auth or --tls-cert"), r.err);
        BOOST_TEST(is_one_line(r.err), r.err);
    }
    for (const std::vector<std::string>& row :
         {std::vector<std::string>{"doctor"}, {"doctor", "/lock"}, {"doctor", "--json", "/lock"}}) {
        const auto r = run_colock(servers, row);
        BOOST_TEST(r.status == 1, r.out);
        BOOST_TEST(has(r.out, "use --sasl, --auth or --tls-cert"), r.out);
        BOOST_TEST(has(r.out, "error"), r.out);
    }
    const std::vector<std::string> identity{"COLOCK_AUTH=digest me:secret"};
    BOOST_TEST(run_colock(servers, rows[0], identity).status == 0);
    BOOST_TEST(run_colock(servers, rows[4], identity).status == 0);
    const auto healthy = run_colock(servers, {"doctor", "/"}, identity);
    BOOST_TEST(healthy.status == 0, healthy.out);
}

BOOST_AUTO_TEST_CASE(the_doctor_tells_of_too_many_connections)
{
    const zookeeper_server server{{.config_lines = {"maxClientCnxns=1"}}};
    const blocking_socket only{colock::test::parse_hosts(server.connect_string()).front(),
                               after(10s)};
    const auto r = run_colock(server.connect_string(), {"doctor"});
    BOOST_TEST(r.status == 1);
    BOOST_TEST(has(r.out, "maxClientCnxns in its zoo.cfg"), r.out);
    BOOST_TEST(!has(r.out, "start it"), r.out);
}

BOOST_AUTO_TEST_CASE(the_doctor_tells_of_a_throttle)
{
    const zookeeper_server server{
        {.jvm_flags = {"-Dzookeeper.connection_throttle_tokens=1",
                       "-Dzookeeper.connection_throttle_fill_time=600000"}}};
    const auto servers = server.connect_string();
    BOOST_TEST(run_colock(servers, {"ls", "/"}).status == 1); // takes the only token
    const auto r = run_colock(servers, {"doctor"});
    BOOST_TEST(r.status == 1);
    BOOST_TEST(has(r.out, "throttles"), r.out);
    BOOST_TEST(!has(r.out, "start it"), r.out);
}

// Three servers, because one alone makes all its sessions known to itself.
BOOST_AUTO_TEST_CASE(the_doctor_tells_of_local_sessions_and_of_servers_without_a_quorum)
{
    zookeeper_ensemble ensemble{
        {.config_lines = {"localSessionsEnabled=true", "localSessionsUpgradingEnabled=false"},
         .jvm_flags = {"-Dreadonlymode.enabled=true"}}};
    const auto servers = ensemble.connect_string();
    const auto local = run_colock(servers, {"doctor", "/"});
    BOOST_TEST(local.status == 1);
    BOOST_TEST(has(local.out, "localSessionsUpgradingEnabled=true"), local.out);
    BOOST_TEST(has(local.out, "leftover"), local.out); // it goes on
    BOOST_TEST(has(local.out, " requests in "), local.out);
    const auto run = run_colock(servers, {"run", "/lock", "--", "true"});
    BOOST_TEST(run.status == 122, run.err);
    BOOST_TEST(has(run.err, "localSessionsUpgradingEnabled=true"), run.err);

    ensemble[1].kill();
    ensemble[2].kill();
    const auto alone = ensemble[0].connect_string();
    colock_result r;
    const auto says = [&](const char* what) {
        r = run_colock(alone, {"doctor"});
        return has(r.out, what);
    };
    BOOST_TEST(wait_until([&] { return says("read-only") && says("has lost its quorum"); }, 30s),
               r.out);
    BOOST_TEST(!has(r.out, "start it"), r.out);
}

BOOST_AUTO_TEST_CASE(lists_of_servers_may_be_written_as_for_other_clients)
{
    const zookeeper_server server;
    const auto one = server.connect_string();
    BOOST_TEST(run_colock(" " + one + " , " + one, {"run", "/lock", "--", "true"}).status == 0);
    for (const auto& list : {" " + one + " ", one + ",", one + " , /"}) {
        BOOST_TEST(run_colock(list, {"run", "/lock", "--", "true"}).status == 0, list);
        BOOST_TEST(run_colock(list, {"doctor"}).status == 0, list);
    }
    for (const auto* command : {"ls", "doctor", "why"}) {
        const auto r = run_colock("http://" + one + "/x", {command, "/"});
        BOOST_TEST(r.status == 125);
        BOOST_TEST(has(r.err, "without \"http://\""), r.err);
        BOOST_TEST(is_one_line(r.err), r.err);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_refusing_test
