// The test support on trial: what the other tests rely on must be true of a real server.
#include <support/admin_session.hpp>
#include <support/loopback_port.hpp>
#include <support/session_killer.hpp>
#include <support/subprocess.hpp>
#include <support/tcp_proxy.hpp>
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace colock::test::support_test {

using namespace std::chrono_literals;

namespace {

using mode = admin_session::mode;
using clock = std::chrono::steady_clock;

bool exists(std::string const& path)
{
    return std::filesystem::exists(path);
}

bool process_exists(pid_t pid)
{
    return ::kill(pid, 0) == 0;
}

auto with_code(int code)
{
    return [code](admin_error const& e) { return e.code() == code; };
}

// What a call that gets no answer comes to. Those that get one have all the time that they need.
template <class Call, class Check>
void check_unanswered(admin_session& session, Call call, Check check)
{
    session.set_deadline(1s);
    BOOST_CHECK_EXCEPTION(call(), admin_error, check);
    session.set_deadline(10s);
}

} // namespace

BOOST_AUTO_TEST_SUITE(support)

BOOST_AUTO_TEST_CASE(a_port_is_nobody_elses_while_it_is_reserved)
{
    std::vector<loopback_port> ports(50);
    std::set<std::uint16_t> numbers;
    for (auto const& port : ports) {
        numbers.insert(port.number());
        BOOST_TEST(!port.occupied());
    }
    BOOST_TEST(numbers.size() == ports.size());
}

BOOST_AUTO_TEST_CASE(a_child_process_is_started_heard_stopped_and_killed)
{
    subprocess_options options;
    options.capture_output = true;
    options.open_input = true;
    options.environment = {"GREETING=hello"};
    subprocess child({"sh", "-c", "echo $GREETING; read line; echo got $line; exit 7"}, options);
    BOOST_TEST(child.read_line(60s).value() == "hello");
    BOOST_TEST(!child.read_line(20ms));
    BOOST_TEST(child.stop());
    BOOST_TEST(child.write_input("it\n"));
    BOOST_TEST(!child.read_line(50ms)); // it stands still
    child.resume();
    BOOST_TEST(child.read_line(60s).value() == "got it");
    BOOST_TEST(child.wait().code == 7);
    BOOST_TEST(!child.read_line(60s));
    BOOST_TEST(child.end_of_output());

    subprocess sleeper({"sleep", "1000"});
    BOOST_TEST(!sleeper.wait_for(10ms));
    BOOST_TEST(sleeper.stop());
    sleeper.kill();
    BOOST_TEST(sleeper.wait().signal == SIGKILL);

    BOOST_CHECK_THROW(subprocess({"/no/such/program"}), std::runtime_error);
    subprocess_options nowhere;
    nowhere.working_directory = "/no/such/directory";
    BOOST_CHECK_THROW(subprocess({"true"}, nowhere), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(a_child_process_survives_the_thread_that_started_it)
{
    std::optional<subprocess> child;
    std::thread([&] { child.emplace(std::vector<std::string>{"sleep", "1000"}); }).join();
    BOOST_TEST(!child->wait_for(100ms));
}

BOOST_AUTO_TEST_CASE(a_child_process_inherits_no_descriptor)
{
    int ends[2];
    BOOST_REQUIRE(::pipe(ends) == 0); // without close-on-exec, as a careless library does it
    subprocess_options options;
    options.capture_output = true;
    subprocess child({"ls", "/proc/self/fd"}, options);
    std::vector<std::string> open;
    while (auto const line = child.read_line(60s))
        open.push_back(*line);
    BOOST_TEST(open == (std::vector<std::string>{"0", "1", "2", "3"})); // 3: the listing itself
    ::close(ends[0]);
    ::close(ends[1]);
}

BOOST_AUTO_TEST_CASE(a_server_keeps_its_data_and_port_over_a_kill)
{
    zookeeper_server server;
    admin_session admin(server.connect_string());
    auto const port = server.port();
    admin.create("/kept", "data");
    auto const first = server.pid();

    server.kill();
    BOOST_TEST(!server.running());
    BOOST_TEST(!server.serving());
    BOOST_TEST(!process_exists(first));
    BOOST_CHECK_THROW(server.four_letter_word("ruok"), std::runtime_error);

    server.start();
    BOOST_TEST(server.port() == port);
    BOOST_TEST(server.pid() != first);
    BOOST_TEST(server.mode() == "standalone");
    BOOST_TEST(admin.get("/kept") == "data");

    server.shutdown();
    BOOST_TEST(server.pid() == -1);
    server.restart();
    BOOST_TEST(admin.get("/kept") == "data");
}

BOOST_AUTO_TEST_CASE(a_server_that_cannot_start_says_why)
{
    zookeeper_options options;
    options.config_lines = {"tickTime=soon"};
    BOOST_CHECK_EXCEPTION(zookeeper_server server(options), std::runtime_error, [](auto const& e) {
        return std::string(e.what()).find("Invalid config") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(options_reach_the_server)
{
    zookeeper_options options;
    options.tick_time = 100ms;
    options.max_session_timeout = 60s;
    options.container_check_interval = 50ms;
    zookeeper_server server(options);
    admin_session admin(server.connect_string());
    BOOST_TEST((admin.session_timeout() == 30s));
    admin_session::options brief;
    brief.session_timeout = 1ms;
    BOOST_TEST((admin_session(server.connect_string(), brief).session_timeout() == 200ms));

    admin.create("/box", {}, mode::container);
    admin.create("/box/it");
    admin.remove("/box/it");
    BOOST_TEST(wait_until([&] { return !admin.exists("/box"); }, 60s));
}

BOOST_AUTO_TEST_CASE(a_stopped_server_is_silent_and_goes_on_later)
{
    zookeeper_server server;
    admin_session admin(server.connect_string());
    admin.create("/here");
    server.stop_process();
    BOOST_TEST(server.stopped());
    check_unanswered(
        admin, [&] { static_cast<void>(admin.exists("/here")); }, with_code(-4));
    server.continue_process();
    BOOST_TEST(wait_until([&] { return server.serving(); }, 60s));
    BOOST_TEST(admin_session(server.connect_string()).exists("/here").has_value());
}

BOOST_AUTO_TEST_CASE(the_server_tells_who_is_there)
{
    zookeeper_server server;
    admin_session admin(server.connect_string());
    auto const before = server.packets_received();
    BOOST_TEST(server.packets_received() == before); // its own questions do not count
    admin.create("/mine", {}, mode::ephemeral);
    admin.create("/seq-", {}, mode::persistent_sequential);
    BOOST_TEST(server.packets_received() == before + 2);

    auto const me = admin.session_id();
    BOOST_TEST(server.sessions().count(me) == 1u);
    BOOST_TEST(server.ephemerals().at(me).count("/mine") == 1u);
    auto const connections = server.connections();
    BOOST_REQUIRE(connections.size() == 1u);
    BOOST_TEST(connections[0].session == me);
    BOOST_TEST(connections[0].last_operation == "CREA");
    BOOST_TEST((connections[0].timeout == admin.session_timeout()));
    BOOST_TEST(server.watch_count() == 0);
    BOOST_TEST(server.watches().empty());
    admin.watch("/mine");
    BOOST_TEST(server.watch_count() == 1);
    BOOST_TEST(server.watches().at("/mine").count(me) == 1u);
    BOOST_TEST(server.mntr().at("zk_server_state") == "standalone");
    BOOST_TEST(server.four_letter_word("ruok") == "imok");
}

BOOST_AUTO_TEST_CASE(the_admin_session_does_its_operations)
{
    zookeeper_server server;
    admin_session admin(server.connect_string());
    admin.create_path("/a/b/c");
    admin.create_path("/a/b/c");
    BOOST_TEST(admin.create("/a/n-", "x", mode::persistent_sequential) == "/a/n-0000000001");
    BOOST_TEST(admin.children("/a") == (std::vector<std::string>{"b", "n-0000000001"}));
    BOOST_TEST(admin.set("/a", "new").version == 1);
    admin_session::stat details;
    BOOST_TEST(admin.get("/a", &details) == "new");
    BOOST_TEST(details.num_children == 2);
    BOOST_CHECK_EXCEPTION(admin.set("/a", "newer", 0), admin_error, with_code(-103));
    BOOST_CHECK_EXCEPTION(admin.remove("/a"), admin_error, with_code(-111));
    BOOST_CHECK_EXCEPTION(admin.create("/a"), admin_error, with_code(-110));
    BOOST_CHECK_EXCEPTION(admin.get("/none"), admin_error, with_code(-101));
    BOOST_TEST(!admin.exists("/none"));
    BOOST_TEST(!admin.remove_if_there("/none"));
    BOOST_TEST(admin.get_acl("/a").at(0).id == "anyone");
    admin.add_auth("digest", "somebody:secret");
    admin.set_acl("/a", {{31, "auth", ""}});
    BOOST_CHECK_EXCEPTION(admin_session(server.connect_string()).get("/a"), admin_error,
                          with_code(-102));
    BOOST_TEST(admin.get("/a") == "new");
    admin.sync();
    admin.remove_tree("/a");
    BOOST_TEST(!admin.exists("/a"));
}

BOOST_AUTO_TEST_CASE(a_session_is_killed_on_the_server)
{
    zookeeper_server server;
    admin_session victim(server.connect_string());
    admin_session other(server.connect_string());
    victim.create("/victim", {}, mode::ephemeral);
    auto const id = victim.session_id();
    auto const password = victim.password();

    BOOST_TEST(kill_session(server.connect_string(), id, "0123456789abcdef").has_value());
    BOOST_TEST(other.exists("/victim").has_value());

    BOOST_TEST(!kill_session(server.connect_string(), id, password));
    BOOST_TEST(!other.exists("/victim"));
    BOOST_TEST(server.sessions().count(id) == 0u);
    BOOST_CHECK_EXCEPTION(victim.ping(), admin_error, with_code(-112));

    BOOST_TEST(kill_session(server.connect_string(), id, password).has_value()); // unknown by now
    server.kill();
    BOOST_CHECK_THROW((void)kill_session(server.connect_string(), id, password),
                      std::runtime_error);
}

BOOST_AUTO_TEST_CASE(the_proxy_delays_and_keeps_the_pipeline)
{
    zookeeper_server server;
    tcp_proxy proxy(server.connect_string());
    proxy.set_delay(20ms);
    admin_session far(proxy.connect_string());
    std::vector<double> times;
    for (int i = 0; i < 100; ++i) {
        auto const begin = clock::now();
        far.ping();
        times.push_back(std::chrono::duration<double, std::milli>(clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    BOOST_TEST_MESSAGE("40 ms round trip: median " << times[50] << " ms, p99 " << times[98]);
    BOOST_TEST(times.front() >= 40.0);
    BOOST_TEST(times.front() < 60.0); // the best: the rest is anything on a busy machine

    // A four-letter word is no frame, and passes all the same.
    tcp_proxy again(proxy.connect_string());
    BOOST_TEST(admin_session(again.connect_string()).exists("/").has_value());
    BOOST_TEST(proxy.requests(opcode::ping) == 100u);
    BOOST_TEST(proxy.requests(opcode::connect) == 2u);
    BOOST_TEST(proxy.accepted() == 2u);
}

BOOST_AUTO_TEST_CASE(the_reply_to_a_chosen_create_is_lost)
{
    zookeeper_server server;
    tcp_proxy proxy(server.connect_string());
    admin_session admin(server.connect_string());
    admin_session client(proxy.connect_string());

    auto lost = proxy.on_reply(any_create(), reaction::drop_and_cut,
                               {.nth = 2, .path_prefix = "/chosen", .error = 0});
    client.create("/chosen-1");
    client.create("/other");
    BOOST_CHECK_EXCEPTION(client.create("/chosen-1"), admin_error, with_code(-110));
    BOOST_TEST(lost.fired() == 0u);
    BOOST_CHECK_EXCEPTION(client.create("/chosen-2"), admin_error, with_code(-4));
    BOOST_TEST(lost.wait(60s));
    BOOST_TEST(admin.exists("/chosen-2").has_value()); // the server did it
    client.create("/chosen-3");                        // the rule is spent
    BOOST_TEST(lost.fired() == 1u);
    BOOST_TEST(proxy.accepted() == 2u);
}

BOOST_AUTO_TEST_CASE(a_chosen_request_never_arrives)
{
    zookeeper_server server;
    tcp_proxy proxy(server.connect_string());
    admin_session admin(server.connect_string());
    admin_session client(proxy.connect_string());
    auto const before = proxy.requests(opcode::create);
    auto const cut =
        proxy.on_request(opcode::create, reaction::drop_and_cut, {.how = cut_kind::finish});
    BOOST_CHECK_EXCEPTION(client.create("/never"), admin_error, with_code(-4));
    BOOST_TEST(cut.wait(60s));
    BOOST_TEST(!admin.exists("/never"));
    BOOST_TEST(proxy.requests(opcode::create) == before);
    BOOST_TEST(!client.exists("/never")); // it has connected again, to the same session
    BOOST_TEST(proxy.live() == 1u);
}

BOOST_AUTO_TEST_CASE(a_reply_is_held_until_it_is_released)
{
    zookeeper_server server;
    tcp_proxy proxy(server.connect_string());
    admin_session admin(server.connect_string());
    auto held = proxy.on_reply(opcode::create, reaction::hold);
    auto creating = std::async(std::launch::async, [&] {
        admin_session client(proxy.connect_string());
        client.create("/held");
        return client.get("/held");
    });
    BOOST_TEST(held.wait(60s));
    BOOST_TEST(admin.exists("/held").has_value());
    BOOST_TEST((creating.wait_for(50ms) == std::future_status::timeout));
    held.release();
    BOOST_TEST(creating.get().empty());

    auto request = proxy.on_request(opcode::remove, reaction::hold);
    auto removing = std::async(std::launch::async,
                               [&] { admin_session(proxy.connect_string()).remove("/held"); });
    BOOST_TEST(request.wait(60s));
    BOOST_TEST(admin.exists("/held").has_value());
    proxy.clear_rules();
    removing.get();
    BOOST_TEST(!admin.exists("/held"));
}

BOOST_AUTO_TEST_CASE(a_watch_event_is_chosen_by_its_path)
{
    zookeeper_server server;
    tcp_proxy proxy(server.connect_string());
    admin_session admin(server.connect_string());
    admin_session client(proxy.connect_string());
    for (auto const* path : {"/one", "/two"}) {
        client.create(path);
        client.watch(path);
    }
    auto held = proxy.on_reply(opcode::notification, reaction::hold, {.path_prefix = "/two"});
    admin.remove("/one");
    BOOST_TEST(wait_until([&] { return proxy.replies(opcode::notification) == 1u; }, 60s));
    admin.remove("/two");
    BOOST_TEST(held.wait(60s));
    BOOST_TEST(proxy.replies(opcode::notification) == 1u);
    // Its reply is after the event.
    check_unanswered(
        client, [&] { client.sync(); }, [](const admin_error&) { return true; });
    held.release();
    BOOST_TEST(wait_until([&] { return proxy.replies(opcode::notification) == 2u; }, 60s));
}

BOOST_AUTO_TEST_CASE(connections_are_cut_refused_and_stalled)
{
    zookeeper_server server;
    tcp_proxy proxy(server.connect_string());
    admin_session client(proxy.connect_string());
    const auto any = [](const admin_error&) { return true; };
    for (auto how : {cut_kind::reset, cut_kind::finish}) {
        client.ping();
        BOOST_TEST(proxy.live() == 1u);
        BOOST_TEST(proxy.cut(how) == 1u);
        BOOST_TEST(proxy.live() == 0u);
        BOOST_TEST(wait_until([&] { return server.connections().empty(); }, 60s));
    }
    client.ping(); // the session went on

    proxy.refuse(true);
    client.ping(); // so does the connection
    proxy.cut();
    check_unanswered(
        client, [&] { client.ping(); }, any);
    auto const accepted = proxy.accepted();
    proxy.refuse(true, refusal::close_at_once);
    check_unanswered(
        client, [&] { client.ping(); }, any);
    BOOST_TEST(proxy.accepted() == accepted + 1);
    proxy.refuse(false);
    client.ping();

    for (auto where : {direction::to_server, direction::to_client}) {
        auto const arrived = proxy.requests(opcode::exists);
        proxy.stall(true, where);
        check_unanswered(
            client, [&] { static_cast<void>(client.exists("/")); }, any);
        BOOST_TEST(proxy.requests(opcode::exists) == arrived + (where == direction::to_client));
        proxy.stall(false, where);
        client.ping();
    }
    proxy.stall(true);
    auto waiting = std::async(std::launch::async,
                              [&] { return admin_session(proxy.connect_string()).children("/"); });
    BOOST_TEST((waiting.wait_for(50ms) == std::future_status::timeout));
    proxy.stall(false);
    BOOST_TEST(waiting.get().size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_proxy_goes_to_another_server)
{
    zookeeper_server first;
    zookeeper_server second;
    tcp_proxy proxy(first.connect_string());
    admin_session(first.connect_string()).create("/which", "first");
    admin_session(second.connect_string()).create("/which", "second");
    BOOST_TEST(admin_session(proxy.connect_string()).get("/which") == "first");
    proxy.set_target(second.connect_string());
    BOOST_TEST(admin_session(proxy.connect_string()).get("/which") == "second");
    second.kill();
    BOOST_CHECK_THROW(admin_session{proxy.connect_string()}, admin_error);
    BOOST_CHECK_THROW(proxy.set_target("nowhere"), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(the_proxy_knows_the_sessions)
{
    zookeeper_server server;
    tcp_proxy proxy(server.connect_string());
    proxy.log_frames(true);
    admin_session client(proxy.connect_string());
    client.create("/gone", {}, mode::ephemeral);
    auto const sessions = proxy.sessions();
    BOOST_REQUIRE(sessions.size() == 1u);
    BOOST_TEST(sessions[0].id == client.session_id());
    BOOST_TEST(!kill_session(server.connect_string(), sessions[0]));
    BOOST_CHECK_EXCEPTION(client.ping(), admin_error, with_code(-112));
    BOOST_TEST(!admin_session(server.connect_string()).exists("/gone"));
    auto const log = proxy.frame_log();
    BOOST_TEST(std::any_of(log.begin(), log.end(), [](auto const& line) {
        return line.find("-> create xid 1 /gone") != std::string::npos;
    }));
}

BOOST_AUTO_TEST_CASE(an_ensemble_elects_another_leader_soak, *boost::unit_test::disabled())
{
    zookeeper_options options;
    options.tick_time = 500ms;
    zookeeper_ensemble ensemble(options);
    auto const first = ensemble.leader();
    BOOST_REQUIRE(first.has_value());
    BOOST_TEST(ensemble.followers().size() == 2u);
    admin_session admin(ensemble.connect_string());
    admin.create("/kept");

    ensemble[*first].kill();
    auto const second = ensemble.wait_for_leader();
    BOOST_TEST(second != *first);
    BOOST_TEST(admin_session(ensemble.connect_string()).exists("/kept").has_value());

    // The others give a silent leader up only after sync_limit ticks, here 3 s.
    ensemble.start_missing();
    ensemble[second].stop_process();
    auto const third = ensemble.wait_for_leader();
    BOOST_TEST(third != second);
    ensemble[second].continue_process();
    ensemble.wait_until_complete();
    BOOST_TEST(ensemble.leader().value() == third);
    for (std::size_t i = 0; i < ensemble.size(); ++i) {
        admin_session each(ensemble[i].connect_string());
        each.sync();
        BOOST_TEST(each.exists("/kept").has_value());
    }
}

BOOST_AUTO_TEST_CASE(nothing_is_left_behind)
{
    std::vector<pid_t> processes;
    std::vector<std::string> directories;
    auto const note = [&](zookeeper_server const& server) {
        processes.push_back(server.pid());
        directories.push_back(server.directory());
        BOOST_TEST(process_exists(processes.back()));
        BOOST_TEST(exists(directories.back()));
    };
    {
        zookeeper_server plain;
        zookeeper_server stopped;
        zookeeper_ensemble ensemble;
        note(plain);
        note(stopped);
        for (std::size_t i = 0; i < ensemble.size(); ++i)
            note(ensemble[i]);
        stopped.stop_process();
        ensemble[1].stop_process();
    }
    for (auto pid : processes)
        BOOST_TEST(!process_exists(pid));
    for (auto const& directory : directories)
        BOOST_TEST(!exists(directory));
}

BOOST_AUTO_TEST_CASE(the_directory_of_a_dead_process_is_removed_by_the_next)
{
    temporary_directory const mine;
    auto const parent = std::filesystem::path(mine.path()).parent_path();
    auto const abandoned = (parent / "colock-test-0-abandoned").string();
    std::filesystem::create_directories(abandoned + "/data");
    {
        temporary_directory const next;
        BOOST_TEST(!exists(abandoned));
        BOOST_TEST(exists(mine.path()));
        BOOST_TEST(exists(next.path()));
    }
    BOOST_TEST(exists(mine.path()));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::support_test
