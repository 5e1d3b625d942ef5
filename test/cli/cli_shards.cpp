// `colock run --shards`, and what `colock shards`, `ls`, `top` and `why` say of it.
#include "run_scene.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

using namespace colock::test;
using namespace std::chrono_literals;

namespace {

struct shard_scene : scene {
    // Each command notes its member, and then that it goes on; `{}` is the shard.
    std::vector<std::string> worker()
    {
        return {"sh", "-c",
                "echo $$ >" + files.path() +
                    "/{}; echo \"$COLOCK_SHARD/$COLOCK_SHARDS "
                    "$COLOCK_TOKEN\" >" +
                    files.path() + "/env{}; exec sleep 1000"};
    }
    std::unique_ptr<colock_process> member(const std::string& name,
                                           std::vector<std::string> command,
                                           const std::string& number = "8",
                                           std::vector<std::string> more = {})
    {
        std::vector<std::string> options{"--shards", number, "--member", name, "--settle", "0"};
        options.insert(options.end(), more.begin(), more.end());
        return std::make_unique<colock_process>(servers, with(options, std::move(command)));
    }
    boost::json::object seen()
    {
        const auto r = run_colock(servers, {"shards", "--json", path});
        return r.status == 0 ? boost::json::parse(r.out).as_object() : boost::json::object{};
    }
    std::int64_t owned(const std::string& name)
    {
        const auto all = seen();
        std::int64_t n = -1;
        if (all.contains("members")) {
            for (const auto& m : all.at("members").as_array()) {
                if (m.at("name").as_string() == name.c_str()) {
                    n = m.at("owned").as_int64();
                }
            }
        }
        return n;
    }
    bool owns(const std::string& name, std::int64_t n)
    {
        return wait_until([&] { return owned(name) == n; }, patience);
    }
    bool has_file(const std::string& name)
    {
        return wait_until([&] { return !file_text(files.path() + "/" + name).empty(); }, patience);
    }
};

pid_t parent_of(pid_t process)
{
    std::ifstream status{"/proc/" + std::to_string(process) + "/status"};
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("PPid:")) {
            return static_cast<pid_t>(std::stol(line.substr(5)));
        }
    }
    throw std::runtime_error{"no such process"};
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_shards, shard_scene, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(members_share_and_take_over)
{
    auto ann = member("ann", worker());
    BOOST_REQUIRE(owns("ann", 8));
    for (int i = 0; i != 8; ++i) {
        BOOST_TEST(has_file(std::to_string(i)));
        const auto env = "env" + std::to_string(i);
        BOOST_TEST(has_file(env));
        BOOST_TEST(file_text(files.path() + "/" + env).starts_with(std::to_string(i) + "/8 0"));
    }
    auto bob = member("bob", worker());
    BOOST_REQUIRE((owns("bob", 4) && owns("ann", 4)));
    auto eve = member("eve", worker());
    BOOST_REQUIRE(wait_until([&] { return owned("eve") >= 2 && owned("ann") <= 3; }, patience));

    const auto text = run_colock(servers, {"shards", path});
    BOOST_TEST(has(text.out, "8 shards, 3 members"), text.out);
    const auto ls = run_colock(servers, {"ls", path});
    BOOST_TEST(has(ls.out, "shards  8 shards, 3 members\n    member ann, for "), ls.out);
    BOOST_TEST(has(run_colock(servers, {"ls", path + "/members"}).out, "group  3 members"));
    BOOST_TEST(has(run_colock(servers, {"top", path}).out, "8 shards, 3 members"));
    const auto why = run_colock(servers, {"why", path});
    BOOST_TEST((why.status == 0 && has(why.out, "each shard has an owner")), why.out);

    bob->process().kill(); // -9
    BOOST_TEST(wait_until([&] { return owned("ann") == 4 && owned("eve") == 4; }, patience));
    ann->process().send_signal(SIGTERM); // hands all on
    BOOST_TEST(ann->status() == 0, ann->err());
    BOOST_TEST(owns("eve", 8));
    const auto left = file_text(files.path() + "/0");
    eve->process().send_signal(SIGTERM);
    BOOST_TEST(eve->status() == 0, eve->err());
    BOOST_TEST(is_gone(files.path() + "/0"));
}

