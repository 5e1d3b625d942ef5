// `colock run`, how it ends: killed, asked to, without an answer, with a lock that is gone at once.
#include <support/admin_session.hpp>
#include <support/run.hpp>
#include <support/tcp_proxy.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include "connect/awaiting.hpp"
#include "run/command_run.hpp"
#include "run/guardian_link.hpp"
#include "run/lock_choice.hpp"
#include "run/process_tree.hpp"
#include "run_scene.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::cli_run_ends_test {

using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(cli_run_ends, scene, *boost::unit_test::fixture<one_server>())

// SIGKILL for every process that a pattern such as that of `pkill -f` finds.
BOOST_AUTO_TEST_CASE(G5_who_kills_by_the_command_line_does_not_meet_the_guardian)
{
    const auto mark = "mark-of" + path;
    colock_process p{servers,
                     with({"--grace", "100ms", "--name", mark},
                          {"sh", "-c",
                           "cat /proc/$PPID/cmdline /proc/$PPID/comm; setsid sh -c 'trap \"\" "
                           "TERM; echo $$ >" +
                               files.path() + "/pid; touch " + files.path() +
                               "/runs; while :; do sleep 0.01; done' & wait"})};
    BOOST_REQUIRE(runs());
    const auto guardian = p.out();
    BOOST_TEST(guardian.starts_with("lock-guardian"));
    for (const auto& pattern : {std::string{"colock"}, std::string{"run"}, path, mark}) {
        BOOST_TEST(!has(guardian, pattern), guardian);
    }
    std::vector<pid_t> killed;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
        const auto id = std::atoi(entry.path().filename().c_str());
        if (id > 0 && has(file_text(entry.path() / "cmdline"), mark)) {
            killed.push_back(id);
            ::kill(id, SIGKILL);
        }
    }
    BOOST_TEST(killed == std::vector{p.pid()});
    BOOST_TEST(p.status() == 128 + SIGKILL);
    BOOST_TEST(is_gone(files.path() + "/pid"));
}

// As the first process of a PID namespace, which is what it is in many a container: the kernel ends all others with it.
BOOST_AUTO_TEST_CASE(G5_in_a_pid_namespace_of_its_own_everything_ends_with_colock)
{
    std::vector<std::string> words{"unshare", "--map-root-user", "--pid",
                                   "--fork",  "--kill-child",    "--mount-proc"};
    auto trial = words;
    trial.emplace_back("true");
    subprocess possible{trial};
    if (!possible.wait().success()) {
        BOOST_TEST_MESSAGE("no PID namespaces here");
        return;
    }
    for (const auto& word : with({}, {"sh", "-c",
                                      "setsid sh -c 'trap \"\" TERM HUP; touch " + files.path() +
                                          "/runs; exec sleep 1000' & wait"})) {
        words.push_back(word);
    }
    words.insert(words.begin() + 6, COLOCK_PROGRAM);
    subprocess p{words, {.environment = {"COLOCK_SERVERS=" + servers}, .capture_output = true}};
    BOOST_REQUIRE(runs());
    const auto children = file_text("/proc/" + std::to_string(p.pid()) + "/task/" +
                                    std::to_string(p.pid()) + "/children");
    ::kill(static_cast<pid_t>(std::stol(children)), SIGKILL);
    // The output ends when nobody has it any more.
    p.read_line(patience);
    BOOST_TEST(p.end_of_output());
}

