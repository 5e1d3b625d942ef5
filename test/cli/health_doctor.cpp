// `colock doctor`, with servers that suit and with others that do not.
#include <colock/client.hpp>
#include <support/admin_session.hpp>
#include <support/loopback_port.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include "doctor_findings.hpp"
#include "health/findings.hpp"
#include "health/session_look.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>

namespace colock::test::health_doctor_test {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

struct one_plain_server {
    void setup() { server() = std::make_unique<zookeeper_server>(zookeeper_options{}); }
    void teardown() { server().reset(); }

    static std::unique_ptr<zookeeper_server>& server()
    {
        static std::unique_ptr<zookeeper_server> running;
        return running;
    }
};

zookeeper_server& server()
{
    return *one_plain_server::server();
}

// Nodes and sessions; the latter but for those of a look that was interrupted while it connected, which time out.
void check_nothing_is_left(std::int64_t nodes_before)
{
    BOOST_TEST(wait_until([&] { return server().node_count() == nodes_before; },
                          std::chrono::seconds{20}));
    BOOST_TEST(wait_until([] { return server().sessions().empty(); }, std::chrono::seconds{60}));
}

} // namespace

BOOST_AUTO_TEST_SUITE(health_doctor, *boost::unit_test::fixture<one_plain_server>())

BOOST_AUTO_TEST_CASE(a_server_that_suits_gets_no_error)
{
    const auto nodes = server().node_count();
    const auto r = run_colock(server().connect_string(), {"doctor"});
    BOOST_TEST(r.status == 0);
    BOOST_TEST(r.err.empty());
    BOOST_TEST(has(r.out, "ok       server      " + server().connect_string() + " answers"), r.out);
    BOOST_TEST(has(r.out, "\nno errors, 1 warning; "), r.out);

    const auto l = look(server().connect_string());
    BOOST_TEST(l.status == 0);
    BOOST_TEST(has(l.about("leader"), "warning: one server alone"));
    BOOST_TEST(has(l.about("tick"), "ok: tickTime is 2.0 s"));
    BOOST_TEST(has(l.about("session"), "ok: sessions last from 4.0 s up to 40.0 s"));
    BOOST_TEST(has(l.about("latency"), "ok: a read takes "));
    BOOST_TEST(has(l.about("container"), "ok: "));
    BOOST_TEST(has(l.about("clock"), "ok: "));
    BOOST_TEST(has(l.about("suspend"), "ok: "));
    BOOST_TEST(has(l.about("guard"), "ok: "));
    BOOST_TEST(has(l.about("access"), "unknown: name the PATH"));
    BOOST_TEST(l.count("requests") > 100);
    BOOST_TEST(l.count("requests") < 500);
    check_nothing_is_left(nodes);
}

BOOST_AUTO_TEST_CASE(ticks_and_sessions_that_do_not_fit_are_told)
{
    const auto short_tick = look(server().connect_string(), {"--tick", "1s"});
    BOOST_TEST(short_tick.status == 1);
    BOOST_TEST(has(short_tick.about("tick"), "error: tickTime is 2.0 s"));
    BOOST_TEST(has(short_tick.about("tick"), "set --tick 2000ms"));
    BOOST_TEST(
        has(look(server().connect_string(), {"--tick", "3s"}).about("tick"), "which is safe"));
    const auto long_session = look(server().connect_string(), {"--session-timeout", "2m"});
    BOOST_TEST(long_session.status == 0);
    BOOST_TEST(has(long_session.about("session"), "warning: "));
    BOOST_TEST(has(long_session.about("session"), "the servers grant 40.0 s"));
    BOOST_TEST(has(look(server().connect_string(), {"--session-timeout", "1s"}).about("session"),
                   "of 1.0 s the servers make 4.0 s"));
}

