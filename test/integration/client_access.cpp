// Access control lists, and credentials that are added while the client runs.
#include <colock/diagnostics.hpp>
#include <colock/mutex.hpp>
#include <support/client_scene.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::client_access_test {

using namespace std::chrono_literals;

namespace {

const std::string secret = "me:secret";

struct scene : client_scene {
    explicit scene(client_options options = {}) : client_scene{std::move(options)}
    {
        admin.add_auth("digest", secret);
    }

    // A node for those with the credentials.
    std::string guarded_node(const std::string& name = "/mine")
    {
        admin.create(root + name);
        admin.set_acl(root + name, {{permission_all, "auth", ""}});
        return root + name;
    }

    error_code add(const std::string& user, const std::string& scheme = "digest")
    {
        const outcome<> o;
        zk.async_add_credentials(scheme, user, o.handler());
        return code_of(io, o);
    }
    error_code set_acl(const std::string& path, access_control_list acl,
                       std::int32_t version = any_version)
    {
        const outcome<> o;
        zk.async_set_acl(path, std::move(acl), version, o.handler());
        return code_of(io, o);
    }
    error_code get_acl(const std::string& path, acl_result* found = nullptr)
    {
        const outcome<acl_result> o;
        zk.async_get_acl(path, o.handler());
        const auto ec = code_of(io, o);
        if (found != nullptr) {
            *found = o.value();
        }
        return ec;
    }