// What fails beside a run cancels it, such as a line for which there is no memory. The lock goes next.
BOOST_AUTO_TEST_CASE(G5_nothing_is_left_of_a_run_that_is_cancelled)
{
    const struct adopter {
        adopter() { cli::adopt_orphans(); }
        ~adopter() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
    } until_the_end;
    const auto before = cli::children_of(::getpid());
    const cli::inherited_signals signals;
    const cli::terminal tty;
    const cli::ending_terms terms{50ms, 550ms};
    cli::shared_bound bound;
    const cli::guardian_task task{
        {"/bin/sh", {"sh", "-c", "exec sleep 1000"}}, terms, bound, signals, tty, {}};
    cli::guardian_link guardian{task};
    cli::events say{"colock run", path, {.quiet = true}};
    asio::io_context io;
    client zk{io, {.hosts = servers}};
    bool has_failed = false;
    const auto body = [&]() -> asio::awaitable<void> {
        co_await zk.async_connect(asio::use_awaitable);
        const cli::lock_choice choice{path, cli::as_mutex{}, 550ms};
        const auto lock = co_await cli::acquire(zk, choice, std::nullopt);
        cli::command_run run{{guardian, bound, nullptr, say, terms}, lock.held};
        const auto fails = [&run]() -> asio::awaitable<void> {
            while (!run.is_running()) {
                co_await cli::pause(10ms);
            }
            throw std::bad_alloc{};
        };
        const std::vector<cli::variable> none;
        try {
            co_await cli::first_of(run.carry_out(none), fails());
        } catch (const std::bad_alloc&) {
            has_failed = true;
        }
        BOOST_TEST(std::ranges::all_of(cli::children_of(::getpid()),
                                       [&](pid_t each) { return cli::contains(before, each); }));
        co_await zk.async_close(asio::use_awaitable);
    };
    asio::co_spawn(io, body(), [](std::exception_ptr e) { BOOST_TEST(!e); });
    BOOST_TEST(run_to_the_end(io));
    BOOST_TEST(has_failed);
}

// The grant, and the news that the node is gone, are there when the program looks.
BOOST_AUTO_TEST_CASE(a_lock_that_is_gone_as_soon_as_it_is_granted_is_lost_and_not_busy)
{
    struct ways {
        std::vector<std::string> options;
        int status;
    };
    for (const auto& [options, status] : std::vector<ways>{
             {{}, 120}, {{"--timeout", "60s"}, 120}, {{"--shared"}, 120}, {{"--retry", "1"}, 0}}) {
        scene s;
        s.path += std::to_string(options.size()) + (options.empty() ? "" : options.front());
        const bool shares = options == std::vector<std::string>{"--shared"};
        colock_process before{
            servers,
            s.with(shares ? std::vector<std::string>{"--exclusive"} : options, s.holding())};
        BOOST_REQUIRE(s.runs());
        tcp_proxy proxy{servers};
        auto all = options;
        all.insert(all.end(), {"-E", "0"});
        colock_process p{proxy.connect_string(), s.with(all, {"echo", "ran"})};
        // It watches its own node, and the one before it.
        BOOST_REQUIRE(wait_until([&] { return proxy.replies(opcode::get_data) == 2; }, patience));
        auto grant = proxy.on_reply(opcode::notification, reaction::hold);
        s.enough();
        BOOST_REQUIRE(grant.wait(patience));
        admin_session admin{servers};
        for (const auto& node : admin.children(s.path)) {
            admin.remove(s.path + '/' + node);
        }
        BOOST_REQUIRE(p.process().stop());
        grant.release();
        BOOST_REQUIRE(
            wait_until([&] { return proxy.replies(opcode::notification) == 2; }, patience));
        p.process().resume();
        BOOST_TEST(p.status() == status);
        BOOST_TEST(p.out() == (status == 0 ? "ran\n" : ""));
        BOOST_TEST(has(p.err(), "the lock was lost"), p.err());
        BOOST_TEST(has(p.err(), "before the command was started") == (status != 0), p.err());
    }
}

// A script that lets another machine run it (-E 0) has to hear that this run has begun.
BOOST_AUTO_TEST_CASE(a_retry_that_gets_no_lock_ends_as_lost)
{
    colock_process first{servers, with({"--retry", "1", "--try", "-E", "0"}, holding())};
    BOOST_REQUIRE(runs());
    colock_process next{servers, with({}, holding())};
    BOOST_REQUIRE(queue_has(2));
    admin_session admin{servers};
    const auto number = [](const std::string& node) { return node.substr(node.rfind('-')); };
    admin.remove(path + '/' + std::ranges::min(admin.children(path), {}, number));
    BOOST_TEST(first.status() == 120);
    BOOST_TEST(has(first.err(), "got no other lock for its retry"), first.err());
    enough();
    BOOST_TEST(next.status() == 0);
}

BOOST_AUTO_TEST_CASE(a_retry_that_reaches_no_server_ends_as_lost)
{
    tcp_proxy proxy{servers};
    colock_process p{proxy.connect_string(), with({"--retry", "1", "--timeout", "3s",
                                                   "--session-timeout", "5s", "--grace", "100ms"},
                                                  holding())};
    BOOST_REQUIRE(runs());
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(p.status() == 120);
    BOOST_TEST(has(p.err(), "got no other lock for its retry"), p.err());
}

