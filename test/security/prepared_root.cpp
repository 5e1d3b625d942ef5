// A stranger was there before the client, or comes in between, and prepares the root, its keeper or the probe.
#include <support/requests_of.hpp>

#include "root_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace colock::test::prepared_root_test {

namespace {

using scene = root_scene;

} // namespace

BOOST_AUTO_TEST_SUITE(prepared_root, *boost::unit_test::fixture<one_server>())

// A stranger who may write to the parent deletes the root and makes his own as fast as he can, in a thread of his own.
BOOST_FIXTURE_TEST_CASE(no_stranger_comes_in_between, scene)
{
    connect();
    for (int round = 0; round != repetitions(20); ++round) {
        const auto path = root + "/" + std::to_string(round);
        std::atomic<bool> stop{false};
        std::atomic<int> made{0};
        std::thread quick{[&] {
            while (!stop) {
                made += refused([&] { stranger.create(path); }) == 0 ? 1 : 0;
                refused([&] { stranger.remove(path); });
            }
        }};
        if (round % 2 == 0) { // else they begin together
            BOOST_TEST(becomes_true(io, [&] { return made != 0; }));
        }
        const auto ec = code_of(io, start(path));
        stop = true;
        quick.join();
        // The keeper keeps an open root from being deleted, so it is found.
        BOOST_TEST((!ec || ec == errc::unprotected || ec == zookeeper_errc::no_node ||
                    ec == zookeeper_errc::node_exists));
        if (!ec) {
            check_protected(path);
        }
    }
    close();
}

namespace {

using acls = std::vector<admin_session::acl_entry>;
const acls open_list = admin_session::open_to_all();

// The probe that is there.
std::string probe_in(admin_session& a, const std::string& path)
{
    for (const auto& name : a.children(path)) {
        if (name.starts_with(".probe-")) {
            return path + "/" + name;
        }
    }
    return {};
}

} // namespace

// The stranger replaces the probe between its creation and the reading of its list, and once more before the next round.
BOOST_FIXTURE_TEST_CASE(a_probe_that_is_forged_is_not_believed, scene)
{
    connect();
    const auto path = root + "/locks";
    stranger.create(path, "", admin_session::mode::persistent, open_list);
    stranger.create(path + "/.keep", "", admin_session::mode::persistent, open_list);
    auto reading =
        proxy.on_request(opcode::get_acl, reaction::hold, {.path_prefix = path + "/.probe-"});
    const auto o = start(path);
    BOOST_TEST(becomes_true(io, [&] { return reading.fired() == 1; }));
    std::string probe;
    BOOST_TEST(becomes_true(io, [&] { return !(probe = probe_in(stranger, path)).empty(); }));
    stranger.remove(probe);
    stranger.create(probe, "", admin_session::mode::persistent, open_list);
    auto next_round = proxy.on_request(opcode::multi, reaction::hold);
    reading.release();
    BOOST_TEST(becomes_true(io, [&] { return next_round.fired() == 1; }));
    stranger.remove_if_there(probe);
    stranger.create(probe, "", admin_session::mode::persistent, open_list);
    next_round.release();
    BOOST_TEST(code_of(io, o) == errc::unprotected);
    BOOST_TEST(says("world:anyone"));
    close();
}

// By somebody who is allowed.
BOOST_FIXTURE_TEST_CASE(a_root_that_is_opened_between_two_readings_is_refused, scene)
{
    connect();
    const auto path = root + "/locks";
    BOOST_TEST(!ensure(path));
    admin.add_auth("digest", secret);
    auto keeping =
        proxy.on_request(opcode::multi, reaction::hold, {.nth = 2}); // after that for all
    const auto o = start(path);
    BOOST_TEST(becomes_true(io, [&] { return keeping.fired() == 1; }));
    admin.set_acl(path, open_list);
    keeping.release();
    BOOST_TEST(code_of(io, o) == errc::unprotected);
    BOOST_TEST(says("world:anyone"));
    close();
}

// The stranger makes the root, prepares nodes below it, and gives it away. The lists of root and keeper are right then.
BOOST_FIXTURE_TEST_CASE(what_was_prepared_below_is_looked_at, scene)
{
    connect();
    BOOST_TEST(!ensure(root + "/model"));
    admin.add_auth("digest", secret);
    const auto victims = admin.get_acl(root + "/model");
    constexpr auto stays = admin_session::mode::persistent;
    const auto path = root + "/locks";
    stranger.create(path);
    stranger.create(path + "/shop");
    stranger.create(path + "/shop/stock");
    stranger.create(path + "/.keep", "", stays, victims);
    stranger.set_acl(path, victims);
    BOOST_TEST(ensure(path) == errc::unprotected);
    BOOST_TEST(says("list of " + path + "/shop is not"));
    BOOST_TEST(says("look what is below it first"));

    stranger.set_acl(path + "/shop", victims); // deeper
    BOOST_TEST(ensure(path) == errc::unprotected);
    BOOST_TEST(says("list of " + path + "/shop/stock is not"));

    stranger.set_acl(path + "/shop/stock", victims);
    BOOST_TEST(!ensure(path));
    for (const auto* const each : {"", "/shop", "/shop/stock"}) {
        BOOST_TEST(refused([&] { stranger.create(path + each + "/x"); }) == -102);
    }

    const auto hidden = root + "/hidden"; // what the client may not even read
    stranger.create(hidden);
    stranger.create(hidden + "/stock", "", stays, {{permission_all, "auth", ""}});
    stranger.create(hidden + "/.keep", "", stays, victims);
    stranger.set_acl(hidden, victims);
    BOOST_TEST(ensure(hidden) == zookeeper_errc::no_auth);
    BOOST_TEST(says("on " + hidden + "/stock"));
    close();
}

