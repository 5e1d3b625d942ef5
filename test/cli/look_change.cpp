// `colock revoke` and `colock break`, on pipes and on a terminal.
#include <support/pseudo_terminal.hpp>

#include "look_scene.hpp"
#include "served_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>

namespace colock::test::look_change_test {

namespace {

struct change_scene : look_scene {
    bool is_gone(const std::string& node)
    {
        return wait_until([&] { return !admin.exists(node); }, long_enough);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(look_change, change_scene)

BOOST_AUTO_TEST_CASE(revoke_says_whom_it_asked)
{
    const auto path = fresh_path();
    const holder_process holder{"mutex", {path}};
    const auto node = first_node(path);
    const auto r = colock({"revoke", path});
    BOOST_TEST(r.status == 0, r.err);
    BOOST_TEST(r.out.starts_with("asked "), r.out);
    BOOST_TEST(has(r.out, "(look_holder), " + node));
    BOOST_TEST(
        admin.get(node).ends_with("__REVOKE__")); // which its owner may have written below its own
    const auto late = colock({"revoke", "--wait", "50ms", path});
    BOOST_TEST((late.status == 124 && is_one_line(late.err)), late.err);
    BOOST_TEST(has(late.err, "not all have released"));
}

// Of a holder that keeps the lock, and whose node does not say any more who it is.
BOOST_AUTO_TEST_CASE(why_says_that_the_holder_was_asked)
{
    const auto path = fresh_path();
    admin.create(path);
    enter(path, contender_name());
    BOOST_TEST(colock({"revoke", path}).status == 0);
    const auto r = colock({"why", path});
    BOOST_TEST(has(r.out, "was asked to release it, and has not yet"), r.out);
    BOOST_TEST(!has(r.out, "and works"), r.out);
}

BOOST_AUTO_TEST_CASE(revoke_waits_until_all_have_let_go)
{
    const auto path = fresh_path();
    admin.create(path);
    const auto node = enter(path, contender_name("__READ__"));
    const auto other = enter(path, contender_name("__READ__"));
    colock_process p{
        look_server().connect_string(), {"revoke", "--wait", "30s", path}, {"COLOCK_TICK=100ms"}};
    BOOST_TEST(wait_until([&] { return admin.get(other) == "__REVOKE__"; }, long_enough));
    admin.remove(node);
    admin.remove(other);
    BOOST_TEST(p.status() == 0, p.err());
    BOOST_TEST(has(p.out(), "all have released it\n"));
    const auto none = colock({"revoke", path});
    BOOST_TEST((none.status == 1 && is_one_line(none.err)), none.err);
}

BOOST_AUTO_TEST_CASE(revoke_does_not_wait_for_a_successor)
{
    // A single node: the path of the next holder is the same.
    const auto path = fresh_path();
    admin.create(path, "first", admin_session::mode::ephemeral);
    colock_process p{
        look_server().connect_string(), {"revoke", "--wait", "10s", path}, {"COLOCK_TICK=100ms"}};
    BOOST_TEST(wait_until([&] { return admin.get(path) == "__REVOKE__"; }, long_enough));
    p.process().send_signal(SIGSTOP); // so that it sees both at once
    admin.remove(path);
    admin.create(path, "second", admin_session::mode::ephemeral);
    p.process().send_signal(SIGCONT);
    BOOST_TEST(p.status() == 0, p.err());
    BOOST_TEST(has(p.out(), "all have released it\n"), p.out());
    BOOST_TEST(admin.get(path) == "second");
}

BOOST_AUTO_TEST_CASE(permits_cannot_be_asked_for)
{
    const auto path = fresh_path();
    admin.create_path(path + "/leases");
    const auto lease = admin.create(path + "/leases/_c_01234567-89ab-cdef-0123-456789abcdef-lease-",
                                    "mine", admin_session::mode::ephemeral_sequential);
    const auto r = colock({"revoke", path});
    BOOST_TEST((r.status == 125 && is_one_line(r.err)), r.err);
    BOOST_TEST(has(r.err, "is a semaphore"), r.err);
    BOOST_TEST(admin.get(lease) == "mine");
}

BOOST_AUTO_TEST_CASE(which_of_several_locks_has_to_be_said)
{
    const auto path = fresh_path();
    admin.create(path);
    const auto curator = enter(path, contender_name());
    const auto kazoo = enter(path, kazoo_name());
    const auto waiter = enter(path, kazoo_name());
    for (const auto* command : {"revoke", "break"}) {
        const auto r = colock({command, path});
        BOOST_TEST((r.status == 125 && is_one_line(r.err)), r.err);
        BOOST_TEST(has(r.err, "used by several locks"), r.err);
    }
    BOOST_TEST((admin.get(curator) != "__REVOKE__" && admin.get(kazoo) != "__REVOKE__"));
    BOOST_TEST(colock({"revoke", "--node", waiter, path}).status == 1);
    BOOST_TEST(colock({"revoke", "--node", curator, path}).status == 0);
    BOOST_TEST((admin.get(curator) == "__REVOKE__" && admin.get(kazoo) != "__REVOKE__"));
    const auto lost = colock({"break", "--yes", "--node", waiter, path});
    BOOST_TEST((lost.status == 0 && has(lost.err, "loses its place")), lost.err);
    BOOST_TEST(colock({"break", "--yes", "--node", curator, path}).status == 0);
    BOOST_TEST((!admin.exists(curator) && admin.exists(kazoo) && !admin.exists(waiter)));
}

BOOST_AUTO_TEST_CASE(a_node_may_be_named_as_it_is_shown)
{
    const auto path = fresh_path();
    admin.create(path);
    const auto holder = enter(path, "\xe2\x80\xae-lock-"); // turns the direction of the text
    const auto other = enter(path, "\xe2\x80\xae-lock-");
    const auto r = colock({"break", "--yes", "--node",
                           R"(\xe2\x80\xae-lock-)" + other.substr(other.size() - 10), path});
    BOOST_TEST(r.status == 0, r.err);
    BOOST_TEST((admin.exists(holder) && !admin.exists(other)));
}

BOOST_AUTO_TEST_CASE(break_needs_yes_without_a_terminal)
{
    const auto path = fresh_path();
    holder_process holder{"mutex", {path}};
    const auto node = first_node(path);
    const auto waiting = enter(path, contender_name());
    const auto r = colock({"break", path});
    BOOST_TEST(r.status == 125);
    BOOST_TEST(has(r.err, "its session is alive"), r.err);
    BOOST_TEST(has(r.err, "say --yes"), r.err);
    BOOST_TEST(admin.exists(node).has_value());

    const auto sure = colock({"break", "--yes", path});
    BOOST_TEST(sure.status == 0, sure.err);
    BOOST_TEST(has(sure.out, "broke "), sure.out);
    BOOST_TEST(has(sure.out, node));
    BOOST_TEST(has(sure.out, "now first: elsewhere:7 (worker)"), sure.out);
    BOOST_TEST(is_gone(node));
    BOOST_TEST(admin.exists(waiting).has_value());
}

BOOST_AUTO_TEST_CASE(break_asks_on_a_terminal)
{
    const auto path = fresh_path();
    holder_process holder{"mutex", {path}, 60s};
    const auto node = first_node(path);
    holder.process().kill();
    {
        pseudo_terminal t{words({"break", path}), environment()};
        BOOST_TEST(t.wait_for("it seems dead: process "), t.output());
        BOOST_TEST(t.wait_for("greater fencing token"));
        BOOST_TEST(t.wait_for("[y/N] "));
        t.send("\r");
        const auto ended = t.wait_for_exit();
        BOOST_TEST((ended && ended->code == 1), t.output());
        BOOST_TEST(has(t.output(), "nothing was deleted"));
        BOOST_TEST(admin.exists(node).has_value());
    }
    {
        pseudo_terminal t{words({"break", path}), environment()};
        BOOST_TEST(t.wait_for("[y/N] "), t.output());
        t.send("\x03");
        const auto ended = t.wait_for_exit();
        BOOST_TEST((ended && ended->signal == SIGINT), t.output());
        BOOST_TEST(admin.exists(node).has_value());
    }
    pseudo_terminal t{words({"break", path}), environment()};
    BOOST_TEST(t.wait_for("[y/N] "), t.output());
    t.send("y\r");
    const auto ended = t.wait_for_exit();
    BOOST_TEST((ended && ended->code == 0), t.output());
    BOOST_TEST(is_gone(node));
}

BOOST_AUTO_TEST_CASE(break_never_deletes_a_successor)
{
    // A single node: the path of the next holder is the same.
    const auto path = fresh_path();
    admin.create(path, "first", admin_session::mode::ephemeral);
    pseudo_terminal t{words({"break", path}), environment()};
    BOOST_TEST(t.wait_for("[y/N] "), t.output());
    admin.remove(path);
    admin.create(path, "second", admin_session::mode::ephemeral);
    t.send("y\r");
    const auto ended = t.wait_for_exit();
    BOOST_TEST((ended && ended->code == 122), t.output());
    BOOST_TEST(has(t.output(), "left alone"), t.output());
    BOOST_TEST(admin.get(path) == "second");

    const auto sure = colock({"break", "--yes", path});
    BOOST_TEST(sure.status == 0, sure.out << sure.err);
    BOOST_TEST(!admin.exists(path));
}

BOOST_AUTO_TEST_CASE(break_leaves_a_waiter_alone_that_holds_meanwhile)
{
    const auto path = fresh_path();
    admin.create(path);
    const auto holder = enter(path, contender_name());
    const auto waiter = enter(path, contender_name());
    pseudo_terminal t{words({"break", "--node", waiter, path}), environment()};
    BOOST_TEST(t.wait_for("loses its place"), t.output());
    BOOST_TEST(t.wait_for("[y/N] "), t.output());
    admin.remove(holder);
    t.send("y\r");
    const auto ended = t.wait_for_exit();
    BOOST_TEST((ended && ended->code == 122), t.output());
    BOOST_TEST(has(t.output(), "nothing was deleted: meanwhile"), t.output());
    BOOST_TEST(admin.exists(waiter).has_value());
}

BOOST_AUTO_TEST_CASE(break_takes_one_of_several_or_all)
{
    const auto path = fresh_path();
    admin.create(path);
    const auto first = enter(path, contender_name("__READ__"));
    const auto second = enter(path, contender_name("__READ__"));
    const auto third = enter(path, contender_name("__READ__"));
    const auto waiter = enter(path, contender_name("__WRIT__"));
    const auto r = colock({"break", "--yes", path});
    BOOST_TEST((r.status == 125 && is_one_line(r.err)), r.err);
    const auto name = second.substr(second.rfind('/') + 1);
    BOOST_TEST(colock({"break", "--yes", "--node", name, path}).status == 0);
    BOOST_TEST((admin.exists(first) && !admin.exists(second) && admin.exists(third)));
    BOOST_TEST(colock({"break", "--yes", "--all", path}).status == 0);
    BOOST_TEST((!admin.exists(first) && !admin.exists(third) && admin.exists(waiter)));
}

BOOST_AUTO_TEST_CASE(break_refuses_what_is_no_lock)
{
    admin.create(root + "/data");
    admin.create(root + "/data/important");
    for (const auto& arguments :
         {std::vector<std::string>{"break", "--yes", root + "/data"},
          {"break", "--yes", root + "/data/important"},
          {"break", "--yes", root + "/missing"},
          {"break", "--yes", "--node", root + "/data/important", root + "/data"}}) {
        const auto r = colock(arguments);
        BOOST_TEST((r.status == 122 || r.status == 1), r.err);
        BOOST_TEST(is_one_line(r.err), r.err);
    }
    BOOST_TEST(admin.exists(root + "/data/important").has_value());
}

// The servers remove the directory of a lock some minutes after its last use.
BOOST_AUTO_TEST_CASE(break_finds_nobody_at_a_lock_that_has_been_released)
{
    const auto path = fresh_path();
    admin.create(path);
    const auto r = colock({"break", "--yes", path});
    BOOST_TEST((r.status == 1 && is_one_line(r.err)), r.err);
    BOOST_TEST(has(r.err, "nobody holds " + path), r.err);
    BOOST_TEST(admin.exists(path).has_value());
}

BOOST_AUTO_TEST_CASE(break_forgets_the_runs_of_a_job)
{
    const auto path = fresh_path() + ".runs";
    admin.create(path, "colock job due=2026-11-27T03:00:00Z ended=failure failed=1");
    const auto asked = colock({"break", path});
    BOOST_TEST(asked.status == 125);
    BOOST_TEST(has(asked.err, "ended=failure"), asked.err);
    BOOST_TEST(admin.exists(path).has_value());
    pseudo_terminal t{words({"break", path}), environment()};
    BOOST_TEST(t.wait_for("[y/N] "), t.output());
    admin.set(path, "colock job due=2026-11-28T03:00:00Z ended=none failed=0");
    t.send("y\r");
    const auto ended = t.wait_for_exit();
    BOOST_TEST((ended && ended->code == 122), t.output());
    BOOST_TEST(admin.exists(path).has_value());
    const auto sure = colock({"break", "--yes", path});
    BOOST_TEST((sure.status == 0 && sure.out == "deleted " + path + '\n'), sure.out << sure.err);
    BOOST_TEST(!admin.exists(path).has_value());
}

BOOST_AUTO_TEST_CASE(break_deletes_what_it_may_not_read)
{
    const served_scene served;
    admin_session owner{served.address, patient()};
    owner.add_auth("digest", "a:b");
    owner.create("/lock");
    const auto node = owner.create("/lock/" + contender_name(), "x",
                                   admin_session::mode::ephemeral_sequential, {{31, "auth", ""}});
    const auto r = run_colock(served.address, {"break", "--yes", "/lock"},
                              {"COLOCK_TICK=100ms", "COLOCK_AUTH="});
    BOOST_TEST(r.status == 0, r.err);
    BOOST_TEST(r.out.starts_with("broke "), r.out);
    BOOST_TEST(!owner.exists(node).has_value());
}

BOOST_AUTO_TEST_CASE(break_tells_a_missing_permission)
{
    admin_session owner{look_server().connect_string(), patient()};
    owner.add_auth("digest", "a:b");
    const auto path = fresh_path();
    owner.create(path, "", admin_session::mode::persistent,
                 {{31, "auth", ""}, {1, "world", "anyone"}});
    const auto node =
        owner.create(path + '/' + contender_name(), "x", admin_session::mode::ephemeral_sequential);
    const auto r = colock({"break", "--yes", path});
    BOOST_TEST(r.status == 122, r.err);
    BOOST_TEST(has(r.err, "permission"), r.err);
    BOOST_TEST(admin.exists(node).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::look_change_test
