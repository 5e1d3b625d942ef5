// `colock ls`: what it finds, and what it says where there is nothing.
#include <support/tcp_proxy.hpp>

#include "look_scene.hpp"
#include "served_scene.hpp"

#include <boost/test/unit_test.hpp>

namespace colock::test::look_ls_test {

BOOST_FIXTURE_TEST_SUITE(look_ls, look_scene)

BOOST_AUTO_TEST_CASE(locks_of_every_kind)
{
    const holder_process a{"mutex", {root + "/a"}};
    const holder_process b{"reader", {root + "/b"}};
    const holder_process c{"semaphore", {root + "/c"}};
    const holder_process d{"election", {root + "/d"}};
    const holder_process e{"single_node", {root + "/e"}};
    admin.create(root + "/f");
    enter(root + "/f", kazoo_name(), "10.0.0.7");
    admin.create(root + "/g");
    enter(root + "/g", "x-72058668236210177-");
    admin.create(root + "/h");
    enter(root + "/h", "00000001-0000-4000-8000-000000000000-orders_lock_");
    admin.create(root + "/no-lock");
    enter(root + "/no-lock", "item-");

    const auto r = colock({"ls", root});
    BOOST_TEST(r.status == 0, r.err);
    for (const auto* line :
         {"/a  mutex  0 wait\n    held by ", "/b  reader/writer lock  0 wait\n    held by ",
          "/c  semaphore  1 of 1 permits held  0 wait\n    held by ",
          "/d  election  0 wait\n    held by \"a candidate\", session 0x",
          "/e  lock of a single node  0 wait\n    held by ",
          "/f  lock of kazoo  0 wait\n    held by \"10.0.0.7\", session 0x",
          "/g  lock of ZooKeeper's recipe  0 wait\n    held by elsewhere:7 (worker), in the queue "
          "for ",
          "/h  named lock \"orders\"  0 wait\n"}) {
        BOOST_TEST(has(r.out, root + line), line << " is not in\n" << r.out);
    }
    BOOST_TEST(has(r.out, "(look_holder), in the queue for "));
    BOOST_TEST(!has(r.out, "no-lock"));
}

BOOST_AUTO_TEST_CASE(a_directory_with_a_time_to_live_is_no_lock_of_a_single_node)
{
    zookeeper_options extended;
    extended.extended_types = true;
    zookeeper_server server{extended};
    const auto servers = server.connect_string();
    const holder_process directory{"directory", {"/brief"}, 20s, "-", servers};
    const holder_process holder{"mutex", {"/brief"}, 20s, "-", servers};
    const auto r = run_colock(servers, {"ls", "/brief"});
    BOOST_TEST(has(r.out, "/brief  mutex  0 wait\n    held by "), r.out);
}

BOOST_AUTO_TEST_CASE(the_record_of_a_job_is_no_lock)
{
    const auto path = fresh_path();
    admin.create(path);
    admin.create(path + ".runs", "colock job due=2026-11-27T03:00:00Z ended=success failed=0");
    const auto top = colock({"top", root});
    BOOST_TEST(has(top.out, path + ' '), top.out);
    BOOST_TEST(!has(top.out, ".runs"), top.out);
    const auto alone = colock({"top", path + ".runs"});
    BOOST_TEST(has(alone.out, "the record of a job"), alone.out);
    const auto ls = colock({"ls", path + ".runs"});
    BOOST_TEST(ls.status == 1);
    BOOST_TEST(has(ls.err, "the record of a job: colock job due="), ls.err);
}

BOOST_AUTO_TEST_CASE(one_lock_with_its_whole_queue)
{
    const auto path = fresh_path();
    const holder_process holder{"mutex", {path}};
    for (int i = 0; i != 100; ++i) {
        enter(path, contender_name(), "host=h pid=" + std::to_string(i) + " program=w");
    }
    const auto r = colock({"ls", path});
    BOOST_TEST(has(r.out, path + "  mutex  100 wait\n"));
    BOOST_TEST(has(r.out, "waits:  h:99 (w)"), r.out);
    const auto above = path.substr(0, path.rfind('/'));
    BOOST_TEST(!has(colock({"ls", above}).out, "waits:"));
    BOOST_TEST(has(colock({"ls", "--long", above}).out, "waits:  h:99 (w)"));
    const auto json = colock({"ls", "--json", path});
    BOOST_TEST(json_value(json.out, "kind") == "mutex");
    BOOST_TEST(json_value(json.out, "waiting") == "100");
    BOOST_TEST(json_value(json.out, "program") == "look_holder");
    BOOST_TEST(has(json.out, first_node(path)));
}

BOOST_AUTO_TEST_CASE(all_the_way_down)
{
    admin.create(root + "/x");
    admin.create(root + "/x/y");
    const holder_process deep{"semaphore", {root + "/x/y/z"}};
    BOOST_TEST(colock({"ls", root}).status == 1);
    const auto r = colock({"ls", "-r", root});
    BOOST_TEST(r.status == 0, r.err);
    BOOST_TEST(has(r.out, root + "/x/y/z  semaphore"), r.out);
    BOOST_TEST(!has(r.out, "leases"));
}

// A client that may create two nodes there would hide the locks from all alerts.
BOOST_AUTO_TEST_CASE(nodes_beside_a_lock_make_no_group_of_its_directory)
{
    const auto app = root + "/app", shop = root + "/shop", team = root + "/team";
    const holder_process a{"mutex", {app + "/lock"}};
    const holder_process b{"mutex", {shop + "/lock"}};
    admin.create(team);
    for (const auto& node : {app + "/!", app + "/~", team + "/ann", team + "/zoe"}) {
        admin.create(node, "", admin_session::mode::ephemeral);
    }
    admin.create(shop + "/definition", "1 shards");
    for (const auto& arguments : {std::vector<std::string>{"ls", app},
                                  {"ls", "-r", root},
                                  {"ls", "-r", "--json", root},
                                  {"ls", "-r", "--prometheus", root},
                                  {"top", app}}) {
        const auto r = colock(arguments);
        BOOST_TEST(r.status == 0, r.err);
        BOOST_TEST(has(r.out, app + "/lock"), arguments[0] << ' ' << arguments[1] << r.out);
        BOOST_TEST(!has(r.out, app + "  group"), r.out);
        if (arguments[1] == "-r") {
            BOOST_TEST(has(r.out, shop + "/lock"), r.out);
        }
    }
    for (const auto* command : {"ls", "top"}) {
        const auto r = colock({command, shop});
        BOOST_TEST(r.status == 0, r.err);
        BOOST_TEST(has(r.out, shop + "/lock"), r.out);
    }
    const auto all = colock({"ls", "-r", root});
    BOOST_TEST(has(all.out, shop + "  shards"), all.out);
    BOOST_TEST(has(all.out, team + "  group  2 members\n"), all.out);
    BOOST_TEST(!has(all.out, team + "/ann"), all.out);
}

// `ls` of shards alone lists their members, whatever else than a lock is beside them.
BOOST_AUTO_TEST_CASE(a_node_beside_shards_hides_no_member)
{
    admin.create(root + "/definition", "1 shards");
    for (const auto* name : {"/members", "/.keep"}) {
        admin.create(root + name);
    }
    admin.create(root + "/members/ann", "", admin_session::mode::ephemeral);
    const auto r = colock({"ls", root});
    BOOST_TEST(r.status == 0, r.err);
    BOOST_TEST(has(r.out, root + "  shards  1 shard, 1 member\n    member ann, for "), r.out);
}

BOOST_AUTO_TEST_CASE(a_semaphore_that_nobody_uses_hides_no_shards)
{
    admin.create(root + "/definition", "1 shards");
    for (const auto* name : {"/members", "/leases", "/locks"}) {
        admin.create(root + name);
    }
    admin.create(root + "/members/ann", "", admin_session::mode::ephemeral);
    const auto r = colock({"ls", root});
    BOOST_TEST(has(r.out, root + "  shards  1 shard, 1 member\n    member ann, for "), r.out);
    const auto why = colock({"why", root});
    BOOST_TEST(has(why.out, root + ": shards, 1 shard, 1 member"), why.out);
}

BOOST_AUTO_TEST_CASE(shards_whose_members_a_list_hides_have_no_number_of_them)
{
    const auto shop = root + "/shop";
    admin.create(shop);
    admin.create(shop + "/definition", "2 shards");
    admin.create(shop + "/members", "", admin_session::mode::persistent, {{4, "world", "anyone"}});
    const holder_process holder{"mutex", {root + "/lock"}};
    for (const auto& path : {root, shop}) {
        const auto r = colock({"ls", path});
        BOOST_TEST((r.status == 122 && has(r.err, shop + "/members cannot be listed")), r.err);
        BOOST_TEST(has(r.out, shop + "  shards  2 shards, members unknown\n    " + shop +
                                  "/members cannot be listed: "),
                   r.out);
    }
    const auto metrics = colock({"ls", "--prometheus", root});
    BOOST_TEST(has(metrics.out, "colock_unlisted_nodes 1\n"), metrics.out);
    BOOST_TEST(has(metrics.out, "colock_lock_holders{"), metrics.out);
    BOOST_TEST(!has(metrics.out, "colock_group_members"), metrics.out);
    BOOST_TEST(has(metrics.out, "colock_group_shards{"), metrics.out);
    const auto json = colock({"ls", "--json", root});
    BOOST_TEST(!has(json.out, "\"members\":0"), json.out);
    const auto top = colock({"top", root});
    BOOST_TEST(has(top.out, shop + "/members cannot be listed: "), top.out);
}

BOOST_AUTO_TEST_CASE(the_members_of_a_group_are_read_together)
{
    constexpr std::size_t number = 20;
    const auto path = fresh_path();
    admin.create(path);
    for (std::size_t i = 0; i != number; ++i) {
        admin.create(path + "/m" + std::to_string(10 + i), "", admin_session::mode::ephemeral);
    }
    tcp_proxy proxy{look_server().connect_string()};
    auto held = proxy.on_reply({opcode::get_data}, reaction::hold, {.path_prefix = path + "/m15"});
    colock_process p{proxy.connect_string(), {"ls", path}, {"COLOCK_TICK=100ms", "COLOCK_AUTH="}};
    const auto before = 1 + 2; // the group, its first member and its last
    BOOST_TEST(wait_until([&] { return proxy.requests({opcode::get_data}) == before + number; },
                          long_enough));
    held.release();
    BOOST_TEST(p.status() == 0, p.err());
}

// A member that is read makes the others likely ones; each may be the lock of a single node as well.
BOOST_AUTO_TEST_CASE(a_member_that_cannot_be_read_hides_no_lock)
{
    const served_scene served;
    const auto ephemeral = admin_session::mode::ephemeral;
    const admin_session::options patient{.session_timeout = 40s};
    for (const auto& servers : {look_server().connect_string(), served.address}) {
        admin_session here{servers, patient};
        for (const auto* path : {"/unread", "/unread/a", "/unread/c", "/unread/d"}) {
            here.create(path);
        }
        for (const auto* path :
             {"/unread/a/ann", "/unread/a/bob", "/unread/c/x", "/unread/c/y", "/unread/d/leader"}) {
            here.create(path, "", ephemeral, {{4, "world", "anyone"}});
        }
        for (const auto* path : {"/unread/a/zoe", "/unread/d/!", "/unread/d/~"}) {
            here.create(path, "", ephemeral);
        }
        const holder_process holder{"mutex", {"/unread/b"}, 20s, "-", servers};
        const auto run = [&](std::vector<std::string> words) {
            return run_colock(servers, std::move(words), {"COLOCK_TICK=100ms", "COLOCK_AUTH="});
        };
        const auto above = run({"ls", "-l", "/unread"});
        BOOST_TEST(above.status == 0, above.err);
        BOOST_TEST(has(above.out, "/a  group  3 members\n    members cannot be read: "), above.out);
        BOOST_TEST(has(above.out, "/unread/b  mutex  0 wait\n    held by "), above.out);
        const auto all = run({"ls", "-r", "--json", "/unread"});
        BOOST_TEST(all.status == 122, all.err);
        BOOST_TEST(has(all.out, "\"unlisted\":[\"/unread/a/ann\",\"/unread/a/bob\","
                                "\"/unread/c/x\",\"/unread/c/y\",\"/unread/d/leader\"]"),
                   all.out);
        const auto metrics = run({"ls", "-r", "--prometheus", "/unread"});
        BOOST_TEST(has(metrics.out, "colock_group_members{path=\"/unread/a\"} 3\n"), metrics.out);
        BOOST_TEST(has(metrics.out, "colock_unlisted_nodes 5\n"), metrics.out);
        const auto locks = run({"ls", "/unread/c"});
        BOOST_TEST((locks.status == 122 && !has(locks.out, "group")), locks.out << locks.err);
        const auto top = run({"top", "/unread/c"});
        BOOST_TEST((top.status == 122 && has(top.out, "/unread/c/y")), top.out << top.err);
        const auto beside = run({"top", "/unread/d"});
        BOOST_TEST(has(beside.out, "/unread/d/leader "), beside.out);
        const auto one = run({"ls", "/unread/d"});
        BOOST_TEST((one.status == 122 && has(one.err, "/unread/d/leader")), one.err);
    }
}

// Servers take them, and no request of colock can name them.
BOOST_AUTO_TEST_CASE(a_path_that_is_too_long_hides_no_lock)
{
    const holder_process holder{"mutex", {root + "/lock"}};
    std::string deep = root + "/deep";
    admin.create(deep);
    while (deep.size() <= 4096) {
        deep += '/' + std::string(250, 'd');
        admin.create(deep);
    }
    const auto r = colock({"ls", "-r", root});
    BOOST_TEST(r.status == 122, r.err);
    BOOST_TEST(has(r.out, root + "/lock  mutex"), r.out);
    BOOST_TEST((is_one_line(r.err) && !has(r.err, "READ")), r.err);
    const auto json = colock({"ls", "-r", "--json", root});
    BOOST_TEST(has(json.out, "\"unlisted\":[\"" + root + "/deep/"), json.out);
    BOOST_TEST(has(json.out, "\"kind\":\"mutex\""), json.out);
    const auto metrics = colock({"ls", "-r", "--prometheus", root});
    BOOST_TEST(metrics.status == 0, metrics.err);
    BOOST_TEST(has(metrics.out, "colock_unlisted_nodes 1\n"), metrics.out);
    BOOST_TEST(has(metrics.out, "colock_lock_holders{path=\"" + root + "/lock\""), metrics.out);
    const auto doctor = colock({"doctor", root});
    BOOST_TEST(has(doctor.out, "no request can name"), doctor.out);
    const auto top = colock({"top", deep.substr(0, deep.rfind('/'))});
    BOOST_TEST(top.status == 1, top.err);
}

BOOST_AUTO_TEST_CASE(metrics_for_prometheus)
{
    const auto none = colock({"ls", "--prometheus", root});
    BOOST_TEST(none.status == 0, none.err);
    BOOST_TEST(has(none.out, "colock_unlisted_nodes 0\n"), none.out);
    BOOST_TEST(!has(none.out, "colock_lock_holders"), none.out);

    const auto odd = root + "/a \"b\\c{d}";
    const holder_process holder{"mutex", {odd}};
    const holder_process permit{"semaphore", {root + "/api"}};
    enter(odd, contender_name(), "host=h pid=1 program=w");
    const auto r = colock({"ls", "-r", "--prometheus", root});
    BOOST_TEST(r.status == 0, r.err);
    const auto labels = "{path=\"" + root + "/a \\\"b\\\\c{d}\",kind=\"mutex\"} ";
    BOOST_TEST(has(r.out, "colock_lock_holders" + labels + "1\n"), r.out);
    BOOST_TEST(has(r.out, "colock_lock_waiters" + labels + "1\n"), r.out);
    BOOST_TEST(has(r.out, "colock_lock_holder_since_timestamp_seconds" + labels), r.out);
    BOOST_TEST(has(r.out, "colock_lock_permits{path=\"" + root + "/api\",kind=\"semaphore\"} 1\n"),
               r.out);
    if (const auto tool = find_program("promtool"); !tool.empty()) {
        const temporary_directory files;
        std::ofstream{files.path() + "/text"} << r.out;
        subprocess check{{"/bin/sh", "-c", tool + " check metrics <" + files.path() + "/text"}};
        BOOST_TEST(check.wait().success());
    } else {
        BOOST_TEST_MESSAGE("skipped: there is no promtool");
    }
    BOOST_TEST(colock({"ls", "--prometheus", "--json", root}).status == 125);
}

BOOST_AUTO_TEST_CASE(where_there_is_no_lock_one_line_says_what_to_do)
{
    const auto missing = colock({"ls", root + "/missing"});
    BOOST_TEST((missing.status == 1 && is_one_line(missing.err)), missing.err);
    BOOST_TEST(has(missing.err, "does not exist"));
    const auto empty = colock({"ls", root});
    BOOST_TEST((empty.status == 1 && is_one_line(empty.err)), empty.err);
    const auto bad = colock({"ls", "relative"});
    BOOST_TEST((bad.status == 125 && is_one_line(bad.err)), bad.err);
    const auto too_long = colock({"ls", '/' + std::string(100'000, 'x')});
    BOOST_TEST((too_long.status == 125 && has(too_long.err, "4096 bytes")), too_long.err);

    admin_session hidden{look_server().connect_string(), patient()};
    hidden.add_auth("digest", "a:b");
    hidden.create(root + "/hidden", "", admin_session::mode::persistent, {{31, "auth", ""}});
    const auto refused = colock({"ls", root + "/hidden"});
    BOOST_TEST((refused.status == 122 && is_one_line(refused.err)), refused.err);
    BOOST_TEST(has(refused.err, "lacks READ on " + root + "/hidden; use --auth"));
    const auto below = colock({"ls", root});
    BOOST_TEST((below.status == 122 && is_one_line(below.err)), below.err);
}

BOOST_AUTO_TEST_CASE(servers_that_do_not_come_back_end_it)
{
    for (const auto* command : {"ls", "why", "top"}) {
        tcp_proxy proxy{look_server().connect_string()};
        const auto held = proxy.on_request({opcode::sync}, reaction::hold);
        colock_process p{proxy.connect_string(),
                         {command, "--session-timeout", "1s", root},
                         {"COLOCK_TICK=100ms", "COLOCK_AUTH="}};
        BOOST_TEST(held.wait(long_enough));
        proxy.refuse(true, refusal::close_at_once);
        proxy.cut();
        BOOST_TEST(p.status() == 121, p.err());
        BOOST_TEST(is_one_line(p.err()), p.err());
    }
}

BOOST_AUTO_TEST_CASE(text_of_others_cannot_reach_the_terminal)
{
    const auto path = root + "/\xe2\x80\xae"
                             "evil";
    admin.create(path);
    enter(path, contender_name(), "host=\x1b]0;x\x07 pid=1 program=\x1b[2J");
    for (const auto& arguments :
         {std::vector<std::string>{"ls", path}, {"ls", "--json", path}, {"why", path}}) {
        const auto r = colock(arguments);
        BOOST_TEST(r.status == 0, r.err);
        BOOST_TEST(!has(r.out, "\x1b"));
        BOOST_TEST(!has(r.out, "\xe2\x80\xae"));
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::look_ls_test