// Servers delete a container when it has lost its last child, and do not tell that it is one.
BOOST_FIXTURE_TEST_CASE(a_keeper_that_could_go_by_itself_stays, scene)
{
    connect();
    BOOST_TEST(!ensure(root + "/model"));
    admin.add_auth("digest", secret);
    const auto victims = admin.get_acl(root + "/model");
    const auto path = root + "/locks";
    const auto keeper = path + "/.keep";
    stranger.create(path);
    stranger.create(keeper, "", admin_session::mode::container, open_list);
    stranger.create(keeper + "/x");
    stranger.set_acl(keeper, victims);
    stranger.set_acl(path, victims);
    stranger.create(keeper + "/x/y");
    BOOST_TEST(ensure(path) == errc::unprotected);
    BOOST_TEST(says(keeper + "/x"));
    stranger.remove(keeper + "/x/y");
    std::vector<outcome<>> at_once(5);
    for (const auto& each : at_once) {
        async_ensure_lock_root(zk, path, each.handler());
    }
    for (const auto& each : at_once) {
        BOOST_TEST(!code_of(io, each));
    }
    BOOST_TEST(!ensure(path));
    BOOST_TEST(admin.children(keeper).size() == 1U);
    BOOST_TEST(!admin.exists(keeper + "/x"));
    go_on(io, 500ms); // the server looks for empty containers each 100 ms
    check_protected(path);
    close();
}

// Servers list the containers without children, and delete one after the other, with pauses. What was made at such a path
// meanwhile is deleted, too, unless it has a child.
BOOST_AUTO_TEST_CASE(a_late_deletion_of_a_container_does_not_meet_the_keeper)
{
    zookeeper_options options;
    options.tick_time = 500ms;
    options.container_check_interval = 100ms;
    options.jvm_flags = {"-Dznode.container.maxPerMinute=120"}; // one in 500 ms
    zookeeper_server slow{options};
    root_scene s{protecting(), slow};
    s.connect();
    s.stranger.create("/used", "", admin_session::mode::persistent, open_list);
    std::vector<transaction_op> emptied;
    std::vector<std::string> roots;
    for (int i = 0; i != 8; ++i) {
        roots.push_back("/used/" + std::to_string(i));
        s.stranger.create(roots.back());
        s.stranger.create(roots.back() + "/.keep", "", admin_session::mode::container, open_list);
        s.stranger.create(roots.back() + "/.keep/x");
        emptied.push_back(remove_op(roots.back() + "/.keep/x"));
    }
    const outcome<std::vector<transaction_result>> all;
    s.zk.async_multi(emptied, all.handler());
    value_of(s.io, all);
    const auto is_there = [&](const std::string& path) {
        return s.admin.exists(path + "/.keep").has_value();
    };
    BOOST_TEST(becomes_true(s.io, [&] { return !std::ranges::all_of(roots, is_there); }));
    const auto found = std::ranges::find_if(roots, is_there);
    BOOST_REQUIRE(found != roots.end()); // else this machine stood still for seconds
    const auto last = *found;
    s.stranger.remove_if_there(last + "/.keep");
    s.stranger.remove(last);
    BOOST_TEST(!s.ensure(last));
    BOOST_TEST(becomes_true(s.io, [&] {
        return std::ranges::none_of(roots, [&](const auto& r) { return r != last && is_there(r); });
    }));
    go_on(s.io, 1s); // two deletions more
    s.check_protected(last);
    s.close();
}

// Nobody could delete the probe, nor the nodes of locks.
BOOST_FIXTURE_TEST_CASE(a_list_without_delete_is_refused, scene)
{
    connect();
    const auto requests = requests_of(zk);
    const access_control_list nobody{{permission_all & ~permission_delete, "auth", ""}};
    BOOST_TEST(ensure(root + "/locks", nobody) == errc::invalid_option);
    BOOST_TEST(says("DELETE"));
    BOOST_TEST(requests_of(zk) == requests);
    auto others = nobody; // others may, but not this client
    others.push_back({permission_all, "digest", "other:hash"});
    BOOST_TEST(!ensure(root + "/locks", others)); // made at once, without a probe
    BOOST_TEST(ensure(root + "/locks", others) == zookeeper_errc::no_auth);
    BOOST_TEST(says("lacks DELETE on " + root + "/locks"));
    close();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::prepared_root_test
