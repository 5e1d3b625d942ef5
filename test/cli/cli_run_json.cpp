// `colock run --json`: machines hear of every end and every loss, and of nothing that is no JSON.
#include <support/admin_session.hpp>
#include <support/tcp_proxy.hpp>
#include <support/wait_until.hpp>

#include "json_events.hpp"
#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <string>
#include <vector>

namespace colock::test::cli_run_json_test {

namespace {

void check_end(const colock_result& r, int status, const std::string& reason)
{
    BOOST_TEST_CONTEXT(r.err)
    {
        BOOST_TEST(r.status == status);
        const auto all = events_in(r.err);
        BOOST_REQUIRE(!all.empty());
        const auto& end = all.back();
        BOOST_TEST(text_of(end, "event") == "ended");
        BOOST_TEST(end.at("status").as_int64() == status);
        BOOST_TEST(text_of(end, "reason") == reason);
        BOOST_TEST(count(all, "ended") == 1U);
        BOOST_TEST(count(all, "lost") == (reason == "lost" ? 1U : 0U));
    }
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_run_json, scene, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(every_end_is_told)
{
    const auto run_json = [&](std::vector<std::string> options, std::vector<std::string> command) {
        options.insert(options.begin(), "--json");
        return run(options, std::move(command));
    };
    check_end(run_json({}, {"sh", "-c", "exit 2"}), 2, "command");
    check_end(run_json({}, {"sh", "-c", "exit 120"}), 120, "command");
    check_end(run_json({}, {"there-is-no-such-command"}), 127, "not_found");
    check_end(run_json({}, {files.path()}), 126, "not_executable");
    check_end(run_json({"--grace", "60s"}, {"true"}), 125, "usage");
    check_end(run_json({"--try", "--timeout", "1s"}, {"true"}), 125, "usage");
    check_end(run_json({"--servers", "127.0.0.1:1", "--connect-timeout", "1s"}, {"true"}), 121,
              "no_zookeeper");
    check_end(run_json({"--servers", servers + "/no-chroot"}, {"true"}), 122, "refused");
    check_end(run_colock(servers, {"elect", "--json", "no/path", "--", "true"}), 125, "usage");

    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    check_end(run_json({"--try"}, {"true"}), 123, "busy");
    check_end(run_json({"--timeout", "100ms", "-E", "7"}, {"true"}), 7, "timed_out");
    colock_process waiter{servers, with({"--json"}, {"true"})};
    BOOST_REQUIRE(queue_has(2));
    waiter.process().send_signal(SIGTERM);
    const auto status = waiter.status();
    check_end({status, waiter.out(), waiter.err()}, 128 + SIGTERM, "signal");
    enough();
    BOOST_TEST(holder.status() == 0);
}

BOOST_AUTO_TEST_CASE(every_loss_is_told)
{
    // While the command runs.
    colock_process broken{servers, with({"--json"}, holding())};
    BOOST_REQUIRE(runs());
    BOOST_TEST(run_colock(servers, {"break", "--yes", path}).status == 0);
    const auto status = broken.status();
    check_end({status, broken.out(), broken.err()}, 120, "lost");

    // At the grant, before the command is started.
    scene s;
    s.path += "-at-once";
    colock_process before{servers, s.with({}, s.holding())};
    BOOST_REQUIRE(s.runs());
    tcp_proxy proxy{servers};
    colock_process p{proxy.connect_string(), s.with({"--json"}, {"true"})};
    // It watches its own node, and the one before it.
    BOOST_REQUIRE(wait_until([&] { return proxy.replies(opcode::get_data) >= 2; }, patience));
    auto grant = proxy.on_reply(opcode::notification, reaction::hold);
    s.enough();
    BOOST_REQUIRE(grant.wait(patience));
    admin_session admin{servers};
    for (const auto& node : admin.children(s.path)) {
        admin.remove(s.path + '/' + node);
    }
    BOOST_REQUIRE(p.process().stop());
    grant.release();
    BOOST_REQUIRE(wait_until([&] { return proxy.replies(opcode::notification) == 2; }, patience));
    p.process().resume();
    const auto lost = p.status();
    check_end({lost, p.out(), p.err()}, 120, "lost");
}

// The command has run, unlike after a mistake in the command line.
BOOST_AUTO_TEST_CASE(a_killed_guardian_has_a_reason_of_its_own)
{
    const auto metrics = files.path() + "/metrics.prom";
    colock_process p{servers, with({"--json", "--metrics", metrics},
                                   {"sh", "-c",
                                    "echo $PPID >" + files.path() + "/guardian; touch " +
                                        files.path() + "/runs; exec sleep 1000"})};
    BOOST_REQUIRE(runs());
    ::kill(static_cast<pid_t>(std::stol(file_text(files.path() + "/guardian"))), SIGKILL);
    const auto status = p.status();
    check_end({status, p.out(), p.err()}, 125, "guardian_killed");
    BOOST_TEST(has(file_text(metrics), "outcome=\"guardian_killed\"} 1\n"));
}

// The guardian is stopped, so that nobody hears whether the command was started.
BOOST_AUTO_TEST_CASE(a_loss_is_told_when_the_guardian_is_lost_with_it)
{
    colock_process p{servers,
                     with({"--json"}, {"sh", "-c",
                                       "echo $PPID >" + files.path() + "/guardian; touch " +
                                           files.path() + "/runs; exec sleep 1000"})};
    BOOST_REQUIRE(runs());
    const auto guardian = static_cast<pid_t>(std::stol(file_text(files.path() + "/guardian")));
    BOOST_REQUIRE(p.process().stop());
    ::kill(guardian, SIGKILL);
    admin_session admin{servers};
    admin.remove(path + '/' + admin.children(path).front());
    p.process().resume();
    const auto status = p.status();
    const auto all = events_in(p.err());
    BOOST_REQUIRE(!all.empty());
    BOOST_TEST(text_of(all.back(), "event") == "ended");
    BOOST_TEST(all.back().at("status").as_int64() == status);
    BOOST_TEST(count(all, "lost") == (status == 120 ? 1U : 0U), p.err());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_run_json_test