BOOST_AUTO_TEST_CASE(what_the_end_of_a_command_means)
{
    auto fails = member("ann", {"sh", "-c", "exit 7"}, "2");
    BOOST_TEST(fails->status() == 7, fails->err());
    auto again = member("ann", {"sh", "-c", "echo {} >>" + files.path() + "/runs"}, "2",
                        {"--when-ended", "restart"});
    BOOST_TEST(wait_until([&] { return file_text(files.path() + "/runs").size() >= 8; }, patience));
    again->process().send_signal(SIGTERM);
    BOOST_TEST(again->status() == 0, again->err());
    auto once = member("ann", {"sh", "-c", "echo $$ >" + files.path() + "/once{}"}, "2",
                       {"--when-ended", "release"});
    BOOST_TEST((has_file("once0") && has_file("once1")));
    BOOST_TEST(owns("ann", 0));
    once->process().send_signal(SIGTERM);
    BOOST_TEST(once->status() == 0, once->err());
    BOOST_TEST(member("ann", {"no-such-command-{}"}, "2")->status() == 127);
}

BOOST_AUTO_TEST_CASE(a_child_that_has_left_its_group_ends_with_its_shard)
{
    auto ann = member("ann",
                      {"sh", "-c",
                       "setsid sh -c 'trap \"\" TERM; echo $$ >" + files.path() +
                           "/child{}; exec sleep 1000' & wait"},
                      "2", {"--grace", "500ms"});
    BOOST_REQUIRE((has_file("child0") && has_file("child1")));
    ann->process().send_signal(SIGTERM);
    BOOST_TEST(ann->status() == 0, ann->err());
    BOOST_TEST((is_gone(files.path() + "/child0") && is_gone(files.path() + "/child1")));

    std::filesystem::remove(files.path() + "/child0");
    auto bob =
        member("bob",
               {"sh", "-c",
                "setsid sh -c 'echo $$ >" + files.path() + "/child{}; exec sleep 1000' & wait"},
               "1", {"--redefine"});
    BOOST_REQUIRE(has_file("child0"));
    bob->process().kill(); // its guardian ends it
    BOOST_TEST(is_gone(files.path() + "/child0"));
}

BOOST_AUTO_TEST_CASE(a_guardian_that_is_killed_takes_its_command_along)
{
    auto ann = member("ann",
                      {"sh", "-c",
                       "echo $PPID >" + files.path() + "/guardian{}; echo $$ >" + files.path() +
                           "/{}; sleep 1000 & echo $! >" + files.path() + "/child{}; wait"},
                      "2");
    BOOST_REQUIRE((has_file("child0") && has_file("child1")));
    const auto guardian = static_cast<pid_t>(std::stol(file_text(files.path() + "/guardian0")));
    // Who has forked it does not notice, until it is told to go on: what is left meanwhile is nobody else's.
    ::kill(parent_of(guardian), SIGSTOP);
    ::kill(guardian, SIGKILL);
    BOOST_TEST(ann->status() == 125, ann->err());
    BOOST_TEST(has(ann->err(), "guardian of shard 0"), ann->err());
    BOOST_TEST((is_gone(files.path() + "/child0") && is_gone(files.path() + "/child1")));
}

BOOST_AUTO_TEST_CASE(hostile_names_and_senseless_options)
{
    auto evil = member("evil\xe2\x80\xae name", worker(), "1");
    BOOST_REQUIRE(has_file("0"));
    for (const auto& arguments : {std::vector<std::string>{"shards", path},
                                  {"shards", "--long", path},
                                  {"shards", "--json", path},
                                  {"ls", path}}) {
        const auto r = run_colock(servers, arguments);
        BOOST_TEST(r.status == 0, r.err);
        BOOST_TEST(!has(r.out, "\xe2\x80\xae"), r.out);
    }
    for (const auto& options : {std::vector<std::string>{"--shards", "2", "--try"},
                                {"--shards", "2", "--timeout", "1s"},
                                {"--shards", "2", "--retry", "1"},
                                {"--shards", "2", "--name", "x"},
                                {"--shards", "2", "--permits", "1/2"},
                                {"--weight", "2"}}) {
        const auto r = run(options, {"true"});
        BOOST_TEST((r.status == 125 && is_one_line(r.err)), r.err);
    }
    BOOST_TEST(run_colock(servers, {"shards", path + "/none"}).status == 1);
}

BOOST_AUTO_TEST_SUITE_END()