// With sessions of 40 s, each in a small part of the time that the lock is safe.
BOOST_AUTO_TEST_CASE(a_release_that_no_server_answers_takes_as_long_as_stated)
{
    zookeeper_server server; // with ticks of two seconds
    tcp_proxy proxy{server.connect_string()};
    struct ways {
        std::vector<std::string> options;
        bool signal;
    };
    for (const auto& [options, signal] :
         std::vector<ways>{{{}, false}, {{"--release-timeout", "60s"}, true}}) {
        scene s; // the lock of the one before is not free yet
        s.path += signal ? "-asked" : "";
        auto all = options;
        all.insert(all.end(), {"--session-timeout", "40s"});
        auto command = s.holding();
        command.back() += "; exit 3";
        colock_process p{proxy.connect_string(), s.with(all, command)};
        BOOST_REQUIRE(s.runs());
        proxy.stall(true);
        const auto since = std::chrono::steady_clock::now();
        s.enough();
        if (signal) {
            const auto children = "/proc/" + std::to_string(p.pid()) + "/task/" +
                                  std::to_string(p.pid()) + "/children";
            const auto guardian = file_text(children);
            BOOST_REQUIRE(!guardian.empty());
            const auto commands = "/proc/" + std::to_string(std::stol(guardian)) + "/task/" +
                                  std::to_string(std::stol(guardian)) + "/children";
            BOOST_REQUIRE(wait_until([&] { return file_text(commands).empty(); }, patience));
            p.process().send_signal(SIGTERM);
        }
        BOOST_TEST(p.status() == 3); // what has happened is not changed by a signal
        BOOST_TEST((std::chrono::steady_clock::now() - since < 15s));
        BOOST_TEST(is_one_line(p.err()), p.err());
        BOOST_TEST(has(p.err(), "no server has confirmed the release"));
        proxy.cut();
        proxy.stall(false);
    }
}

// Whoever asks a wait to end does not wait for silent servers either.
BOOST_AUTO_TEST_CASE(a_signal_shortens_the_end_of_a_wait)
{
    zookeeper_server server; // with ticks of two seconds
    tcp_proxy proxy{server.connect_string()};
    colock_process holder{server.connect_string(), with({}, holding())};
    BOOST_REQUIRE(runs());
    colock_process p{proxy.connect_string(),
                     with({"--release-timeout", "60s", "--session-timeout", "40s"}, {"true"})};
    admin_session admin{server.connect_string()};
    BOOST_REQUIRE(wait_until([&] { return queue_length(admin, path) == 2; }, patience));
    proxy.stall(true);
    const auto since = std::chrono::steady_clock::now();
    p.process().send_signal(SIGTERM);
    BOOST_TEST(p.status() == 128 + SIGTERM);
    BOOST_TEST((std::chrono::steady_clock::now() - since < 15s));
    enough();
    BOOST_TEST(holder.status() == 0);
}

BOOST_AUTO_TEST_CASE(a_retry_connects_again)
{
    tcp_proxy proxy{servers};
    proxy.refuse(true);
    colock_process p{proxy.connect_string(),
                     {"elect", "--retry", "1", path, "--", "echo", "leads"}};
    BOOST_REQUIRE(
        wait_until([&] { return has(p.err(), "connecting again (retry 1 of 1)"); }, patience));
    proxy.refuse(false);
    BOOST_TEST(p.status() == 0);
    BOOST_TEST(p.out() == "leads\n");
    BOOST_TEST(is_one_line(p.err()), p.err());
}

// Who holds the lock may need long to end in order. Whoever cannot wait kills colock, or breaks the lock.
BOOST_AUTO_TEST_CASE(a_signal_and_a_request_are_passed_on_without_a_limit)
{
    for (const bool revoked : {false, true}) {
        scene s;
        s.path += revoked ? "-revoked" : "";
        const auto dir = s.files.path();
        colock_process p{servers,
                         s.with({"--grace", "10ms"},
                                {"sh", "-c",
                                 "trap 'touch " + dir + "/told' TERM; echo $COLOCK_NODE >" + dir +
                                     "/node; touch " + dir + "/runs; while [ ! -e " + dir +
                                     "/told ]; do sleep 0.01; done; "
                                     "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.02; done; "
                                     "exit 5"})};
        BOOST_REQUIRE(s.runs());
        if (revoked) {
            auto node = file_text(dir + "/node");
            node.pop_back();
            admin_session{servers}.set(node, "__REVOKE__");
        } else {
            p.process().send_signal(SIGTERM);
        }
        BOOST_TEST(p.status() == 5);
    }
}