// Half of what would take the servers down.
BOOST_AUTO_TEST_CASE(a_session_with_too_many_nodes_is_told)
{
    const auto nodes = server().node_count();
    BOOST_TEST(look(server().connect_string()).about("nodes").empty());
    {
        admin_session one{server().connect_string()};
        for (int i = 0; i != 0xfffff / 1'004 + 1; ++i) {
            one.create("/" + std::to_string(10'000 + i) + std::string(994, 'x'), "",
                       admin_session::mode::ephemeral);
        }
        const auto l = look(server().connect_string());
        BOOST_TEST(l.status == 0);
        BOOST_TEST(has(l.about("nodes"), "warning: session 0x"));
        BOOST_TEST(has(l.about("nodes"), "has 1045 ephemeral nodes with paths of 1049180 bytes"));
    }
    check_nothing_is_left(nodes);
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_tell_its_tick_is_not_guessed_at)
{
    zookeeper_options silent;
    silent.tick_time = 200ms;
    silent.max_session_timeout = 30s;
    silent.config_lines = {"4lw.commands.whitelist=srvr, ruok"};
    const zookeeper_server quiet{silent};
    const auto l = look(quiet.connect_string());
    BOOST_TEST(l.status == 0);
    BOOST_TEST(has(l.about("tick"), "unknown: "), l.about("tick"));
}

BOOST_AUTO_TEST_CASE(each_server_that_is_away_is_named_with_the_reason)
{
    const auto nobody = "127.0.0.1:" + std::to_string(loopback_port{}.number());
    const auto none = run_colock(nobody, {"doctor"});
    BOOST_TEST(none.status == 1);
    BOOST_TEST(has(none.out, "error    server      " + nobody), none.out);
    BOOST_TEST(has(none.out, "refuses connections"), none.out);

    const auto l = look(nobody + ',' + server().connect_string());
    BOOST_TEST(l.status == 1);
    BOOST_TEST(has(l.about("server"), "error: " + nobody));
    BOOST_TEST(has(l.about("server"), "ok: " + server().connect_string()));
    BOOST_TEST(has(l.about("connection"), "ok: "));

    for (const auto* const empty : {"/chroot", ",", " "}) {
        const auto r = run_colock(empty, {"doctor"});
        BOOST_TEST(r.status == 125);
        BOOST_TEST(has(r.err, " names no server"), r.err);
    }

    const auto lost = look(server().connect_string() + "/no/chroot");
    BOOST_TEST(lost.status == 1);
    BOOST_TEST(has(lost.about("connection"), "error: "), lost.about("connection"));
}

BOOST_AUTO_TEST_CASE(three_servers_have_roles)
{
    zookeeper_ensemble three;
    const auto leader = three[three.wait_for_leader()].connect_string();
    const auto l = look(three.connect_string());
    BOOST_TEST(l.status == 0);
    BOOST_TEST(has(l.about("leader"), "ok: " + leader + " leads 2 followers"), l.about("leader"));
    BOOST_TEST(has(look(leader).about("leader"), "warning: " + leader + " leads, and none"));
    const auto follower = three[three.followers().front()].connect_string();
    BOOST_TEST(has(look(follower).about("leader"), "warning: none of these servers leads"));
    const auto mixed = look(follower + ',' + server().connect_string());
    BOOST_TEST(mixed.status == 1);
    BOOST_TEST(has(mixed.about("leader"), "error: these servers do not belong together"));
}

BOOST_AUTO_TEST_CASE(open_lists_are_named)
{
    admin_session admin{server().connect_string()};
    admin.create_path("/open/lock");
    const auto l = look(server().connect_string(), {"/open/lock"});
    BOOST_TEST(l.status == 0);
    BOOST_TEST(has(l.about("access"), "warning: world:anyone may create, delete, write, change the "
                                      "list and read at /open/lock"),
               l.about("access"));
    BOOST_TEST(has(l.about("access"), "may delete in /open"), l.about("access"));
    BOOST_TEST(has(look(server().connect_string(), {"/not/there"}).about("access"),
                   "unknown: there is no node /not/there yet"));
}

BOOST_AUTO_TEST_CASE(the_recipe_gets_no_warning_and_names_no_hash)
{
    admin_session admin{server().connect_string()};
    admin.add_auth("digest", "orders:secret");
    const std::vector<admin_session::acl_entry> ours{{31, "auth", ""}};
    admin.create("/orders", {}, admin_session::mode::persistent, ours);
    admin.create("/orders/.keep", {}, admin_session::mode::persistent, ours);
    const auto l =
        look(server().connect_string(), {"/orders"}, {"COLOCK_AUTH=digest orders:secret"});
    BOOST_TEST(l.status == 0);
    BOOST_TEST(l.about("access") == "ok: at /orders digest:orders may do all\n"
                                    "ok: /orders is a root that stays: /orders/.keep keeps others "
                                    "from deleting it\n");
    const auto stranger = look(server().connect_string(), {"/orders"});
    BOOST_TEST(has(stranger.about("access"), "unknown: cannot read the list of /orders"));
    BOOST_TEST(has(stranger.about("container"), "unknown: no node can be made in /orders"));
    BOOST_TEST(!has(boost::json::serialize(l.said), "secret"));
}

BOOST_AUTO_TEST_CASE(what_looks_left_over_is_named)
{
    using mode = admin_session::mode;
    admin_session admin{server().connect_string()};
    admin.create_path("/left/stuck");
    const auto stuck = admin.create("/left/stuck/x-lock-", {}, mode::persistent_sequential);
    admin.create_path("/left/used/child");
    admin.remove("/left/used/child");
    const auto kept = admin.create("/left/used/y-lock-", {}, mode::ephemeral_sequential);
    admin.create_path("/left/empty/child");
    admin.remove("/left/empty/child");
    admin.create("/left/free", {}, mode::container); // a lock's, which was in use a moment ago
    admin.create("/left/free/child");
    admin.remove("/left/free/child");

    const auto new_ones = look(server().connect_string(), {"/left"});
    BOOST_TEST(has(new_ones.about("leftover"), "without a session, which block their lock for "
                                               "ever: " +
                                                   stuck + ';'),
               new_ones.about("leftover"));
    BOOST_TEST(!has(new_ones.about("leftover"), kept));
    const auto old_ones = look(server().connect_string(), {"/left", "--old", "0"});
    BOOST_TEST(has(old_ones.about("leftover"), kept), old_ones.about("leftover"));
    BOOST_TEST(has(old_ones.about("leftover"), "unknown: empty now, and made"),
               old_ones.about("leftover"));
    BOOST_TEST(has(old_ones.about("leftover"), "/left/empty"), old_ones.about("leftover"));
    admin.remove_tree("/left");
}

BOOST_AUTO_TEST_CASE(a_lock_at_leases_is_no_semaphore)
{
    using mode = admin_session::mode;
    admin_session admin{server().connect_string()};
    admin.create_path("/named/leases");
    admin.create("/named/leases/x-lock-", {}, mode::persistent_sequential);
    BOOST_TEST(look(server().connect_string(), {"/named"}).commands_for("leftover") ==
               "colock break --node x-lock-0000000000 /named/leases\n");
    admin.remove_tree("/named");
    admin.create_path("/named/leases");
    admin.create("/named/leases/x-lease-", {}, mode::persistent_sequential);
    BOOST_TEST(look(server().connect_string(), {"/named"}).commands_for("leftover") ==
               "colock break --node x-lease-0000000000 /named\n");
    admin.remove_tree("/named");
}

// As somebody types it who has pasted these lines.
std::string findings_after(const std::string& lines, const std::string& path,
                           std::vector<std::string> environment)
{
    const temporary_directory files;
    // What a server brings along, with the Java and the classes of this one.
    const auto process = "/proc/" + std::to_string(server().pid());
    const auto program = files.path() + "/zkCli.sh";
    std::ofstream{program} << "#!/bin/sh\nexec " << std::filesystem::read_symlink(process + "/exe")
                           << " -cp \"$(tr '\\0' '\\n' <" << process
                           << "/cmdline | sed -n '/^-cp$/{n;p}')\""
                           << " org.apache.zookeeper.ZooKeeperMain \"$@\"\n";
    ::chmod(program.c_str(), 0700);
    std::string bin = COLOCK_PROGRAM;
    bin.erase(bin.rfind('/'));
    environment.insert(environment.end(),
                       {"COLOCK_SERVERS=" + server().connect_string(),
                        "PATH=" + files.path() + ':' + bin + ':' + std::getenv("PATH")});
    subprocess shell{{"/bin/sh", "-ec", lines + "\ncolock doctor --old 0 " + path},
                     {.environment = environment, .output_file = files.path() + "/said"}};
    shell.wait();
    return file_text(files.path() + "/said");
}

BOOST_AUTO_TEST_CASE(the_command_of_a_finding_mends_it)
{
    const auto& servers = server().connect_string();
    std::vector<std::string> environment{"COLOCK_TICK=1s"};
    const auto tick = look(servers, {}, environment).commands_for("tick");
    BOOST_TEST(tick == "export COLOCK_TICK=2000ms\n");
    BOOST_TEST(has(findings_after(tick, "", environment), "\nok       tick "));

    admin_session admin{servers};
    admin.create_path("/mended/locks/one");
    admin.create("/mended/locks/one/x-lock-", {}, admin_session::mode::ephemeral_sequential);
    environment = {"COLOCK_AUTH=digest orders:it's secret"};
    for (const std::string path : {"/mended/locks", "/mended/locks/one"}) {
        const auto root = look(servers, {path}, environment);
        const auto commands = root.commands_for("access");
        BOOST_TEST(has(commands, "colock root --take-over /mended/locks\n"), commands);
        BOOST_TEST(!has(commands, "/one"), commands); // other libraries would see `.keep` there
        BOOST_TEST(has(root.about("access"), "uses anything in /mended/locks: with --take-over"));
        BOOST_TEST(look(servers, {path}).commands_for("access").empty()); // nobody's
    }
    const auto root = look(servers, {"/mended/locks"}, environment).commands_for("access");
    const auto ours = findings_after(root, "/mended/locks", environment);
    BOOST_TEST(has(ours, "/mended/locks is a root that stays"), ours);
    BOOST_TEST(!has(ours, "warning  access"), ours);

    admin.create_path("/stays/stuck");
    admin.create("/stays/stuck/x-lock-", {}, admin_session::mode::persistent_sequential);
    admin.create_path("/stays/it's empty/child");
    admin.remove("/stays/it's empty/child");
    auto left = look(servers, {"--old", "0", "/stays"}).commands_for("leftover");
    BOOST_TEST(has(left, "colock break --node x-lock-0000000000 /stays/stuck\n"), left);
    BOOST_TEST(has(left, "zkCli.sh -server " + servers + " delete '/stays/it'\\''s empty'\n"),
               left);
    // There is no terminal to ask.
    left.replace(left.find("break "), 6, "break --yes ");
    const auto after = findings_after(left, "/stays", {});
    BOOST_TEST(!has(after, "without a session"), after);
    BOOST_TEST(!has(after, "it's empty"), after);

    const auto chroot = look(servers + "/new/place").commands_for("connection");
    BOOST_TEST(has(findings_after(chroot, "/new/place", {}), "at /new/place"));
    admin.remove_tree("/new");
    admin.remove_tree("/stays");
}

BOOST_AUTO_TEST_CASE(all_lists_above_count_until_one_is_kept)
{
    admin_session admin{server().connect_string()};
    admin.add_auth("digest", "orders:secret");
    const std::vector<admin_session::acl_entry> ours{{31, "auth", ""}};
    const auto make = [&](const std::string& path) {
        admin.create(path, {}, admin_session::mode::persistent, ours);
    };
    for (const auto* path : {"/top", "/top/locks", "/top/locks/orders"}) {
        make(path);
    }
    const auto access = [&](const std::string& path) {
        return look(server().connect_string(), {path}, {"COLOCK_AUTH=digest orders:secret"})
            .about("access");
    };
    const auto open = access("/top/locks/orders");
    BOOST_TEST(has(open, "warning: world:anyone may delete in /, so also /top while"), open);
    make("/top/.keep");
    const auto kept = access("/top/locks/orders");
    BOOST_TEST(has(kept, "not everybody may delete in /top/locks: digest:orders may do all"), kept);
    BOOST_TEST(!has(kept, "warning"), kept);

    make("/top/many");
    for (int i = 0; i != 101; ++i) {
        make("/top/many/" + std::to_string(i));
    }
    const auto many = access("/top/many");
    BOOST_TEST(has(many, "lists of 100 nodes in /top/many, and 1 more are there"), many);
    admin.remove_tree("/top");
}

BOOST_AUTO_TEST_CASE(a_free_lock_gets_no_node)
{
    // Curator would wait behind it, and go-zookeeper fail.
    admin_session admin{server().connect_string()};
    admin.create("/free");
    admin.create("/free/lock");
    const auto l = look(server().connect_string(), {"/free/lock"});
    BOOST_TEST(has(l.about("container"), "ok: "), l.about("container"));
    BOOST_TEST_REQUIRE(admin.exists("/free/lock").has_value());
    BOOST_TEST(admin.exists("/free/lock")->cversion == 0); // it never had a child
    admin.remove_tree("/free");
}

// Its directory is empty, or has gone: a root there would be a node in a queue.
BOOST_AUTO_TEST_CASE(nobody_is_told_to_make_a_root_of_a_free_lock)
{
    admin_session admin{server().connect_string()};
    admin.create_path("/idle/lock/child");
    admin.remove("/idle/lock/child");
    for (const std::string path : {"/idle/lock", "/idle/gone"}) {
        const auto l = look(server().connect_string(), {path}, {"COLOCK_AUTH=digest orders:x"});
        BOOST_TEST(l.commands_for("access").empty(), l.commands_for("access"));
        BOOST_TEST(has(l.about("access"), "name the PATH above it"), l.about("access"));
    }
    const auto above = look(server().connect_string(), {"/idle"}, {"COLOCK_AUTH=digest orders:x"});
    BOOST_TEST(has(above.commands_for("access"), "colock root --take-over /idle\n"));
    admin.remove_tree("/idle");
}

BOOST_AUTO_TEST_CASE(a_lock_of_a_single_node_gets_no_children)
{
    admin_session admin{server().connect_string()};
    admin.create("/alone", {}, admin_session::mode::ephemeral);
    const auto l = look(server().connect_string(), {"/alone"});
    BOOST_TEST(has(l.about("container"), "ok: "), l.about("container"));
    admin.remove("/alone");
}

BOOST_AUTO_TEST_CASE(a_server_that_falls_silent_does_not_keep_it)
{
    zookeeper_options short_ticks;
    short_ticks.tick_time = 100ms;
    zookeeper_server silent{short_ticks};
    colock_process p{silent.connect_string(),
                     {"doctor", "--session-timeout", "1s", "--tick", "100ms"}};
    BOOST_TEST(wait_until([&] { return has(p.out(), "suspend"); }, 30s));
    silent.stop_process();
    const auto status = p.status(30s);
    const bool was_quicker = has(p.out(), "no errors"); // than the signal
    BOOST_TEST(status == (was_quicker ? 0 : 1), p.err());
    BOOST_TEST((was_quicker || has(p.out(), "lost, and not everything was looked at")), p.out());
    silent.continue_process();
}

BOOST_AUTO_TEST_CASE(nothing_is_left_after_an_interrupt)
{
    const auto nodes = server().node_count();
    for (const int number : {SIGINT, SIGTERM}) {
        colock_process p{server().connect_string(), {"doctor"}};
        BOOST_TEST(wait_until([&] { return has(p.out(), "container"); }, 30s));
        p.process().send_signal(number);
        const auto status = p.status();
        BOOST_TEST((status == 128 + number || status == 0)); // it may have been quicker
        check_nothing_is_left(nodes);
    }
}

// While each of the requests that remove its nodes is under way.
BOOST_AUTO_TEST_CASE(nothing_is_left_after_an_interrupt_of_the_removal)
{
    admin_session admin{server().connect_string()};
    asio::io_context context;
    client_options options;
    options.hosts = server().connect_string();
    client zk{context, options};
    bool is_connected = false;
    zk.async_connect([&](const error_code& ec) { is_connected = !ec; });
    while (!is_connected) {
        BOOST_TEST_REQUIRE(context.run_one() == 1U);
    }
    std::uint64_t sent = 0;
    for (bool was_over = false; !was_over; ++sent) {
        cli::findings found{false};
        asio::cancellation_signal stop;
        std::optional<bool> interrupted;
        asio::co_spawn(context, cli::look_at_session(zk, "/", found),
                       asio::bind_cancellation_slot(stop.slot(), [&](const std::exception_ptr& e) {
                           interrupted = bool{e};
                       }));
        while (!interrupted && !has(found.json(), "latency")) {
            context.run_one();
        }
        BOOST_TEST_REQUIRE(!interrupted);
        for (const auto before = zk.stats().requests;
             !interrupted && zk.stats().requests < before + sent;) {
            context.run_one();
        }
        was_over = interrupted.has_value();
        if (!was_over) {
            stop.emit(asio::cancellation_type::terminal);
        }
        while (!interrupted) {
            context.run_one();
        }
        BOOST_TEST(*interrupted == !was_over);
        for (const auto& name : admin.children("/")) {
            BOOST_TEST(!name.starts_with(".colock-doctor-"), sent);
        }
    }
    BOOST_TEST(sent > 4U);
    zk.async_close([](const error_code&) {});
    context.run();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::health_doctor_test
