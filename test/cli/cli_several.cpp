// Several locks for one command: all of them, or none.
#include "json_events.hpp"
#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <list>

namespace colock::test::cli_several_test {

using namespace std::chrono_literals;

namespace {

struct pair_scene : scene {
    std::string other = own_node() + "/another";

    std::vector<std::string> both(std::vector<std::string> options,
                                  std::vector<std::string> command, bool turned = false)
    {
        options.insert(options.begin(), "run");
        options.push_back(turned ? other : path);
        options.push_back(turned ? path : other);
        options.push_back("--");
        options.insert(options.end(), command.begin(), command.end());
        return options;
    }
    std::size_t queue_of(const std::string& at)
    {
        admin_session admin{servers};
        return queue_length(admin, at);
    }
    bool queues_have(std::size_t number)
    {
        return wait_until([&] { return queue_of(path) == number && queue_of(other) == number; },
                          patience);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_several, pair_scene, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(the_command_holds_all_of_them_and_finds_them_in_its_environment)
{
    colock_process p{
        servers, both({}, {"sh", "-c",
                           "env | grep COLOCK_; touch " + files.path() + "/runs; while [ ! -e " +
                               files.path() + "/enough ]; do sleep 0.01; done"})};
    BOOST_REQUIRE(runs());
    BOOST_TEST(queue_of(path) == 1u);
    BOOST_TEST(queue_of(other) == 1u);
    for (const auto& each : {path, other}) {
        BOOST_TEST(run_colock(servers, {"run", "--try", each, "--", "true"}).status == 123);
    }
    enough();
    BOOST_TEST(p.status() == 0);
    BOOST_TEST(queue_of(path) == 0u);
    BOOST_TEST(queue_of(other) == 0u);
    const auto out = p.out();
    BOOST_TEST(has(out, "COLOCK_PATH=" + path + '\n'), out);
    BOOST_TEST(has(out, "COLOCK_PATHS=" + path + '\t' + other + '\n'), out);
    BOOST_TEST(has(out, "COLOCK_NODE=" + path + "/_c_"), out);
    BOOST_TEST(has(out, '\t' + other + "/_c_"), out); // COLOCK_NODES
    const auto at = out.find("COLOCK_TOKENS=");
    BOOST_REQUIRE(at != out.npos);
    const auto tokens = out.substr(at + 14, out.find('\n', at) - at - 14);
    BOOST_TEST(has(out, "COLOCK_TOKEN=" + tokens.substr(0, tokens.find('\t')) + '\n'), out);
    BOOST_TEST(tokens.size() == 65u);
}

BOOST_AUTO_TEST_CASE(paths_that_no_command_could_find_are_refused_before_they_are_locked)
{
    std::vector<std::string> arguments{"run"};
    for (int i = 0; i != 8; ++i) {
        arguments.push_back(path + std::to_string(i) + std::string(4'000 - path.size(), 'x'));
    }
    auto too_long = arguments;
    too_long.push_back(path + std::string(1'000, 'x'));
    for (auto* const each : {&arguments, &too_long}) {
        each->insert(each->end(), {"--", "true"});
    }
    const auto most = run_colock(servers, arguments);
    BOOST_TEST(most.status == 0, most.err);
    const auto more = run_colock("127.0.0.1:1", too_long); // where nobody is asked
    BOOST_TEST(more.status == 125);
    BOOST_TEST(has(more.err, "too long together"), more.err);
}

BOOST_AUTO_TEST_CASE(one_of_them_alone_is_not_granted)
{
    colock_process holder{servers,
                          {"run", other, "--", "sh", "-c",
                           "touch " + files.path() + "/runs; while [ ! -e " + files.path() +
                               "/enough ]; do sleep 0.01; done"}};
    BOOST_REQUIRE(runs());
    const auto busy = run_colock(servers, both({"--try"}, {"touch", files.path() + "/wrong"}));
    BOOST_TEST(busy.status == 123);
    BOOST_TEST(is_one_line(busy.err), busy.err);
    const auto late = run_colock(servers, both({"-w", "2s"}, {"touch", files.path() + "/wrong"}));
    BOOST_TEST(late.status == 124);
    BOOST_TEST(::access((files.path() + "/wrong").c_str(), F_OK) != 0);
    BOOST_TEST(run_colock(servers, {"run", "--try", path, "--", "true"}).status == 0);
    // Whoever waits says for whom.
    colock_process waits{servers, both({"--json"}, {"true"})};
    BOOST_TEST(wait_until([&] { return has(waits.err(), "\"holder_node\":\"" + other); }, patience),
               waits.err());
    enough();
    BOOST_TEST(holder.status() == 0);
    BOOST_TEST(waits.status() == 0);
}

BOOST_AUTO_TEST_CASE(events_name_all_paths_whatever_the_end)
{
    for (const auto* const command : {"true", "there-is-no-such-command"}) {
        const auto all = events_in(run_colock(servers, both({"--json"}, {command})).err);
        BOOST_REQUIRE(!all.empty());
        BOOST_TEST(text_of(all.back(), "path") == path + ' ' + other);
    }
}

// Each asks in another order.
BOOST_AUTO_TEST_CASE(nobody_waits_for_ever)
{
    const auto line = "for i in 1 2 3 4 5 6 7 8; do \"$0\" run \"$1\" \"$2\" -- echo x >>" +
                      files.path() + "/done || exit; done";
    std::list<subprocess> all; // which cannot be moved
    for (const bool turned : {false, true}) {
        all.emplace_back(std::vector<std::string>{"/bin/sh", "-c", line, COLOCK_PROGRAM,
                                                  turned ? other : path, turned ? path : other},
                         subprocess_options{.environment = {"COLOCK_SERVERS=" + servers}});
    }
    for (auto& each : all) {
        const auto ended = each.wait_for(4 * patience);
        BOOST_REQUIRE(ended);
        BOOST_TEST(ended->success());
    }
    BOOST_TEST(file_text(files.path() + "/done").size() == 32u); // 16 lines
}

BOOST_AUTO_TEST_CASE(the_loss_of_one_is_the_loss_of_all)
{
    colock_process p{servers, both({"--json"}, holding())};
    BOOST_REQUIRE(runs());
    admin_session admin{servers};
    for (const auto& each : admin.children(other)) {
        admin.remove(other + '/' + each);
    }
    BOOST_TEST(p.status() == 120);
    BOOST_TEST(count(events_in(p.err()), "lost") == 1u);
    BOOST_TEST(queues_have(0));
}

BOOST_AUTO_TEST_CASE(whoever_asks_for_one_gets_it)
{
    for (const auto& asked : {path, other}) {
        const temporary_directory at;
        colock_process p{servers,
                         both({}, {"sh", "-c", "touch " + at.path() + "/runs; sleep 100"})};
        BOOST_REQUIRE(wait_until([&] { return ::access((at.path() + "/runs").c_str(), F_OK) == 0; },
                                 patience));
        BOOST_TEST(run_colock(servers, {"revoke", asked}).status == 0);
        BOOST_TEST(p.status() == 128 + SIGTERM);
    }
}

BOOST_AUTO_TEST_CASE(readers_share_all_and_writers_none)
{
    colock_process reader{servers, both({"--shared"}, holding())};
    BOOST_REQUIRE(runs());
    BOOST_TEST(run_colock(servers, both({"--shared", "--try"}, {"true"}, true)).status == 0);
    BOOST_TEST(run_colock(servers, both({"--exclusive", "--try"}, {"true"})).status == 123);
    enough();
    BOOST_TEST(reader.status() == 0);
    BOOST_TEST(run_colock(servers, both({"--exclusive", "--try"}, {"true"})).status == 0);
}

BOOST_AUTO_TEST_CASE(a_command_below_one_of_them_is_refused)
{
    const auto r =
        run_colock(servers, {"run", path, "--", COLOCK_PROGRAM, "run", other, path, "--", "true"});
    BOOST_TEST(r.status == 125);
    BOOST_TEST(has(r.err, path + " is held by a colock run around this command"), r.err);
    const auto inner = run_colock(servers, both({}, {COLOCK_PROGRAM, "run", other, "--", "true"}));
    BOOST_TEST(inner.status == 125);
    const auto beside =
        run_colock(servers, both({}, {COLOCK_PROGRAM, "run", own_node() + "/third", "--", "env"}));
    BOOST_TEST(beside.status == 0, beside.err);
    BOOST_TEST(!has(beside.out, "COLOCK_PATHS"), beside.out); // those are of the outer one
}

BOOST_AUTO_TEST_CASE(what_is_for_one_path_is_refused)
{
    const std::vector<std::vector<std::string>> bad{
        {"--permits", "1/2"}, {"--once-per", "1h"}, {"--hold-at-least", "1h"}, {"--shards", "3"}};
    for (const auto& options : bad) {
        const auto r = run_colock(servers, both(options, {"true"}));
        BOOST_TEST(r.status == 125, options.front() << r.err);
        BOOST_TEST(is_one_line(r.err), r.err);
    }
    const auto twice = run_colock(servers, {"run", path, other, path, "--", "true"});
    BOOST_TEST(twice.status == 125);
    BOOST_TEST(has(twice.err, path + " is given twice"), twice.err);
    BOOST_TEST(run_colock(servers, {"elect", path, other, "--", "true"}).status == 125);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_several_test