BOOST_AUTO_TEST_CASE(a_command_that_would_wait_for_itself_is_refused_at_any_depth)
{
    const auto other = path + "-other";
    const auto nested = [&](const std::string& outer, const std::string& inner) {
        return run({outer}, {COLOCK_PROGRAM, "run", other, "--", "env", "-u", "COLOCK_NODE",
                             COLOCK_PROGRAM, "run", "--timeout=60s", inner, path, "--", "true"});
    };
    for (const auto& [outer, inner] : {std::pair{"--retry=0", "--retry=0"},
                                       {"--exclusive", "--exclusive"},
                                       {"--exclusive", "--shared"},
                                       {"--shared", "--exclusive"}}) {
        const auto r = nested(outer, inner);
        BOOST_TEST(r.status == 125);
        BOOST_TEST(has(r.err, "wait for itself"), r.err);
    }
    BOOST_TEST(nested("--shared", "--shared").status == 0);
    for (const auto& [inner, status] : {std::pair{"--permits=1/3", 0}, {"--permits=2/3", 125}}) {
        const auto r = nested("--permits=2/3", inner);
        BOOST_TEST(r.status == status);
        BOOST_TEST(has(r.err, "wait for itself") == (status != 0), r.err);
    }
}

// Readers share the lock, unless a writer has come between them: it waits for the one, and the other one for it.
BOOST_AUTO_TEST_CASE(a_reader_below_a_reader_does_not_wait_for_the_writer_between_them)
{
    const auto outer = [&](scene& s, const std::string& inner_servers) {
        return s.with({"--shared"},
                      {"sh", "-c",
                       "touch " + s.files.path() + "/runs; while [ ! -e " + s.files.path() +
                           "/enough ]; do sleep 0.01; done; " COLOCK_PROGRAM
                           " run --shared --timeout 60s --servers " +
                           inner_servers + ' ' + s.path + " -- true"});
    };
    for (const bool is_late : {false, true}) {
        scene s;
        s.path += is_late ? "-late" : "";
        tcp_proxy proxy{servers};
        // The writer comes before the inner reader looks, or behind that, and before it has its node.
        std::optional<tcp_proxy::rule> join;
        if (is_late) {
            join =
                proxy.on_request({opcode::create, opcode::create2, opcode::multi}, reaction::hold);
        }
        colock_process reader{servers, outer(s, proxy.connect_string())};
        BOOST_REQUIRE(s.runs());
        if (join) {
            s.enough();
            BOOST_REQUIRE(join->wait(patience));
        }
        colock_process writer{servers, s.with({"--exclusive"}, {"true"})};
        BOOST_REQUIRE(s.queue_has(2));
        if (join) {
            join->release();
        }
        s.enough();
        BOOST_TEST(reader.status() == 125);
        BOOST_TEST(has(reader.err(), "wait for itself"), reader.err());
        BOOST_TEST(writer.status() == 0);
    }
}

// Whoever sets these variables is the user, or a server of theirs: at worst there is one lock more to ask about.
BOOST_AUTO_TEST_CASE(any_text_may_stand_where_the_outer_locks_are_named)
{
    for (const auto& text :
         {std::string(100'000, '/'), path + "/x", path + "/\x01\ny", path + "/../" + path,
          std::string{"\t\t\n=/"}, std::string{"\xff\xfe"}}) {
        const auto r = run({},
                           {"sh", "-c",
                            "printf '%s' \"$COLOCK_NODES\" | tr '\\t' '\\n' | tail -n 1 "
                            "| grep -qxF \"$COLOCK_NODE\""},
                           {"COLOCK_NODE=" + text, "COLOCK_NODES=" + text});
        BOOST_TEST(r.status == 0);
        BOOST_TEST(r.err == "");
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_run_ends_test
