// `colock run --shards`, and what `colock shards`, `ls`, `top` and `why` say of it.
#include <support/tcp_proxy.hpp>
#include <support/zookeeper_server.hpp>

#include "json_events.hpp"
#include "run_scene.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

namespace colock::test::cli_shards_test {

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
    // Each command has a child, and notes that, itself and its guardian.
    std::vector<std::string> parent()
    {
        return {"sh", "-c",
                "echo $PPID >" + files.path() + "/guardian{}; echo $$ >" + files.path() +
                    "/{}; sleep 1000 & echo $! >" + files.path() + "/child{}; wait"};
    }
    std::unique_ptr<colock_process> member(const std::string& name,
                                           std::vector<std::string> command,
                                           const std::string& number = "8",
                                           std::vector<std::string> more = {})
    {
        return member_through(servers, name, std::move(command), number, std::move(more));
    }
    std::unique_ptr<colock_process> member_through(const std::string& link, const std::string& name,
                                                   std::vector<std::string> command,
                                                   const std::string& number,
                                                   std::vector<std::string> more)
    {
        std::vector<std::string> options{"--shards", number, "--member", name, "--settle", "0"};
        options.insert(options.end(), more.begin(), more.end());
        return std::make_unique<colock_process>(link, with(options, std::move(command)));
    }
    // Shards that were to be this one's are taken by nobody.
    void create_idle_member(admin_session& admin)
    {
        admin.create(path + "/members/idle", "", admin_session::mode::ephemeral);
    }
    boost::json::object json_of(std::vector<std::string> arguments)
    {
        arguments.insert(arguments.begin() + 1, "--json");
        const auto r = run_colock(servers, std::move(arguments));
        BOOST_TEST(!r.out.empty(), r.err);
        return boost::json::parse(r.out).as_object();
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

// Each shard takes files of the member, more than it may have open at first; its command gets the limit that colock was given.
BOOST_AUTO_TEST_CASE(the_limit_of_open_files_is_none_of_shards)
{
    const auto line = "ulimit -Sn 64; exec " COLOCK_PROGRAM " run --shards 30 --member few " +
                      path + " -- sh -c 'echo $(ulimit -Sn) ${COLOCK_PATHS-none} >" + files.path() +
                      "/limit{}; exec sleep 1000'";
    colock_process few{servers, {"-c", line}, {"COLOCK_PATHS=/of\t/another/run"}, "/bin/sh"};
    BOOST_TEST(owns("few", 30), few.err());
    BOOST_TEST(has_file("limit29"));
    BOOST_TEST(file_text(files.path() + "/limit29") == "64 none\n");
    few.process().send_signal(SIGTERM);
    BOOST_TEST(few.status() == 0, few.err());
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

// A deployment may have taken the file away.
BOOST_AUTO_TEST_CASE(a_command_that_cannot_be_started_again_is_told)
{
    const auto program = files.path() + "/program", told = files.path() + "/told";
    std::ofstream{program} << "#!/bin/sh\nrm \"$0\"; exit 1\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    auto ann = member("ann", {program}, "1", {"--when-ended", "restart", "--events", told});
    const auto has_warned = [&] { return has(file_text(told), "\"event\":\"warning\""); };
    BOOST_REQUIRE(wait_until(has_warned, patience));
    BOOST_TEST(has(file_text(told), "\"shard\":0"));
    const auto is_said = [&] {
        return has(ann->err(), "the command of shard 0 cannot be started");
    };
    BOOST_TEST(wait_until(is_said, patience), ann->err()); // the event may be there before
    ann->process().send_signal(SIGTERM);
    BOOST_TEST(ann->status() == 0, ann->err());
}

BOOST_AUTO_TEST_CASE(a_command_that_was_never_started_has_not_ended)
{
    const auto worker = files.path() + "/worker-";
    std::ofstream{worker + "0"} << "#!/no/such/interpreter\n";
    std::filesystem::permissions(worker + "0", std::filesystem::perms::owner_all);
    auto ann = member("ann", {worker + "{}"}, "1", {"--json"});
    BOOST_TEST(ann->status() == 126, ann->err());
    BOOST_TEST(count(events_in(ann->err()), "exited") == 0u, ann->err());

    std::ofstream{worker + "0"} << "#!/bin/sh\nexec sleep 1000\n"; // that of shard 1 is missing
    auto bob = member("bob", {worker + "{}"}, "2", {"--json", "--redefine"});
    BOOST_TEST(bob->status() == 127, bob->err());
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
    auto ann = member("ann", parent(), "2", {"--events", files.path() + "/events"});
    BOOST_REQUIRE((has_file("child0") && has_file("child1")));
    const auto guardian = static_cast<pid_t>(std::stol(file_text(files.path() + "/guardian0")));
    // Who has forked it does not notice, until it is told to go on: what is left meanwhile is nobody else's.
    ::kill(parent_of(guardian), SIGSTOP);
    ::kill(guardian, SIGKILL);
    BOOST_TEST(ann->status() == 125, ann->err());
    BOOST_TEST(has(ann->err(), "guardian of shard 0"), ann->err());
    BOOST_TEST((is_gone(files.path() + "/child0") && is_gone(files.path() + "/child1")));
    int told = 0;
    const auto all = events_in(file_text(files.path() + "/events"));
    BOOST_REQUIRE(!all.empty());
    BOOST_TEST(text_of(all.back(), "reason") == "guardian_killed");
    for (const auto& e : all) {
        if (text_of(e, "event") == "exited" && e.at("shard").as_int64() == 0) {
            BOOST_TEST(e.at("status").as_int64() == 128 + SIGKILL);
            BOOST_TEST(!e.at("by_itself").as_bool());
            ++told;
        }
    }
    BOOST_TEST(told == 1);
}

BOOST_AUTO_TEST_CASE(who_kills_by_the_command_line_leaves_shards_without_an_owner_for_a_moment_only)
{
    // A session that lasts longer than this test waits.
    auto ann = member("ann", parent(), "2", {"--session-timeout", "100s"});
    BOOST_REQUIRE((has_file("child0") && has_file("child1")));
    std::vector<pid_t> killed;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
        const auto id = std::atoi(entry.path().filename().c_str());
        if (id > 0 && has(file_text(entry.path() / "cmdline"), path)) {
            killed.push_back(id);
            ::kill(id, SIGKILL);
        }
    }
    BOOST_TEST(killed == std::vector{ann->pid()}, boost::test_tools::per_element());
    BOOST_TEST(ann->status() == 128 + SIGKILL);
    BOOST_TEST((is_gone(files.path() + "/child0") && is_gone(files.path() + "/child1")));
    auto bob = member("bob", worker(), "2");
    BOOST_TEST(owns("bob", 2), bob->err());
    bob->process().send_signal(SIGTERM);
    BOOST_TEST(bob->status() == 0, bob->err());
}

BOOST_AUTO_TEST_CASE(commands_end_without_a_network_and_start_again_with_it)
{
    // It notes when the last one of this shard is still there.
    const std::vector<std::string> command{
        "sh", "-c",
        "last=$(cat " + files.path() +
            "/{} 2>/dev/null); [ -z \"$last\" ] || ! kill -0 $last || echo {} >>" + files.path() +
            "/overlap; echo $$ >" + files.path() + "/{}; exec sleep 1000"};
    tcp_proxy proxy{servers};
    const std::vector<std::string> short_session{
        "--session-timeout", "4s",    "--tick",   "500ms",
        "--grace",           "300ms", "--events", files.path() + "/events"};
    auto ann = member_through(proxy.connect_string(), "ann", command, "2", short_session);
    BOOST_REQUIRE(owns("ann", 2));
    auto bob = member("bob", command, "2");
    BOOST_REQUIRE((owns("ann", 1) && owns("bob", 1)));
    proxy.refuse(true);
    proxy.cut(cut_kind::reset);
    BOOST_TEST(owns("bob", 2));
    proxy.refuse(false);
    BOOST_TEST((owns("ann", 1) && owns("bob", 1)));
    for (auto* const each : {ann.get(), bob.get()}) {
        each->process().send_signal(SIGTERM);
        BOOST_TEST(each->status() == 0, each->err());
    }
    BOOST_TEST(file_text(files.path() + "/overlap") == "");
    const auto all = events_in(file_text(files.path() + "/events"));
    BOOST_TEST(count(all, "at_risk") >= 1u, ann->err()); // of the session, so without a shard
    BOOST_TEST(count(all, "lost") == 1u, ann->err());
}

BOOST_AUTO_TEST_CASE(a_verbose_member_says_what_it_has)
{
    auto ann = member("ann", worker(), "2", {"-v"});
    BOOST_REQUIRE((has_file("0") && has_file("1")));
    auto bob = member("bob", worker(), "2", {"-v"});
    BOOST_REQUIRE((owns("ann", 1) && owns("bob", 1)));
    BOOST_TEST(wait_until([&] { return has(ann->err(), "the command of shard "); }, patience));
    for (auto* const each : {ann.get(), bob.get()}) {
        each->process().send_signal(SIGTERM);
        BOOST_TEST(each->status() == 0, each->err());
        BOOST_TEST(has(each->err(), "connected; the session ends when "), each->err());
        BOOST_TEST(has(each->err(), ": granted: " + path + '/'), each->err());
    }
    BOOST_TEST(has(ann->err(), "shard 0: granted: "), ann->err());
    BOOST_TEST(has(ann->err(), "shard 1: granted: "), ann->err());
}

BOOST_AUTO_TEST_CASE(without_the_nursery_the_run_fails)
{
    auto ann = member("ann", parent(), "2");
    BOOST_REQUIRE((has_file("child0") && has_file("child1")));
    ::kill(parent_of(static_cast<pid_t>(std::stol(file_text(files.path() + "/guardian0")))),
           SIGKILL);
    BOOST_TEST(ann->status() == 125, ann->err());
    BOOST_TEST(has(ann->err(), "the process that starts the guardians"), ann->err());
    for (const auto* const each : {"/0", "/1", "/child0", "/child1"}) {
        BOOST_TEST(is_gone(files.path() + each));
    }
}

BOOST_AUTO_TEST_CASE(a_second_signal_ends_what_nobody_takes)
{
    auto ann = member("ann", worker(), "2", {"--leave-timeout", "1h"});
    BOOST_REQUIRE((has_file("0") && has_file("1")));
    admin_session admin{servers};
    create_idle_member(admin);
    ann->process().send_signal(SIGTERM);
    const auto hands_on = [&] {
        const auto all = seen();
        return all.contains("shards") &&
               std::ranges::all_of(all.at("shards").as_array(), [](const auto& s) {
                   return s.at("assigned").is_string() && s.at("assigned").as_string() == "idle";
               });
    };
    BOOST_REQUIRE(wait_until(hands_on, patience));
    int status = -1;
    BOOST_TEST(wait_until(
        [&] { // those that come within a second are the first one once more
            ann->process().send_signal(SIGTERM);
            status = ann->status(100ms);
            return status != -1;
        },
        patience));
    BOOST_TEST(status == 128 + SIGTERM, ann->err());
    BOOST_TEST((is_gone(files.path() + "/0") && is_gone(files.path() + "/1")));
}

BOOST_AUTO_TEST_CASE(a_member_that_was_asked_to_end_waits_a_second_for_silent_servers)
{
    zookeeper_server server; // with ticks of two seconds
    tcp_proxy proxy{server.connect_string()};
    auto ann = member_through(
        proxy.connect_string(), "ann", worker(), "1",
        {"--leave-timeout", "0", "--release-timeout", "60s", "--session-timeout", "40s"});
    BOOST_REQUIRE(has_file("0"));
    proxy.stall(true);
    const auto since = std::chrono::steady_clock::now();
    ann->process().send_signal(SIGTERM);
    BOOST_TEST(ann->status() == 0, ann->err());
    BOOST_TEST((std::chrono::steady_clock::now() - since < 30s));
}

BOOST_AUTO_TEST_CASE(no_more_shards_move_at_a_time_than_were_asked_for)
{
    const std::vector<std::string> more{"--moves",         "2",    "--grace", "2s",
                                        "--leave-timeout", "100ms"};
    // It ends after the grace, so each move can be seen.
    const std::vector<std::string> stubborn{"sh", "-c", "trap '' TERM; exec sleep 1000"};
    auto ann = member("ann", stubborn, "8", more);
    BOOST_REQUIRE(owns("ann", 8));
    auto bob = member("bob", stubborn, "8", more);
    std::int64_t most = 0;
    BOOST_TEST(wait_until(
        [&] {
            const auto all = seen();
            if (all.contains("moving")) {
                most = std::max(most, all.at("moving").as_int64());
            }
            return owned("bob") == 4;
        },
        patience));
    BOOST_TEST((most == 1 || most == 2), most);
    for (auto* const each : {bob.get(), ann.get()}) {
        each->process().send_signal(SIGTERM);
        BOOST_TEST(each->status() == 0, each->err());
    }
}

BOOST_AUTO_TEST_CASE(what_happens_is_told_as_json)
{
    auto ann = member("ann", worker(), "2", {"--json"});
    BOOST_REQUIRE((has_file("0") && has_file("1")));
    ann->process().send_signal(SIGTERM);
    BOOST_TEST(ann->status() == 0, ann->err());
    auto all = events_in(ann->err());
    for (const auto* const event : {"granted", "started", "exited"}) {
        BOOST_TEST(count(all, event) == 2u, ann->err());
    }
    for (const auto& e : all) {
        BOOST_TEST(text_of(e, "path") == path);
        const auto what = text_of(e, "event");
        if (!e.contains("shard")) {
            continue;
        }
        const auto shard = std::to_string(e.at("shard").as_int64());
        if (what == "granted") {
            BOOST_TEST(text_of(e, "node").starts_with(path + "/locks/" + shard + "/"));
            BOOST_TEST(!text_of(e, "token").empty());
        } else if (what == "started") {
            BOOST_TEST(std::to_string(e.at("pid").as_int64()) + "\n" ==
                       file_text(files.path() + "/" + shard));
        } else {
            BOOST_TEST(!e.at("by_itself").as_bool());
            BOOST_TEST(e.at("status").as_int64() == 128 + SIGTERM);
        }
    }
    BOOST_TEST(text_of(all.back(), "event") == "ended");
    BOOST_TEST(text_of(all.back(), "reason") == "left");

    auto fails = member("bob", {"sh", "-c", "exit 7"}, "1", {"--json", "--redefine"});
    BOOST_TEST(fails->status() == 7);
    all = events_in(fails->err());
    BOOST_REQUIRE(all.size() >= 4u);
    BOOST_TEST(text_of(all[all.size() - 2], "event") == "exited");
    BOOST_TEST(all[all.size() - 2].at("by_itself").as_bool());
    BOOST_TEST(all[all.size() - 2].at("status").as_int64() == 7);
    BOOST_TEST(text_of(all.back(), "reason") == "command");
}

BOOST_AUTO_TEST_CASE(groups_and_shards_as_json)
{
    auto ann = member("ann", worker(), "2");
    BOOST_REQUIRE(owns("ann", 2));
    const auto listed = [&](const std::string& what) {
        return json_of({"ls", what}).at("locks").as_array().at(0).as_object();
    };
    const auto all = listed(path);
    BOOST_TEST(text_of(all, "kind") == "shards");
    BOOST_TEST(all.at("shards").as_int64() == 2);
    BOOST_TEST(all.at("members").as_int64() == 1);
    const auto members = listed(path + "/members");
    BOOST_TEST(text_of(members, "kind") == "group");
    BOOST_TEST(members.at("members").as_int64() == 1);
    BOOST_TEST(!members.contains("shards"));
    const auto why = json_of({"why", path});
    BOOST_TEST(text_of(why, "cause") == "held");
    BOOST_TEST(text_of(why.at("locks").as_array().at(0).as_object(), "kind") == "shards");
    BOOST_TEST(text_of(json_of({"why", path + "/members"}), "cause") == "held");

    ann->process().send_signal(SIGTERM);
    BOOST_TEST(ann->status() == 0, ann->err());
    BOOST_TEST(text_of(json_of({"why", path}), "cause") == "free");
    admin_session admin{servers};
    // The server removes the container, which is empty now: it shall not do so between the next two lines.
    BOOST_REQUIRE(wait_until([&] { return !admin.exists(path + "/members"); }, patience));
    admin.create_path(path + "/members");
    create_idle_member(admin);
    BOOST_TEST(text_of(json_of({"why", path}), "cause") == "unowned");
}

BOOST_AUTO_TEST_CASE(what_others_write_is_no_command_for_a_terminal)
{
    const std::string evil = "\x1b]0;evil\x07\x1b[2J\n\xc2\x9b"
                             "31m\xe2\x80\xae";
    admin_session admin{servers};
    admin.create_path(path + "/members");
    admin.create_path(path + "/locks/0");
    admin.create_path(path + "/locks/1");
    admin.create(path + "/definition", "2 shards");
    admin.create(path + "/assignment", "2 shards\n0 \xe2\x80\xaename\n1 " + evil);
    const auto ephemeral = admin_session::mode::ephemeral;
    admin.create(path + "/members/\xe2\x80\xaename", evil, ephemeral);
    admin.create(path + "/members/weighs", "colock-member weight=4294967295\n" + evil, ephemeral);
    admin.create(path + "/locks/0/_c_00000000-0000-4000-8000-000000000000-lock-0000000000", evil,
                 ephemeral);
    admin.create(path + "/named", "");
    admin.create(path + "/named/definition", "shards:\n\xe2\x80\xae"
                                             "evil\nother");
    for (const auto& arguments : {std::vector<std::string>{"shards", path},
                                  {"shards", "--long", path},
                                  {"shards", "--long", path + "/named"},
                                  {"ls", path},
                                  {"ls", "-r", path},
                                  {"ls", path + "/members"},
                                  {"top", path},
                                  {"why", path},
                                  {"why", path + "/members"},
                                  {"shards", "--json", path},
                                  {"ls", "--json", "-r", path},
                                  {"why", "--json", path}}) {
        const auto r = run_colock(servers, arguments);
        BOOST_TEST_CONTEXT(arguments[0] << ' ' << arguments[1] << ": " << r.out << r.err)
        {
            BOOST_TEST(r.status <= 1);
            const auto text = r.out + r.err;
            BOOST_TEST(text.size() > 20u);
            BOOST_TEST(std::ranges::none_of(
                text, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n'; }));
            BOOST_TEST(!has(text, "\xc2\x9b"));
            BOOST_TEST(!has(text, "\xe2\x80\xae"));
            BOOST_TEST(!has(text, "\n31m"));
        }
    }
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
    const auto others = run({"--shards", "2"}, {"true"});
    BOOST_TEST((others.status != 0 && has(others.err, "or give --redefine")), others.err);
    BOOST_TEST(!has(others.err, "of this client"), others.err);
    const auto no_name = run({"--shards", "2", "--member", "a/b"}, {"true"});
    BOOST_TEST((no_name.status == 125 && !has(no_name.err, "--session-timeout")), no_name.err);
    path += "-2"; // where a shard is to be had
    const auto no_room = run({"--shards", "1", "--session-timeout", "5s"}, {"true"});
    BOOST_TEST((no_room.status == 125 && has(no_room.err, "which is --grace")), no_room.err);
    BOOST_TEST(run_colock(servers, {"shards", path + "/none"}).status == 1);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_shards_test
