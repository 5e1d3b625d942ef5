// `colock run` and `colock elect`: statuses, environment, kinds of locks, signals, bad input.
#include <support/admin_session.hpp>
#include <support/one_server.hpp>
#include <support/tcp_proxy.hpp>
#include <support/wait_until.hpp>

#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::cli_run_test {

using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(cli_run, scene, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(the_status_is_that_of_the_command_and_nothing_is_left)
{
    BOOST_TEST(shell("exit 0").status == 0);
    BOOST_TEST(shell("exit 7").status == 7);
    BOOST_TEST(shell("kill -9 $$").status == 128 + 9);
    BOOST_TEST(shell("exit 7").err == "");
    BOOST_TEST(queue() == 0);
}

BOOST_AUTO_TEST_CASE(the_command_has_its_streams_and_finds_the_lock_in_its_environment)
{
    colock_process p{servers, with({}, {"sh", "-c", "cat; echo to err >&2; env | grep COLOCK_"})};
    BOOST_TEST(p.process().write_input("from a pipe\n"));
    p.process().close_input();
    BOOST_TEST(p.status() == 0);
    BOOST_TEST(p.err() == "to err\n");
    const auto out = p.out();
    BOOST_TEST(out.starts_with("from a pipe\n"));
    BOOST_TEST(has(out, "COLOCK_PATH=" + path + '\n'));
    BOOST_TEST(has(out, "COLOCK_NODE=" + path + "/_c_"));
    BOOST_TEST(has(out, "COLOCK_TOKEN=0000"));
    const auto at = out.find("COLOCK_SAFE_UNTIL=");
    BOOST_REQUIRE(at != out.npos);
    const auto bound = std::stod(out.substr(at + 18));
    const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
    BOOST_TEST(bound > now.count() - 60);
    BOOST_TEST(bound < now.count() + 15);
}

BOOST_AUTO_TEST_CASE(busy_and_timed_out_have_statuses_of_their_own)
{
    colock_process holder{servers, with({"--name", "nightly backup"}, holding())};
    BOOST_REQUIRE(runs());

    const auto busy = run({"--try"}, {"true"});
    BOOST_TEST(busy.status == 123);
    BOOST_TEST(is_one_line(busy.err));
    const auto late = run({"--timeout", "5s"}, {"true"}); // time to read who has it
    BOOST_TEST(late.status == 124);
    BOOST_TEST(is_one_line(late.err));
    BOOST_TEST(has(late.err, "(nightly backup)"), late.err);
    BOOST_TEST(run({"--try", "-E", "0"}, {"true"}).status == 0);
    BOOST_TEST(run({"--timeout", "0.1", "-E", "9"}, {"true"}).status == 9);
    BOOST_TEST(queue() == 1);

    enough();
    BOOST_TEST(holder.status() == 0);
    BOOST_TEST(queue() == 0);
}

BOOST_AUTO_TEST_CASE(a_limit_that_passes_while_the_servers_are_silent_says_so)
{
    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    tcp_proxy between{servers};
    colock_process waiter{between.connect_string(), with({"--timeout", "5s"}, {"true"})};
    BOOST_REQUIRE(queue_has(2));
    between.stall(true);
    BOOST_TEST(waiter.status() == 124);
    BOOST_TEST(has(waiter.err(), "silent"), waiter.err());
    between.stall(false);
    enough();
    BOOST_TEST(holder.status() == 0);
}

// Whatever is there first.
BOOST_AUTO_TEST_CASE(another_kind_of_lock_on_the_path_is_refused)
{
    admin_session admin{servers};
    const std::string name = "_c_00000000-0000-0000-0000-000000000000-";
    const std::vector<std::pair<std::string, std::vector<std::string>>> kinds{
        {"lock-", {"run"}},
        {"__WRIT__", {"run", "--exclusive"}},
        {"__READ__", {"run", "--shared"}},
        {"latch-", {"elect"}},
        {"leases", {"run", "--permits", "1/2"}}};
    const auto family = [](const std::string& marker) {
        return marker == "__READ__" ? std::string{"__WRIT__"} : marker;
    };
    for (const auto& [there, unused] : kinds) {
        const auto at = own_node() + "/" + there;
        admin.create_path(at);
        if (there == "leases") {
            admin.create(at + "/locks");
            admin.create(at + "/leases");
        } else {
            admin.create(at + '/' + name + there, "", admin_session::mode::persistent_sequential);
        }
        for (const auto& [here, command] : kinds) {
            if (family(here) != family(there)) {
                auto words = command;
                words.insert(words.end(), {"--timeout", "60s", at, "--", "true"});
                const auto r = run_colock(servers, words);
                BOOST_TEST(r.status == 122, here << " where " << there << " is: " << r.err);
                BOOST_TEST(is_one_line(r.err));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(readers_share_and_a_writer_is_alone)
{
    colock_process reader{servers, with({"--shared"}, holding())};
    BOOST_REQUIRE(runs());
    BOOST_TEST(run({"--shared", "--try"}, {"true"}).status == 0);
    BOOST_TEST(run({"--exclusive", "--try"}, {"true"}).status == 123);
    // The path is a reader/writer lock: a mutex would not exclude the reader.
    const auto other_kind = run({}, {"true"});
    BOOST_TEST(other_kind.status == 122);
    BOOST_TEST(is_one_line(other_kind.err));
    enough();
    BOOST_TEST(reader.status() == 0);
    BOOST_TEST(run({"--exclusive", "--try"}, {"true"}).status == 0);
}

BOOST_AUTO_TEST_CASE(permits_are_those_of_a_semaphore)
{
    colock_process first{servers, with({"--permits", "2/3"}, holding())};
    BOOST_REQUIRE(runs());
    BOOST_TEST(run({"--permits", "1/3", "--try"}, {"true"}).status == 0);
    BOOST_TEST(run({"--permits", "2/3", "--try"}, {"true"}).status == 123);
    const auto other_number = run({"--permits", "1/4"}, {"true"});
    BOOST_TEST(other_number.status == 122);
    BOOST_TEST(is_one_line(other_number.err));
    enough();
    BOOST_TEST(first.status() == 0);
}

BOOST_AUTO_TEST_CASE(one_candidate_leads_and_the_next_one_follows)
{
    const auto elect = [&](const std::string& mark) {
        return std::vector<std::string>{"elect",
                                        path,
                                        "--",
                                        "sh",
                                        "-c",
                                        "echo " + mark + " >>" + files.path() + "/terms; touch " +
                                            files.path() + "/runs; while [ ! -e " + files.path() +
                                            "/enough ]; do sleep 0.01; done"};
    };
    colock_process a{servers, elect("a")};
    BOOST_REQUIRE(runs());
    colock_process b{servers, elect("b")};
    BOOST_TEST(queue_has(2));
    BOOST_TEST(file_text(files.path() + "/terms") == "a\n");
    a.process().send_signal(SIGTERM);
    BOOST_TEST(a.status() == 128 + SIGTERM);
    enough();
    BOOST_TEST(b.status() == 0);
    BOOST_TEST(file_text(files.path() + "/terms") == "a\nb\n");
    BOOST_TEST(queue() == 0);
}

BOOST_AUTO_TEST_CASE(signals_go_to_the_command)
{
    colock_process p{servers, with({}, {"sh", "-c",
                                        "trap 'echo told; exit 3' USR1; touch " + files.path() +
                                            "/runs; while :; do sleep 0.01; done"})};
    BOOST_REQUIRE(runs());
    p.process().send_signal(SIGUSR1);
    BOOST_TEST(p.status() == 3);
    BOOST_TEST(p.out() == "told\n");
}

BOOST_AUTO_TEST_CASE(a_signal_ends_a_wait_and_its_node_is_gone)
{
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        scene s;
        s.path += std::to_string(number);
        colock_process holder{servers, s.with({}, s.holding())};
        BOOST_REQUIRE(s.runs());
        colock_process waiter{servers, s.with({}, {"true"})};
        BOOST_TEST(s.queue_has(2));
        waiter.process().send_signal(number);
        BOOST_TEST(waiter.status() == 128 + number);
        BOOST_TEST(s.queue() == 1);
        s.enough();
        BOOST_TEST(holder.status() == 0);
    }
}

BOOST_AUTO_TEST_CASE(what_the_command_leaves_behind_is_ended_before_the_release)
{
    const auto pid = files.path() + "/pid";
    auto command = holding();
    command.back() = "setsid sh -c 'echo $$ >" + pid + "; exec sleep 1000' & while [ ! -s " + pid +
                     " ]; do sleep 0.01; done; " + command.back() + "; exit 4";
    colock_process p{servers, with({"--tick", "500ms", "--grace", "5s"}, command)};
    BOOST_REQUIRE(runs());
    const auto since = std::chrono::steady_clock::now();
    enough();
    BOOST_TEST(p.status() == 4);
    BOOST_TEST((std::chrono::steady_clock::now() - since < 5s)); // SIGTERM was enough
    BOOST_TEST(is_gone(pid));
    BOOST_TEST(queue() == 0);
}

BOOST_AUTO_TEST_CASE(G5_a_killed_supervisor_takes_the_command_and_its_family_with_it)
{
    colock_process p{servers, with({"--grace", "100ms"},
                                   {"sh", "-c",
                                    "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ >" +
                                        files.path() + "/pid; touch " + files.path() +
                                        "/runs; while :; do sleep 0.01; done'"})};
    BOOST_REQUIRE(runs());
    p.process().send_signal(SIGKILL);
    BOOST_TEST(p.status() == 128 + SIGKILL);
    BOOST_TEST(is_gone(files.path() + "/pid"));
}

BOOST_AUTO_TEST_CASE(a_killed_guardian_ends_the_command_and_the_lock_is_free)
{
    colock_process p{servers, with({}, {"sh", "-c",
                                        "setsid sh -c 'trap \"\" TERM; echo $$ >" + files.path() +
                                            "/pid; touch " + files.path() +
                                            "/runs; while :; do sleep 0.01; done' & echo $PPID >" +
                                            files.path() + "/guardian; wait"})};
    BOOST_REQUIRE(runs());
    BOOST_REQUIRE(
        wait_until([&] { return !file_text(files.path() + "/guardian").empty(); }, patience));
    ::kill(static_cast<pid_t>(std::stol(file_text(files.path() + "/guardian"))), SIGKILL);
    BOOST_TEST(p.status() == 125);
    BOOST_TEST(is_one_line(p.err()));
    BOOST_TEST(is_gone(files.path() + "/pid"));
    BOOST_TEST(queue() == 0);
}

BOOST_AUTO_TEST_CASE(a_stopped_guardian_is_continued)
{
    BOOST_TEST(shell("kill -STOP $PPID; exit 4").status == 4);
    BOOST_TEST(queue() == 0);
}

BOOST_AUTO_TEST_CASE(a_deleted_node_kills_at_once_and_the_lock_can_be_taken_again)
{
    colock_process p{
        servers, with({"--tick", "500ms", "--grace", "5s", "--retry", "1"},
                      {"sh", "-c",
                       "trap '' TERM; echo $COLOCK_NODE >>" + files.path() + "/nodes; [ $(wc -l <" +
                           files.path() + "/nodes) = 2 ] || while :; do sleep 0.01; done"})};
    const auto nodes = [&] { return file_text(files.path() + "/nodes"); };
    BOOST_REQUIRE(wait_until([&] { return nodes().ends_with('\n'); }, patience));
    const auto node = nodes().substr(0, nodes().size() - 1);
    const auto since = std::chrono::steady_clock::now();
    admin_session{servers}.remove(node);
    BOOST_TEST(p.status() == 0);                                 // the second run
    BOOST_TEST((std::chrono::steady_clock::now() - since < 5s)); // no grace
    BOOST_TEST(has(p.err(), "lost"));
    BOOST_TEST(queue() == 0);
}

BOOST_AUTO_TEST_CASE(a_client_that_asks_for_the_lock_is_heard)
{
    colock_process p{servers, with({}, {"sh", "-c",
                                        "trap 'exit 6' TERM; echo $COLOCK_NODE >" + files.path() +
                                            "/runs; while :; do sleep 0.01; done"})};
    BOOST_REQUIRE(runs());
    BOOST_REQUIRE(wait_until([&] { return !file_text(files.path() + "/runs").empty(); }, patience));
    auto node = file_text(files.path() + "/runs");
    node.pop_back();
    admin_session{servers}.set(node, "__REVOKE__");
    BOOST_TEST(p.status() == 6);
    BOOST_TEST(has(p.err(), "asks for the lock"));
}

BOOST_AUTO_TEST_CASE(the_status_is_known_where_sigchld_is_ignored)
{
    const auto since = std::chrono::steady_clock::now();
    subprocess p{
        {"env", "--ignore-signal=CHLD", COLOCK_PROGRAM, "run", path, "--", "sh", "-c", "exit 7"},
        {.environment = {"COLOCK_SERVERS=" + servers}}};
    BOOST_TEST(p.wait().code == 7);
    BOOST_TEST((std::chrono::steady_clock::now() - since < 5s)); // before the bound
}

// The release fails, but the command had ended before the lock was lost.
BOOST_AUTO_TEST_CASE(a_command_that_has_done_its_work_is_not_started_again)
{
    tcp_proxy proxy{servers};
    auto command = holding();
    command.back() = "echo run >>" + files.path() + "/runs_of_it; " + command.back() + "; exit 3";
    colock_process p{
        proxy.connect_string(),
        with({"--session-timeout", "6s", "--grace", "100ms", "--retry", "1"}, command)};
    BOOST_REQUIRE(runs());
    proxy.stall(true);
    enough();
    BOOST_TEST(p.status() == 3);
    BOOST_TEST(has(p.err(), "no server has confirmed the release"), p.err());
    BOOST_TEST(file_text(files.path() + "/runs_of_it") == "run\n");
}

BOOST_AUTO_TEST_CASE(a_command_that_was_asked_to_end_is_not_started_again)
{
    colock_process p{servers,
                     with({"--retry", "1"}, {"sh", "-c",
                                             "trap 'echo told' TERM; echo $COLOCK_NODE >" +
                                                 files.path() + "/node; touch " + files.path() +
                                                 "/runs; while :; do sleep 0.01; done"})};
    BOOST_REQUIRE(runs());
    p.process().send_signal(SIGTERM);
    BOOST_REQUIRE(wait_until([&] { return p.out() == "told\n"; }, patience));
    auto node = file_text(files.path() + "/node");
    node.pop_back();
    admin_session{servers}.remove(node);
    BOOST_TEST(p.status() == 120);
}

BOOST_AUTO_TEST_CASE(a_stopped_command_keeps_the_lock_goes_on_and_hears_of_its_end)
{
    const auto stopped = [](pid_t process) {
        const auto stat = file_text("/proc/" + std::to_string(process) + "/stat");
        return has(stat, ") T ");
    };
    colock_process p{servers, with({}, {"sh", "-c",
                                        "echo $$ >" + files.path() + "/pid; touch " + files.path() +
                                            "/runs; kill -STOP $$; echo goes on; kill -STOP $$"})};
    BOOST_REQUIRE(runs());
    const auto command = static_cast<pid_t>(std::stol(file_text(files.path() + "/pid")));
    BOOST_REQUIRE(wait_until([&] { return stopped(command); }, patience));
    ::kill(command, SIGCONT);
    BOOST_REQUIRE(wait_until([&] { return has(p.out(), "goes on"); }, patience));
    BOOST_REQUIRE(wait_until([&] { return stopped(command); }, patience));
    BOOST_TEST(!stopped(p.pid()));
    p.process().send_signal(SIGTERM);
    BOOST_TEST(p.status() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_command_runs_where_files_may_have_no_bytes)
{
    // In a build that counts lines, the program shall not write its counts.
    subprocess p{{"sh", "-c", "ulimit -f 0; exec " COLOCK_PROGRAM " run " + path + " -- true"},
                 {.environment = {"COLOCK_SERVERS=" + servers, "GCOV_PREFIX=/dev/null"}}};
    BOOST_TEST(p.wait().code == 0);
}

// Below another /proc no process of the command would be found.
BOOST_AUTO_TEST_CASE(a_foreign_proc_is_refused)
{
    subprocess possible{{"unshare", "--map-root-user", "--pid", "--fork", "true"}};
    if (!possible.wait().success()) {
        BOOST_TEST_MESSAGE("no PID namespaces here");
        return;
    }
    // Without --fork only the guardian would be in the new namespace.
    for (const bool forks : {true, false}) {
        std::vector<std::string> words{"unshare", "--map-root-user", "--pid"};
        if (forks) {
            words.emplace_back("--fork");
        }
        words.insert(words.end(), {COLOCK_PROGRAM, "run", path, "--", "true"});
        // The sanitizer's search for leaks has a process of its own, which would be in the other namespace.
        subprocess p{words,
                     {.environment = {"COLOCK_SERVERS=" + servers, "ASAN_OPTIONS=detect_leaks=0"}}};
        BOOST_TEST(p.wait().code == 125, (forks ? "" : "not ") << "forked");
    }
}

BOOST_AUTO_TEST_CASE(json_tells_a_machine_what_happens)
{
    const auto r = run({"--json"}, {"sh", "-c", "exit 2"});
    BOOST_TEST(r.status == 2);
    BOOST_TEST(has(r.err, R"({"event":"granted",)"));
    BOOST_TEST(has(r.err, R"({"event":"started",)"));
    BOOST_TEST(has(r.err, R"("path":")" + path + '"'));
    BOOST_TEST(has(r.err, R"("status":2,"reason":"command")"));
}

// The guardian is stopped, so the loss is known before it can start the command.
BOOST_AUTO_TEST_CASE(G5_nothing_is_started_when_the_loss_is_known)
{
    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    colock_process p{servers, with({"--json"}, {"touch", files.path() + "/started"})};
    BOOST_REQUIRE(queue_has(2));
    const auto pid = std::to_string(p.pid());
    const auto guardian = std::stol(file_text("/proc/" + pid + "/task/" + pid + "/children"));
    admin_session admin{servers};
    ::kill(static_cast<pid_t>(guardian), SIGSTOP);
    enough();
    BOOST_REQUIRE(wait_until([&] { return has(p.err(), R"("event":"granted")"); }, patience));
    const auto at = p.err().find(R"("node":")") + 8;
    try {
        admin.remove(p.err().substr(at, p.err().find('"', at) - at));
    } catch (const admin_error&) {
        // colock has continued its guardian sooner, and all is over.
    }
    const auto status = p.status();
    BOOST_TEST((status == 120 || status == 0));
    const auto said = p.err();
    const auto started = said.find(R"("event":"started")");
    // colock continues its guardian soon.
    BOOST_TEST((started == said.npos || started < said.find(R"("event":"lost")")), said);
    const bool runs = ::access((files.path() + "/started").c_str(), F_OK) == 0;
    BOOST_TEST((!runs || started != said.npos), said);
    BOOST_TEST(holder.status() == 0);
}

BOOST_AUTO_TEST_CASE(nothing_takes_the_place_of_a_closed_standard_error)
{
    const auto file = files.path() + "/file";
    subprocess p{{"sh", "-c",
                  "exec " COLOCK_PROGRAM " run --json " + path +
                      " -- sh -c 'readlink /proc/$PPID/fd/2 >" + file +
                      "; [ ! -e /proc/$$/fd/2 ]' 2>&-"},
                 {.environment = {"COLOCK_SERVERS=" + servers}}};
    BOOST_TEST(p.wait().code == 0);
    BOOST_TEST(file_text(file) == "/dev/null\n");
}

BOOST_AUTO_TEST_CASE(nohup_holds_for_every_command)
{
    colock_process holder{
        servers,
        with({}, {"sh", "-c",
                  "trap 'touch " + files.path() + "/asked' TERM; touch " + files.path() +
                      "/runs; while [ ! -e " + files.path() + "/enough ]; do sleep 0.01; done"})};
    BOOST_REQUIRE(runs());
    subprocess p{{"env", "--ignore-signal=HUP", COLOCK_PROGRAM, "revoke", "--wait", "60s", path},
                 {.environment = {"COLOCK_SERVERS=" + servers}}};
    BOOST_REQUIRE(wait_until([&] { return ::access((files.path() + "/asked").c_str(), F_OK) == 0; },
                             patience));
    p.send_signal(SIGHUP);
    enough();
    BOOST_TEST(p.wait().code == 0);
}

BOOST_AUTO_TEST_CASE(a_command_that_would_wait_for_itself_is_refused)
{
    const auto r = run({}, {COLOCK_PROGRAM, "run", path, "--", "true"});
    BOOST_TEST(r.status == 125);
    BOOST_TEST(has(r.err, "wait for itself"));
    BOOST_TEST(run({}, {COLOCK_PROGRAM, "run", path + "2", "--", "true"}).status == 0);
    const auto below = servers + path.substr(0, path.rfind('/'));
    const auto chroot = run(
        {}, {COLOCK_PROGRAM, "run", "--servers", below, "--timeout", "10s", "/lock", "--", "true"});
    BOOST_TEST((chroot.status == 125 && has(chroot.err, "wait for itself")), chroot.err);
}

BOOST_AUTO_TEST_CASE(bad_input_gets_one_line_and_a_status)
{
    struct bad_input {
        std::vector<std::string> arguments;
        int status;
        std::string says;
    };
    std::ofstream{files.path() + "/text"} << "no program\n";
    std::ofstream{files.path() + "/digest"} << "digest\n";
    const std::vector<bad_input> all{
        {with({}, {"there-is-no-such-command"}), 127, "there is no command"},
        {with({}, {files.path() + "/text"}), 126, "not executable"},
        {with({}, {files.path()}), 126, "is a directory"},
        {{"run", path}, 125, "there is no command"},
        {{"run", path, "--"}, 125, "there is no command"},
        {{"run", path, "true"}, 125, "true"},
        {{"run", "--", "true"}, 125, "PATH"},
        {{"run", "no/path", "--", "true"}, 125, "no/path"},
        {{"run", path + "//x", "--", "true"}, 125, path},
        {{"run", "--servers", "127.0.0.1:1", "no/path", "--", "true"}, 125, "begin with"},
        {{"run", path + std::string(5'000, 'x'), "--", "true"}, 125, "longer than 4096 bytes"},
        {with({"--try", "--timeout", "1"}, {"true"}), 125, "--timeout"},
        {with({"--shared", "--exclusive"}, {"true"}), 125, "--exclusive"},
        {with({"--shared", "--permits", "1/2"}, {"true"}), 125, "--permits"},
        {with({"--permits", "3/2"}, {"true"}), 125, "2/5"},
        {with({"--permits", "many"}, {"true"}), 125, "2/5"},
        {with({"--retry", "-1"}, {"true"}), 125, "--retry"},
        {with({"--release-timeout", "0"}, {"true"}), 125, "--release-timeout"},
        {with({"--timeout", "soon"}, {"true"}), 125, "500ms"},
        {with({"--timeout", "-1"}, {"true"}), 125, "--timeout"},
        {with({"--grace", "3s", "--safety-margin", "1s"}, {"true"}), 125, "--safety-margin"},
        {with({"--grace", "60s"}, {"true"}), 125, "--session-timeout"},
        {with({"-E", "300"}, {"true"}), 125, "-E"},
        {with({"--nonsense"}, {"true"}), 125, "--nonsense"},
        {with({"--auth", files.path() + "/none"}, {"true"}), 125, "cannot read"},
        {with({"--auth", files.path()}, {"true"}), 125, files.path()},
        {with({"--auth", files.path() + "/digest"}, {"true"}), 125, "line 1"},
        {with({"--acl", "mine"}, {"true"}), 125, "--acl"},
        {with({"--acl", "creator"}, {"true"}), 125, "--auth"},
        {with({"--tls-cert", files.path() + "/text"}, {"true"}), 125, "--tls-key"},
        {with({"--tls-ca", files.path() + "/text"}, {"true"}), 125, "--tls-ca"},
        {with({"--tls-server-name", "x"}, {"true"}), 125, "--tls"},
        {with({"--servers", "127.0.0.1:x"}, {"true"}), 125, "127.0.0.1:x"},
        {with({"--servers", servers + "/no-chroot"}, {"true"}), 122, "no-chroot"},
    };
    for (const auto& bad : all) {
        const auto r = run_colock(servers, bad.arguments);
        BOOST_TEST_CONTEXT(bad.says << ": " << r.err)
        {
            BOOST_TEST(r.status == bad.status);
            BOOST_TEST(is_one_line(r.err));
            BOOST_TEST(has(r.err, bad.says));
            BOOST_TEST(r.out == "");
        }
    }
    BOOST_TEST(queue() == 0);
}

BOOST_AUTO_TEST_CASE(unreachable_servers_fail_within_the_time_out)
{
    tcp_proxy silent{servers};
    silent.stall(true);
    for (const auto& where : {std::string{"127.0.0.1:1"}, silent.connect_string()}) {
        const auto since = std::chrono::steady_clock::now();
        const auto r = run({"--servers", where, "--timeout", "500ms"}, {"true"});
        BOOST_TEST(r.status == 121);
        BOOST_TEST(is_one_line(r.err));
        BOOST_TEST((std::chrono::steady_clock::now() - since < 8s)); // 10 s without a limit
    }
}

BOOST_AUTO_TEST_CASE(a_directory_that_others_protect_is_refused)
{
    admin_session admin{servers};
    const auto closed = own_node() + "/closed";
    admin.create(closed, "", admin_session::mode::persistent, {{1, "world", "anyone"}});
    const auto r = run_colock(servers, {"run", closed + "/lock", "--", "true"});
    BOOST_TEST(r.status == 122);
    BOOST_TEST(is_one_line(r.err));
    BOOST_TEST(has(r.err, "--auth"), r.err);
}

BOOST_AUTO_TEST_CASE(secrets_come_from_a_file_or_the_environment_and_protect_the_nodes)
{
    std::ofstream{files.path() + "/auth"} << "# who we are\ndigest me:Xq7vaLt\n";
    colock_process p{servers,
                     with({"--auth", files.path() + "/auth", "--acl", "creator"}, holding())};
    BOOST_REQUIRE(runs());
    admin_session other{servers};
    BOOST_CHECK_THROW(other.children(path), admin_error);
    other.add_auth("digest", "me:Xq7vaLt");
    BOOST_TEST(other.children(path).size() == 1);
    const auto command_line = file_text("/proc/" + std::to_string(p.pid()) + "/cmdline");
    BOOST_TEST(!has(command_line, "Xq7vaLt"));
    enough();
    BOOST_TEST(p.status() == 0);
    BOOST_TEST(run({"--acl", "creator"}, {"true"}, {"COLOCK_AUTH=digest me:Xq7vaLt"}).status == 0);
}

BOOST_AUTO_TEST_CASE(the_command_does_not_inherit_secrets)
{
    const std::vector<std::string> secrets{"COLOCK_AUTH=digest me:Xq7vaLt",
                                           "COLOCK_TLS_KEY_PASSWORD=Wm3ks"};
    const std::vector<std::string> show{"sh", "-c", "echo $COLOCK_AUTH,$COLOCK_TLS_KEY_PASSWORD"};
    BOOST_TEST(run({}, show, secrets).out == ",\n");
    BOOST_TEST(run({"--keep-identity"}, show, secrets).out == "digest me:Xq7vaLt,Wm3ks\n");
}

BOOST_AUTO_TEST_CASE(a_file_of_secrets_is_for_its_owner)
{
    const auto file = files.path() + "/auth";
    std::ofstream{file} << "digest me:Xq7vaLt\n";
    for (const auto& [mode, warns] :
         {std::pair{0644, true}, {0602, true}, {0620, true}, {0600, false}, {0400, false}}) {
        ::chmod(file.c_str(), static_cast<::mode_t>(mode));
        const auto r = run({"--auth", file}, {"true"});
        BOOST_TEST(r.status == 0);
        BOOST_TEST(has(r.err, "others on this machine can read or change " + file) == warns, r.err);
        const auto looked = run_colock(servers, {"why", "--auth", file, path});
        BOOST_TEST(has(looked.err, file) == warns, looked.err);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_run_test
