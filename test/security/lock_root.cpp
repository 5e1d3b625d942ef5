// A root for locks that others cannot write to: how it is made, and what is refused.
#include <colock/mutex.hpp>
#include <support/requests_of.hpp>

#include "root_scene.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::lock_root_test {

using namespace std::chrono_literals;

namespace {

using scene = root_scene;

} // namespace

BOOST_AUTO_TEST_SUITE(lock_root, *boost::unit_test::fixture<one_server>())

BOOST_FIXTURE_TEST_CASE(it_is_made_with_its_parents_and_checked_again, scene)
{
    connect();
    const auto path = root + "/a/b/locks";
    BOOST_TEST(!ensure(path));
    check_protected(path);
    BOOST_TEST(refused([&] { stranger.create(root + "/a/x"); }) == -102);
    BOOST_TEST(!ensure(path));
    BOOST_TEST(why.message().empty());
    check_protected(path);

    mutex m{zk, path + "/stock"};
    const outcome<unique_lock> locked;
    m.async_lock(locked.handler());
    auto held = value_of(io, locked);
    BOOST_TEST(!ensure(path));
    close();
}

BOOST_FIXTURE_TEST_CASE(a_list_that_protects_nothing_is_refused, scene)
{
    connect();
    const auto requests = requests_of(zk);
    BOOST_TEST(ensure(root + "/locks", open_acl()) == errc::invalid_option);
    BOOST_TEST(says("lock root " + root + "/locks: "));
    BOOST_TEST(says("world:anyone may READ, WRITE, CREATE, DELETE, ADMIN"));
    BOOST_TEST(says("creator_acl()"));
    auto half_open = creator_acl();
    half_open.push_back({permission_read | permission_delete, "world", "anyone"});
    BOOST_TEST(ensure(root + "/locks", half_open) == errc::invalid_option);
    BOOST_TEST(says("world:anyone may READ, DELETE"));
    BOOST_TEST(ensure(root + "/locks", access_control_list{}) == errc::invalid_option);
    BOOST_TEST(ensure("locks") == errc::invalid_path);
    BOOST_TEST(ensure(root + "/") == errc::invalid_path);
    BOOST_TEST(requests_of(zk) == requests); // nothing was sent

    const access_control_list others{{permission_all, "digest", "other:hash"}};
    BOOST_TEST(ensure(root + "/locks", others) == zookeeper_errc::no_auth);
    BOOST_TEST(says("lacks CREATE on " + root + "/locks"));
    BOOST_TEST(!admin.exists(root + "/locks"));

    auto readable = creator_acl();
    readable.push_back({permission_read, "world", "anyone"});
    BOOST_TEST(!ensure(root + "/locks", readable));
    check_protected(root + "/locks");
    BOOST_TEST(!ensure(root + "/locks")); // others may still read
    close();
}

BOOST_AUTO_TEST_CASE(the_options_of_a_client_protect_nothing_by_default)
{
    scene s{client_options{}};
    s.connect();
    BOOST_TEST(s.ensure(s.root + "/locks") == errc::invalid_option);
    BOOST_TEST(s.ensure(s.root + "/locks", creator_acl()) == zookeeper_errc::invalid_acl);
    BOOST_TEST(s.says("/locks"));
    s.close();
}

BOOST_FIXTURE_TEST_CASE(one_that_exists_and_is_open_is_refused_with_the_entry, scene)
{
    connect();
    const auto path = root + "/locks";
    admin.create(path);
    BOOST_TEST(ensure(path) == errc::unprotected);
    BOOST_TEST(admin.children(path).empty());
    BOOST_TEST(says(path));
    BOOST_TEST(says("world:anyone may READ, WRITE, CREATE, DELETE, ADMIN"));
    BOOST_TEST(says("async_set_acl"));

    // As the error says: whoever may do so replaces the list.
    const outcome<> replaced;
    zk.async_set_acl(path, creator_acl(), replaced.handler());
    value_of(io, replaced);
    BOOST_TEST(!ensure(path));
    check_protected(path);

    close();
}