    // What each connection has sent, in its order: the kinds of requests.
    std::vector<std::string> sent_first(std::size_t connection)
    {
        std::vector<std::string> kinds;
        const auto mark = "#" + std::to_string(connection) + " -> ";
        for (const auto& line : proxy.frame_log()) {
            if (const auto at = line.find(mark); at != std::string::npos) {
                const auto begin = at + mark.size();
                kinds.push_back(line.substr(begin, line.find(' ', begin) - begin));
            }
        }
        return kinds;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(client_access, *boost::unit_test::fixture<one_server>())

BOOST_FIXTURE_TEST_CASE(a_list_is_read_and_replaced_by_its_version, scene)
{
    connect();
    const auto path = root + "/a";
    BOOST_TEST(!create(path));
    acl_result found;
    BOOST_TEST(!get_acl(path, &found));
    BOOST_TEST((found.acl == open_acl()));
    BOOST_TEST(found.stat.aversion == 0);
    BOOST_TEST(found.stat.czxid == admin.exists(path)->czxid);

    const access_control_list both{{permission_all, "world", "anyone"},
                                   {permission_read | permission_write, "ip", "10.0.0.1"}};
    BOOST_TEST(!set_acl(path, both, 0));
    BOOST_TEST(set_acl(path, open_acl(), 0) == zookeeper_errc::bad_version);
    BOOST_TEST(zk.last_error_detail().find(path) != std::string::npos);
    BOOST_TEST(!get_acl(path, &found));
    BOOST_TEST((found.acl == both));
    BOOST_TEST(found.stat.aversion == 1);

    // Without a version, and with the default token.
    run(io, [](client& c, std::string node) -> asio::awaitable<void> {
        co_await c.async_set_acl(node, read_only_acl());
        const auto now = co_await c.async_get_acl(node);
        BOOST_TEST((now.acl == read_only_acl()));
    }(zk, path));

    BOOST_TEST(set_acl(path, open_acl()) == zookeeper_errc::no_auth); // as written there
    BOOST_TEST(set_acl(root + "/absent", open_acl()) == zookeeper_errc::no_node);
    BOOST_TEST(get_acl(root + "/absent") == zookeeper_errc::no_node);
    BOOST_TEST(!create(root + "/b"));
    BOOST_TEST(set_acl(root + "/b", {}) == zookeeper_errc::invalid_acl);
    // Over TLS a client is somebody from the beginning: whom its certificate is for.
    const error_code for_nobody = zookeeper_errc::invalid_acl;
    BOOST_TEST(set_acl(root + "/b", creator_acl()) == (over_tls() ? error_code{} : for_nobody));
    BOOST_TEST(set_acl(root + "/b", {{31, "unheard of", "x"}}) == zookeeper_errc::invalid_acl);
    close();
}

BOOST_FIXTURE_TEST_CASE(who_may_only_read_sees_no_secrets, scene)
{
    const auto path = guarded_node();
    admin.set_acl(path, {{permission_all, "auth", ""}, {permission_read, "world", "anyone"}});
    connect();
    acl_result found;
    BOOST_TEST(!get_acl(path, &found));
    BOOST_REQUIRE(found.acl.size() == 2U);
    BOOST_TEST(found.acl[0].id == "me:x");
    BOOST_TEST(!add(secret));
    BOOST_TEST(!get_acl(path, &found));
    BOOST_TEST(found.acl[0].id.size() > 20U);
    close();
}

BOOST_AUTO_TEST_CASE(a_chroot_stands_before_the_path_of_a_list)
{
    scene s;
    asio::io_context io;
    client inner{io, link_client({.hosts = link_hosts(s.server), .chroot = s.root})};
    s.admin.create(s.root + "/a");
    run(io, [](client& c) -> asio::awaitable<void> {
        co_await c.async_connect();
        co_await c.async_set_acl("/a", read_only_acl());
        BOOST_TEST(((co_await c.async_get_acl("/a")).acl == read_only_acl()));
        co_await c.async_close();
    }(inner));
    BOOST_TEST(s.admin.get_acl(s.root + "/a").at(0).permissions == permission_read);
}

BOOST_FIXTURE_TEST_CASE(credentials_that_are_added_have_their_rights_at_once, scene)
{
    const auto path = guarded_node();
    connect();
    const auto connection = zk.connection_id();
    BOOST_TEST(get(path) == zookeeper_errc::no_auth);
    BOOST_TEST(get_acl(path) == zookeeper_errc::no_auth);
    BOOST_TEST(set_acl(path, open_acl()) == zookeeper_errc::no_auth);
    BOOST_TEST(!add("other:one"));
    BOOST_TEST(get(path) == zookeeper_errc::no_auth);
    BOOST_TEST(!add(secret));
    BOOST_TEST(!add(secret)); // they are there already
    BOOST_TEST(!get(path));
    BOOST_TEST(!set_acl(path, open_acl()));
    BOOST_TEST(zk.connection_id() == connection);
    close();
}

BOOST_FIXTURE_TEST_CASE(requests_behind_them_need_not_wait_for_their_answer, scene)
{
    const auto path = guarded_node();
    connect();
    const outcome<> added;
    const outcome<get_result> read;
    zk.async_add_credentials("digest", secret, added.handler());
    zk.async_get(path, read.handler());
    BOOST_TEST(!code_of(io, read));
    BOOST_TEST(added.ok());
    close();
}

BOOST_FIXTURE_TEST_CASE(they_are_sent_first_on_each_later_connection_and_in_another_session, scene)
{
    const auto path = guarded_node();
    proxy.log_frames(true);
    connect();
    BOOST_TEST(!add(secret));
    BOOST_TEST(!add("other:one"));
    const auto session = zk.session_id();

    disconnect();
    const outcome<get_result> read; // it waits for the connection
    zk.async_get(path, read.handler());
    reconnect();
    BOOST_TEST(!code_of(io, read));
    BOOST_TEST(zk.session_id() == session);

    end_session();
    BOOST_TEST(becomes_true(io, [&] { return zk.stats().sessions == 2; }));
    BOOST_TEST(!get(path));
    const auto node = path + "/child";
    BOOST_TEST(!create(node, create_mode::ephemeral));

    std::size_t with_requests = 0;
    for (std::size_t connection = 2; connection <= proxy.accepted(); ++connection) {
        const auto kinds = sent_first(connection);
        if (kinds.size() > 1) {
            ++with_requests;
            BOOST_REQUIRE(kinds.size() > 3);
            BOOST_TEST(kinds[0] == "connect");
            BOOST_TEST(kinds[1] == "auth");
            BOOST_TEST(kinds[2] == "auth");
            BOOST_TEST(kinds[3] != "auth");
        }
    }
    BOOST_TEST(with_requests >= 2U);
    close();
}

BOOST_FIXTURE_TEST_CASE(a_lock_in_a_guarded_directory_is_taken_with_them_again_after_an_expiry,
                        scene)
{
    const auto path = guarded_node("/lock");
    connect();
    mutex m{zk, path};
    const outcome<unique_lock> refused;
    m.async_lock(refused.handler());
    BOOST_TEST(code_of(io, refused) == zookeeper_errc::no_auth);
    BOOST_TEST(!add(secret));
    for (int i = 0; i != 2; ++i) {
        const outcome<unique_lock> locked;
        m.async_lock(locked.handler());
        auto held = value_of(io, locked);
        const outcome<error_code> loss;
        held.async_wait_lost(loss.handler());
        end_session();
        BOOST_TEST(!code_of(io, loss));
        BOOST_TEST(loss.value() == errc::session_expired);
    }
    close();
}

BOOST_FIXTURE_TEST_CASE(while_there_is_no_connection_they_wait_for_the_next_one, scene)
{
    const auto path = guarded_node();
    connect();
    disconnect();
    const outcome<> added;
    const outcome<get_result> read;
    zk.async_add_credentials("digest", secret, added.handler());
    zk.async_get(path, read.handler());
    go_on(io, 20ms);
    BOOST_TEST(!added.done());
    reconnect();
    BOOST_TEST(!code_of(io, read));
    BOOST_TEST(added.ok());
    close();
}

BOOST_FIXTURE_TEST_CASE(those_whose_answer_is_lost_are_sent_again, scene)
{
    const auto path = guarded_node();
    connect();
    const auto lost = proxy.on_reply(opcode::exists, reaction::drop_and_cut);
    BOOST_TEST(!add(secret));
    BOOST_TEST(lost.fired() == 1U);
    BOOST_TEST(!get(path));
    close();
}

BOOST_FIXTURE_TEST_CASE(a_refusal_costs_the_connection_and_nothing_else, scene)
{
    const auto path = guarded_node();
    connect();
    BOOST_TEST(!add(secret));
    BOOST_TEST(!create(root + "/e", create_mode::ephemeral));
    const auto session = zk.session_id();

    const outcome<get_result> before;
    const outcome<> added;
    const outcome<get_result> behind;
    diagnostics why;
    zk.async_get(path, before.handler());
    zk.async_add_credentials("unheard of", "x", bind_diagnostics(why, added.handler()));
    zk.async_get(path, behind.handler());
    BOOST_TEST(code_of(io, added) == errc::credentials_refused);
    BOOST_TEST(why.message() == "the servers refuse the credentials that were added");
    BOOST_TEST(!code_of(io, before));
    BOOST_TEST(!code_of(io, behind));
    BOOST_TEST(zk.session_id() == session);
    BOOST_TEST(!get(root + "/e"));

    // They are forgotten; the others are not.
    const auto connections = zk.connection_id();
    disconnect();
    reconnect();
    BOOST_TEST(zk.connection_id() == connections + 1);
    BOOST_TEST(!get(path));
    close();
}

BOOST_FIXTURE_TEST_CASE(those_that_were_added_without_a_connection_may_be_refused_too, scene)
{
    const auto path = guarded_node();
    connect();
    BOOST_TEST(!add(secret));
    disconnect();
    const outcome<> added;
    zk.async_add_credentials("unheard of", "x", added.handler());
    proxy.refuse(false);
    BOOST_TEST(code_of(io, added) == errc::credentials_refused);
    BOOST_TEST(!get(path));
    close();
}

BOOST_FIXTURE_TEST_CASE(a_cancellation_completes_at_once_and_leaves_them_to_the_client, scene)
{
    const auto path = guarded_node();
    connect();
    disconnect();
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        const outcome<> added;
        asio::cancellation_signal stop;
        zk.async_add_credentials("digest", secret,
                                 asio::bind_cancellation_slot(stop.slot(), added.handler()));
        go_on(io, 5ms);
        BOOST_TEST(!added.done());
        stop.emit(type);
        BOOST_TEST(code_of(io, added) == asio::error::operation_aborted);
    }
    reconnect();
    BOOST_TEST(!get(path));
    close();
}

BOOST_FIXTURE_TEST_CASE(while_requests_wait_to_be_written_they_go_by_another_connection, scene)
{
    const auto path = guarded_node();
    connect();
    const auto connection = zk.connection_id();
    proxy.stall(true, direction::to_server);
    // More than the sockets take: a part of a request waits within the client.
    const std::string large(1'000'000, 'x');
    std::vector<outcome<node_stat>> writes(30);
    for (const auto& each : writes) {
        zk.async_set(root, large, any_version, each.handler());
    }
    const outcome<> added;
    zk.async_add_credentials("digest", secret, added.handler());
    BOOST_TEST(wait_for(connection_state::suspended));
    proxy.stall(false);
    BOOST_TEST(!code_of(io, added));
    BOOST_TEST(zk.connection_id() == connection + 1);
    for (const auto& each : writes) {
        BOOST_TEST(code_of(io, each) == condition::outcome_unknown);
    }
    BOOST_TEST(!get(path));
    close();
}

BOOST_FIXTURE_TEST_CASE(bad_credentials_are_refused_with_what_is_wrong, scene)
{
    BOOST_TEST(add(secret) == errc::not_connected);
    connect();
    BOOST_TEST(add("x", "") == errc::invalid_option);
    BOOST_TEST(zk.last_error_detail().find("scheme") != std::string::npos);
    BOOST_TEST(add("no colon") == errc::invalid_option);
    BOOST_TEST(zk.last_error_detail().find("user:password") != std::string::npos);
    BOOST_TEST(add("me:" + std::string(2'000'000, 'x')) == errc::request_too_large);
    const auto connection = zk.connection_id();
    BOOST_TEST(!add(secret));
    BOOST_TEST(zk.connection_id() == connection);
    close();
    BOOST_TEST(add(secret) == errc::client_closed);
}

// By the path of each request, and by what it lacks.
BOOST_FIXTURE_TEST_CASE(a_refusal_names_the_permission_and_the_node, scene)
{
    connect();
    const auto path = guarded_node();
    const auto child = path + "/child";
    admin.create(child); // open to all
    diagnostics why;
    const auto refused = [&](auto o, const std::string& about, const std::string& lacks) {
        BOOST_TEST(code_of(io, o) == zookeeper_errc::no_auth);
        const auto words =
            "path " + about + ": ZooKeeper: no permission: this client lacks " + lacks + "; check ";
        BOOST_TEST(why.message().starts_with(words), why.message());
    };
    const auto start = [&]<class T>(outcome<T> o, auto initiate) {
        initiate(bind_diagnostics(why, o.handler()));
        return o;
    };
    using created = outcome<create_result>;
    using several = outcome<std::vector<transaction_result>>;
    refused(start(created{}, [&](auto h) { zk.async_create(path + "/a", "", h); }), path + "/a",
            "CREATE on " + path);
    refused(start(created{},
                  [&](auto h) {
                      zk.async_create(path + "/a/b", "", create_options{.parents = true}, h);
                  }),
            path + "/a", "CREATE on " + path);
    refused(start(outcome<>{}, [&](auto h) { zk.async_remove(child, any_version, h); }), child,
            "DELETE on " + path);
    refused(start(outcome<get_result>{}, [&](auto h) { zk.async_get(path, h); }), path,
            "READ on " + path);
    refused(start(outcome<children_result>{}, [&](auto h) { zk.async_children(path, h); }), path,
            "READ on " + path);
    refused(start(outcome<colock::watched<get_result>>{}, [&](auto h) { zk.async_watch(path, h); }),
            path, "READ on " + path);
    refused(start(outcome<node_stat>{}, [&](auto h) { zk.async_set(path, "", any_version, h); }),
            path, "WRITE on " + path);
    refused(start(outcome<>{}, [&](auto h) { zk.async_set_acl(path, open_acl(), h); }), path,
            "ADMIN on " + path);
    refused(start(outcome<acl_result>{}, [&](auto h) { zk.async_get_acl(path, h); }), path,
            "READ or ADMIN on " + path);
    // The step that failed.
    refused(start(several{},
                  [&](auto h) {
                      zk.async_multi({set_op(child, "x"), remove_op(child), set_op(path, "x")}, h);
                  }),
            child, "DELETE on " + path);
    refused(start(several{}, [&](auto h) { zk.async_multi({check_op(path)}, h); }), path,
            "READ on " + path);
    close();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::client_access_test