BOOST_FIXTURE_TEST_CASE(another_identity_in_the_list_is_one_too_many, scene)
{
    connect();
    const auto path = root + "/locks";
    admin.add_auth("digest", secret);
    admin.add_auth("digest", "other:secret");
    admin.create(path, "", admin_session::mode::persistent, {{permission_all, "auth", ""}});
    BOOST_TEST(ensure(path) == errc::unprotected);
    BOOST_TEST(says("digest:other may "));
    // It is none where the program names it, too.
    auto both = creator_acl();
    for (const auto& each : admin.get_acl(path)) {
        both.push_back({each.permissions, each.scheme, each.id});
    }
    BOOST_TEST(!ensure(path, both));
    close();
}

// The servers mask its hash, and a stranger may have chosen the same name.
BOOST_FIXTURE_TEST_CASE(who_may_not_administer_cannot_tell_whose_it_is, scene)
{
    connect();
    const access_control_list no_admin{{permission_all & ~permission_admin, "auth", ""}};
    const auto path = root + "/locks";
    BOOST_TEST(!ensure(path, no_admin)); // made by itself
    BOOST_TEST(ensure(path, no_admin) == errc::unprotected);
    BOOST_TEST(says("digest:orders may "));
    BOOST_TEST(says("without ADMIN"));
    close();
}

BOOST_FIXTURE_TEST_CASE(one_that_a_stranger_made_first_is_refused_with_what_is_missing, scene)
{
    connect();
    const auto make = [&](const std::string& name, int for_all) {
        std::vector<admin_session::acl_entry> acl{{permission_all, "auth", ""}};
        if (for_all != 0) {
            acl.push_back({for_all, "world", "anyone"});
        }
        return stranger.create(root + name, "", admin_session::mode::persistent, acl);
    };
    const auto hidden = make("/hidden", 0);
    BOOST_TEST(ensure(hidden) == zookeeper_errc::no_auth);
    BOOST_TEST(says("lacks READ or ADMIN on " + hidden));
    const auto shown = make("/shown", permission_read);
    BOOST_TEST(ensure(shown) == zookeeper_errc::no_auth);
    BOOST_TEST(says("lacks CREATE on " + shown));
    const auto inviting = make("/inviting", permission_all);
    BOOST_TEST(ensure(inviting) == errc::unprotected);
    BOOST_TEST(says("digest:stranger may "));
    BOOST_TEST(ensure(hidden + "/below") == zookeeper_errc::no_auth);
    BOOST_TEST(says("lacks CREATE on " + hidden));
    BOOST_TEST(ensure(hidden + "/far/below") == zookeeper_errc::no_auth);
    BOOST_TEST(says("lacks CREATE on " + hidden));

    // Only the keeper is a stranger's: he made it when he still could.
    const auto late = root + "/late";
    admin.create(late);
    stranger.create(late + "/.keep", "", admin_session::mode::ephemeral);
    const outcome<> replaced;
    zk.async_set_acl(late, creator_acl(), replaced.handler());
    value_of(io, replaced);
    BOOST_TEST(ensure(late) == errc::unprotected);
    BOOST_TEST(says(late + "/.keep"));
    close();
}

BOOST_FIXTURE_TEST_CASE(an_ephemeral_node_cannot_be_one, scene)
{
    connect();
    admin.create(root + "/e", "", admin_session::mode::ephemeral);
    BOOST_TEST(ensure(root + "/e") == zookeeper_errc::no_children_for_ephemerals);
    BOOST_TEST(ensure(root + "/e/locks") == zookeeper_errc::no_children_for_ephemerals);
    close();
}

BOOST_FIXTURE_TEST_CASE(several_clients_at_once_agree, scene)
{
    connect();
    std::list<client> others;
    for (int i = 0; i != 8; ++i) {
        auto options = protecting();
        options.hosts = server.connect_string();
        const outcome<> connected;
        others.emplace_back(io, std::move(options)).async_connect(connected.handler());
        value_of(io, connected);
    }
    for (int round = 0; round != repetitions(10); ++round) {
        const auto path = root + "/" + std::to_string(round) + "/a/locks";
        std::vector<outcome<>> all;
        for (auto& each : others) {
            async_ensure_lock_root(each, path, all.emplace_back().handler());
        }
        for (const auto& each : all) {
            BOOST_TEST(code_of(io, each) == error_code{});
        }
        check_protected(path);
    }
    others.clear();
    close();
}

BOOST_AUTO_TEST_CASE(a_chroot_stands_before_its_path_and_may_be_one_itself)
{
    scene s;
    auto options = protecting();
    options.hosts = s.server.connect_string();
    options.chroot = s.root + "/service";
    s.admin.create(options.chroot);
    client inner{s.io, options};
    const outcome<> connected, made, open, closed;
    inner.async_connect(connected.handler());
    value_of(s.io, connected);
    async_ensure_lock_root(inner, "/a/locks", made.handler());
    BOOST_TEST(code_of(s.io, made) == error_code{});
    s.check_protected(options.chroot + "/a/locks");
    async_ensure_lock_root(inner, "/", open.handler());
    BOOST_TEST(code_of(s.io, open) == errc::unprotected);
    s.admin.add_auth("digest", secret);
    s.admin.set_acl(options.chroot, {{permission_all, "auth", ""}});
    async_ensure_lock_root(inner, "/", closed.handler());
    BOOST_TEST(code_of(s.io, closed) == error_code{});
    BOOST_TEST(static_cast<bool>(s.admin.exists(options.chroot + "/.keep")));
}

// Each request of it, when the node is there and when it is not.
BOOST_FIXTURE_TEST_CASE(a_lost_answer_makes_no_difference, scene)
{
    connect();
    const opcode all[] = {opcode::multi, opcode::create, opcode::create2, opcode::get_acl,
                          opcode::remove};
    int number = 0;
    for (const auto lost : all) {
        for (unsigned nth = 1; nth <= 3; ++nth) {
            for (const bool there : {false, true}) {
                const auto path = root + "/" + std::to_string(++number) + "/locks";
                if (there) {
                    BOOST_TEST(!ensure(path));
                }
                const auto rule =
                    proxy.on_reply(lost, reaction::drop_and_cut, {.nth = nth, .path_prefix = root});
                BOOST_TEST_CONTEXT(name_of(lost) << " #" << nth << (there ? " again" : ""))
                {
                    BOOST_TEST(!ensure(path));
                    proxy.clear_rules();
                    check_protected(path);
                }
            }
        }
    }
    BOOST_TEST(zk.stats().connections > 5U);
    close();
}

BOOST_FIXTURE_TEST_CASE(it_waits_for_a_connection_and_outlives_the_session, scene)
{
    connect();
    disconnect();
    const auto waiting = start(root + "/locks");
    go_on(io, 20ms);
    BOOST_TEST(!waiting.done());
    end_session();
    reconnect();
    BOOST_TEST(!code_of(io, waiting));
    BOOST_TEST(becomes_true(io, [&] { return zk.stats().sessions == 2; }));
    check_protected(root + "/locks");
    close();
    BOOST_TEST(ensure(root + "/locks") == errc::client_closed);
}

BOOST_FIXTURE_TEST_CASE(without_a_session_it_is_refused, scene)
{
    BOOST_TEST(ensure(root + "/locks") == errc::not_connected);
    BOOST_TEST(!why.message().empty());
}

BOOST_FIXTURE_TEST_CASE(each_type_of_cancellation_ends_what_was_not_sent, scene)
{
    connect();
    disconnect();
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        const outcome<> o;
        asio::cancellation_signal stop;
        async_ensure_lock_root(zk, root + "/locks",
                               asio::bind_cancellation_slot(stop.slot(), o.handler()));
        go_on(io, 5ms);
        stop.emit(type);
        BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
    }
    reconnect();
    sync();
    BOOST_TEST(!admin.exists(root + "/locks"));
    close();
}

BOOST_FIXTURE_TEST_CASE(what_was_sent_ends_by_terminal_and_partial_only, scene)
{
    connect();
    const auto path = root + "/locks";
    BOOST_TEST(!ensure(path));
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        auto held = proxy.on_reply(opcode::get_acl, reaction::hold);
        const outcome<> o;
        asio::cancellation_signal stop;
        async_ensure_lock_root(zk, path, asio::bind_cancellation_slot(stop.slot(), o.handler()));
        BOOST_TEST(becomes_true(io, [&] { return held.fired() == 1; }));
        stop.emit(type);
        if (type == asio::cancellation_type::total) {
            go_on(io, 10ms);
            BOOST_TEST(!o.done());
            held.release();
            BOOST_TEST(code_of(io, o) == error_code{});
        } else {
            BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
            held.release();
        }
    }
    sync();
    check_protected(path); // and no probe is left
    close();
}

// Its caller has gone, and the connection breaks with the answer to the removal of the probe.
BOOST_FIXTURE_TEST_CASE(a_probe_does_not_outlive_its_caller, scene)
{
    connect();
    const auto path = root + "/locks";
    BOOST_TEST(!ensure(path));
    auto held = proxy.on_request(opcode::remove, reaction::hold);
    const outcome<> o;
    asio::cancellation_signal stop;
    async_ensure_lock_root(zk, path, asio::bind_cancellation_slot(stop.slot(), o.handler()));
    BOOST_TEST(becomes_true(io, [&] { return held.fired() == 1; }));
    stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
    proxy.cut();
    BOOST_TEST(becomes_true(io, [&] {
        admin_session owner{server.connect_string()};
        owner.add_auth("digest", secret);
        return owner.children(path).size() == 1;
    }));
    close();
}

// The same of a former round, where the removal waits for a connection.
BOOST_AUTO_TEST_CASE(nor_does_a_probe_whose_removal_was_not_sent)
{
    scene s;
    auto options = protecting();
    options.hosts = s.proxy.connect_string();
    options.chroot = s.root;
    s.admin.add_auth("digest", secret);
    s.admin.set_acl(s.root, {{permission_all, "auth", ""}});
    client inner{s.io, options};
    const outcome<> connected, made, o;
    inner.async_connect(connected.handler());
    value_of(s.io, connected);
    async_ensure_lock_root(inner, "/", made.handler());
    BOOST_TEST(code_of(s.io, made) == error_code{});
    auto held = s.proxy.on_request(opcode::remove, reaction::hold);
    asio::cancellation_signal stop;
    async_ensure_lock_root(inner, "/", asio::bind_cancellation_slot(stop.slot(), o.handler()));
    BOOST_TEST(becomes_true(s.io, [&] { return held.fired() == 1; }));
    s.proxy.refuse(true);
    s.proxy.cut();
    BOOST_TEST(becomes_true(s.io, [&] { return inner.stats().waiting == 5; })); // a round
    stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(s.io, o) == asio::error::operation_aborted);
    s.proxy.refuse(false);
    BOOST_TEST(becomes_true(s.io, [&] { return s.admin.children(s.root).size() == 1; }));
    BOOST_TEST(inner.stats().sessions == 1U);
}

BOOST_AUTO_TEST_CASE(a_client_that_goes_takes_it_along)
{
    outcome<> closed, destroyed;
    {
        scene s;
        s.connect();
        s.disconnect();
        closed = s.start(s.root + "/locks");
        go_on(s.io, 5ms);
        s.zk = client{s.io, {.hosts = s.proxy.connect_string()}};
        BOOST_TEST(code_of(s.io, closed) == asio::error::operation_aborted);
        s.proxy.refuse(false);
        s.connect();
        s.disconnect();
        destroyed = s.start(s.root + "/locks", creator_acl());
        go_on(s.io, 5ms);
    }
    BOOST_TEST(!destroyed.done());
}

// A read that is refused so is not repeated behind those that follow it: the next round reads all.
BOOST_FIXTURE_TEST_CASE(a_busy_server_and_a_moved_session_make_no_difference, scene)
{
    connect();
    const auto path = root + "/locks";
    BOOST_TEST(!ensure(path));
    constexpr int session_moved = -118, throttled = -127;
    for (const auto code : {throttled, session_moved}) {
        for (const auto lost : {opcode::multi, opcode::create2, opcode::get_acl, opcode::remove}) {
            proxy.on_reply(lost, reaction::replace, {.path_prefix = path, .replacement = code});
            BOOST_TEST_CONTEXT(name_of(lost) << ' ' << code)
            {
                BOOST_TEST(!ensure(path));
                proxy.clear_rules();
                check_protected(path);
            }
        }
    }
    close();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::lock_root_test
