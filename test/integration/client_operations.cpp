// Every operation of the client in every form, and what it brings back.
#include <colock/client.hpp>
#include <support/admin_session.hpp>
#include <support/one_server.hpp>
#include <support/print.hpp>
#include <support/requests_of.hpp>
#include <support/run.hpp>
#include <support/tcp_proxy.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace colock::test::client_operations_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

client_options with(std::vector<colock::credential> credentials = {}, std::string chroot = {})
{
    client_options options;
    options.hosts = one_server::get().connect_string();
    options.credentials = std::move(credentials);
    options.chroot = std::move(chroot);
    return options;
}

// Runs a test with a connected client; both are the coroutine's alone.
template <class Body>
void with_client(client_options options, Body body)
{
    asio::io_context context;
    client zk{context, std::move(options)};
    run(context, [](client& c, Body& b) -> asio::awaitable<void> {
        co_await c.async_connect();
        co_await b(c);
        co_await c.async_close();
    }(zk, body));
    BOOST_TEST(run_to_the_end(context));
}

colock::watch_event event_of(colock::watch_event_type type, std::string path)
{
    return {type, std::move(path)};
}

bool equal(const colock::watch_event& a, const colock::watch_event& b)
{
    return a.type == b.type && a.path == b.path;
}

// The path that a sequential mode made of a prefix: ten digits behind it.
bool is_numbered(const std::string& path, const std::string& prefix)
{
    return path.size() == prefix.size() + 10 && path.starts_with(prefix) &&
           std::all_of(path.end() - 10, path.end(), [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace

BOOST_AUTO_TEST_SUITE(client_operations, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(create_makes_nodes_of_every_mode_and_returns_their_paths_and_metadata)
{
    const auto root = own_node();
    with_client(with(), [&](client& zk) -> asio::awaitable<void> {
        const auto plain = co_await zk.async_create(root + "/p", "data", create_mode::persistent);
        BOOST_TEST(plain.path == root + "/p");
        BOOST_TEST(plain.stat.czxid > 0);
        BOOST_TEST(plain.stat.data_length == 4);
        BOOST_TEST(plain.stat.ephemeral_owner == 0);
        BOOST_TEST((plain.stat == (co_await zk.async_exists(root + "/p")).value()));

        const auto fleeting = co_await zk.async_create(root + "/e", "", create_mode::ephemeral);
        BOOST_TEST(fleeting.stat.ephemeral_owner == zk.session_id());
        BOOST_TEST(fleeting.stat.czxid == plain.stat.czxid + 1);

        const auto first =
            co_await zk.async_create(root + "/n-", "", create_mode::persistent_sequential);
        const auto second =
            co_await zk.async_create(root + "/n-", "", create_mode::ephemeral_sequential);
        BOOST_TEST(is_numbered(first.path, root + "/n-"));
        BOOST_TEST(is_numbered(second.path, root + "/n-"));
        BOOST_TEST(second.path > first.path);
        BOOST_TEST(first.stat.ephemeral_owner == 0);
        BOOST_TEST(second.stat.ephemeral_owner == zk.session_id());

        // A name may consist of the number alone.
        const auto nameless =
            co_await zk.async_create(root + "/", "", create_mode::ephemeral_sequential);
        BOOST_TEST(is_numbered(nameless.path, root + "/"));
        for (const auto* dots : {"/.", "/.."}) {
            const auto dotted =
                co_await zk.async_create(root + dots, "", create_mode::ephemeral_sequential);
            BOOST_TEST(is_numbered(dotted.path, root + dots));
        }
        const auto top = co_await zk.async_create("/", "", create_mode::ephemeral_sequential);
        BOOST_TEST(is_numbered(top.path, "/"));
    });
    BOOST_TEST(!admin_session(one_server::get().connect_string()).exists(root + "/e"));
}

BOOST_AUTO_TEST_CASE(containers_and_nodes_with_a_time_to_live_are_removed_by_the_server)
{
    const auto root = own_node();
    with_client(with(), [&](client& zk) -> asio::awaitable<void> {
        const auto made = co_await zk.async_create(root + "/container", "", create_mode::container);
        BOOST_TEST(made.path == root + "/container");
        BOOST_TEST(made.stat.ephemeral_owner == 0);
        co_await zk.async_create(root + "/container/child", "", create_mode::persistent);
        auto container = co_await zk.async_watch_exists(root + "/container");

        const auto brief = co_await zk.async_create(
            root + "/brief", "", {.mode = create_mode::persistent_with_ttl, .ttl = 20ms});
        BOOST_TEST(brief.path == root + "/brief");
        BOOST_TEST(brief.stat.ephemeral_owner == 0);
        auto [ec, watched] = co_await zk.async_watch_exists(root + "/brief", no_throw);
        BOOST_TEST(!ec);
        const auto numbered = co_await zk.async_create(
            root + "/t-", "", {.mode = create_mode::persistent_sequential_with_ttl, .ttl = 1h});
        BOOST_TEST(is_numbered(numbered.path, root + "/t-"));

        co_await zk.async_remove(root + "/container/child", any_version);
        const auto gone = co_await container.changes.async_wait();
        BOOST_TEST(equal(gone, event_of(colock::watch_event_type::deleted, root + "/container")));
        if (watched.value) { // else it was gone before it could be watched
            co_await watched.changes.async_wait();
        }
        BOOST_TEST(!(co_await zk.async_exists(root + "/brief")));
        BOOST_TEST((co_await zk.async_exists(numbered.path)).has_value());

        const std::chrono::milliseconds bad[] = {0ms, -1ms,
                                                 std::chrono::milliseconds{std::int64_t{1} << 40}};
        for (const auto ttl : bad) {
            auto [refused, unmade] = co_await zk.async_create(
                root + "/never", "", {.mode = create_mode::persistent_with_ttl, .ttl = ttl},
                no_throw);
            BOOST_TEST(refused == errc::invalid_option);
            BOOST_TEST(zk.last_error_detail().find(root + "/never") != std::string::npos);
        }
    });
}

BOOST_AUTO_TEST_CASE(data_comes_back_byte_for_byte)
{
    const auto root = own_node();
    with_client(with(), [&](client& zk) -> asio::awaitable<void> {
        std::string every_byte;
        for (int c = 0; c != 256; ++c) {
            every_byte += static_cast<char>(c);
        }
        std::string large;
        while (large.size() < 900'000) { // ZooKeeper's limit is 1 MB
            large += every_byte;
        }
        int n = 0;
        const std::string payloads[] = {"", std::string(1, '\0'), std::string("a\0b\0", 4),
                                        every_byte, large};
        for (const auto& data : payloads) {
            const auto path = root + "/" + std::to_string(n++);
            const auto made = co_await zk.async_create(path, data, create_mode::persistent);
            BOOST_TEST(static_cast<std::size_t>(made.stat.data_length) == data.size());
            const auto read = co_await zk.async_get(path);
            BOOST_TEST((read.data == data));
            BOOST_TEST((read.stat == made.stat));
            const auto set = co_await zk.async_set(path, data + data.substr(0, 1), any_version);
            BOOST_TEST(set.version == 1);
            const auto again = co_await zk.async_get(path);
            BOOST_TEST((again.data == data + data.substr(0, 1)));
            BOOST_TEST((again.stat == set));
        }
    });
}

BOOST_AUTO_TEST_CASE(set_and_remove_obey_versions)
{
    const auto root = own_node();
    with_client(with(), [&](client& zk) -> asio::awaitable<void> {
        const auto path = root + "/v";
        co_await zk.async_create(path, "0", create_mode::persistent);
        BOOST_TEST((co_await zk.async_set(path, "1", 0)).version == 1);
        auto [stale, unchanged] = co_await zk.async_set(path, "x", 0, no_throw);
        BOOST_TEST(stale == zookeeper_errc::bad_version);
        BOOST_TEST((unchanged == colock::node_stat{}));
        BOOST_TEST((co_await zk.async_get(path)).data == "1");
        auto [kept] = co_await zk.async_remove(path, 0, no_throw);
        BOOST_TEST(kept == zookeeper_errc::bad_version);
        co_await zk.async_remove(path, 1);
        auto [absent] = co_await zk.async_remove(path, any_version, no_throw);
        BOOST_TEST(absent == zookeeper_errc::no_node);
        auto [nowhere, nothing] = co_await zk.async_set(path, "", any_version, no_throw);
        BOOST_TEST(nowhere == zookeeper_errc::no_node);
    });
}

BOOST_AUTO_TEST_CASE(what_is_left_out_has_a_default)
{
    const auto root = own_node();
    with_client(with(), [&](client& zk) -> asio::awaitable<void> {
        const auto plain = co_await zk.async_create(root + "/p", "data");
        BOOST_TEST(plain.stat.ephemeral_owner == 0);
        co_await zk.async_create(root + "/q", "data", asio::use_awaitable);
        for (int version = 1; version != 3; ++version) {
            BOOST_TEST((co_await zk.async_set(root + "/p", "any")).version == version);
        }
        co_await zk.async_set(root + "/q", "any", asio::use_awaitable);
        co_await zk.async_remove(root + "/p");
        co_await zk.async_remove(root + "/q", asio::use_awaitable);
        BOOST_TEST((co_await zk.async_children(root)).names.empty());

        auto each = co_await zk.async_multi(colock::create_op(root + "/m"),
                                            colock::set_op(root + "/m", "text"),
                                            colock::check_op(root + "/m", 1));
        BOOST_TEST(each.size() == 3U);
        const auto last = colock::remove_op(root + "/m");
        each = co_await zk.async_multi(last, asio::use_awaitable);
        BOOST_TEST(each.size() == 1U);
        BOOST_TEST((co_await zk.async_children(root)).names.empty());
    });
}

BOOST_AUTO_TEST_CASE(missing_parents_are_created_when_that_is_wanted)
{
    const auto root = own_node();
    with_client(with(), [&](client& zk) -> asio::awaitable<void> {
        const colock::create_options deep{.mode = create_mode::ephemeral_sequential,
                                          .parents = true};
        const auto made = co_await zk.async_create(root + "/a/b/c-", "data", deep);
        BOOST_TEST(is_numbered(made.path, root + "/a/b/c-"));
        BOOST_TEST(made.stat.ephemeral_owner == zk.session_id());
        BOOST_TEST((co_await zk.async_get(made.path)).data == "data");
        const auto parent = co_await zk.async_get(root + "/a/b");
        BOOST_TEST(parent.data.empty());
        BOOST_TEST(parent.stat.ephemeral_owner == 0);

        const auto requests = requests_of(zk);
        co_await zk.async_create(root + "/a/b/d-", "", deep); // they are there
        BOOST_TEST(requests_of(zk) - requests == 1U);

        const colock::create_options plain{.parents = true};
        auto [exists, none] = co_await zk.async_create(root + "/a/b", "", plain, no_throw);
        BOOST_TEST(exists == zookeeper_errc::node_exists);
        auto [fleeting, nothing] =
            co_await zk.async_create(made.path + "/below/it", "", plain, no_throw);
        BOOST_TEST(fleeting == zookeeper_errc::no_children_for_ephemerals); // why, and not no_node
        auto [steps, results] = co_await zk.async_multi(
            colock::transaction{}.create(root + "/x/y", "", plain), no_throw);
        BOOST_TEST(steps == errc::invalid_option);
        BOOST_TEST(zk.last_error_detail().find("missing parents") != std::string::npos);
    });
}

BOOST_AUTO_TEST_CASE(parents_are_created_once_by_several_who_want_them)
{
    const auto root = own_node();
    with_client(with(), [&](client& zk) -> asio::awaitable<void> {
        constexpr int many = 20;
        int created = 0;
        const colock::create_options plain{.parents = true};
        for (int i = 0; i != many; ++i) {
            zk.async_create(root + "/a/b/" + std::to_string(i), "", plain,
                            [&](colock::error_code ec, const colock::create_result&) {
                                BOOST_TEST(!ec);
                                ++created;
                            });
        }
        while (created != many) {
            co_await zk.async_sync(root);
        }
        BOOST_TEST((co_await zk.async_children(root + "/a/b")).names.size() == 20U);
    });
}

BOOST_AUTO_TEST_CASE(an_absent_node_is_no_error_to_exists_and_one_to_get_and_children)
{
    const auto root = own_node();
    with_client(with(), [&](client& zk) -> asio::awaitable<void> {
        BOOST_TEST(!(co_await zk.async_exists(root + "/absent")));
        BOOST_TEST(zk.last_error_detail() == "");
        auto [no_data, data] = co_await zk.async_get(root + "/absent", no_throw);
        BOOST_TEST(no_data == zookeeper_errc::no_node);
        BOOST_TEST(zk.last_error_detail().find(root + "/absent") != std::string::npos);
        auto [no_list, list] = co_await zk.async_children(root + "/absent", no_throw);
        BOOST_TEST(no_list == zookeeper_errc::no_node);
    });
}

BOOST_AUTO_TEST_CASE(children_lists_names_and_the_nodes_own_metadata)
{
    const auto root = own_node();
    with_client(with(), [&](client& zk) -> asio::awaitable<void> {
        BOOST_TEST((co_await zk.async_children(root)).names.empty());
        for (const auto* name : {"/b", "/a", "/c", "/a/deeper"}) {
            co_await zk.async_create(root + name, "", create_mode::persistent);
        }
        auto list = co_await zk.async_children(root);
        std::sort(list.names.begin(), list.names.end());
        BOOST_TEST((list.names == std::vector<std::string>{"a", "b", "c"}));
        BOOST_TEST(list.stat.num_children == 3);
        BOOST_TEST((list.stat == (co_await zk.async_exists(root)).value()));
    });
}

BOOST_AUTO_TEST_CASE(create_and_remove_say_why_not)
{
    const auto root = own_node();
    with_client(with(), [&](client& zk) -> asio::awaitable<void> {
        co_await zk.async_create(root + "/p", "", create_mode::persistent);
        co_await zk.async_create(root + "/p/c", "", create_mode::persistent);
        co_await zk.async_create(root + "/e", "", create_mode::ephemeral);
        const std::pair<std::string, zookeeper_errc> creates[] = {
            {root + "/p", zookeeper_errc::node_exists},
            {root + "/absent/child", zookeeper_errc::no_node},
            {root + "/e/child", zookeeper_errc::no_children_for_ephemerals}};
        for (const auto& [path, why] : creates) {
            auto [ec, result] =
                co_await zk.async_create(path, "", create_mode::persistent, no_throw);
            BOOST_TEST(ec == why);
            BOOST_TEST(result.path == "");
            BOOST_TEST(zk.last_error_detail().find(path) != std::string::npos);
        }
        auto [ec] = co_await zk.async_remove(root + "/p", any_version, no_throw);
        BOOST_TEST(ec == zookeeper_errc::not_empty);
    });
}

BOOST_AUTO_TEST_CASE(multi_carries_out_all_steps_and_returns_what_each_came_to)
{
    const auto root = own_node();
    with_client(with(), [&](client& zk) -> asio::awaitable<void> {
        co_await zk.async_create(root + "/old", "", create_mode::persistent);
        const std::vector<colock::transaction_op> ops{
            colock::check_op(root + "/old", 0),
            colock::create_op(root + "/new", std::string("n\0w", 3)),
            colock::create_op(root + "/s-", "", {.mode = create_mode::ephemeral_sequential}),
            colock::set_op(root + "/new", "newer", 0), colock::remove_op(root + "/old", 0)};
        const auto results = co_await zk.async_multi(ops);
        BOOST_REQUIRE(results.size() == ops.size());
        for (const auto& result : results) {
            BOOST_TEST(!result.error);
        }
        BOOST_TEST(results[1].path == root + "/new");
        BOOST_TEST(is_numbered(results[2].path, root + "/s-"));
        BOOST_TEST(results[3].stat.version == 1);
        BOOST_TEST((results[3].stat == (co_await zk.async_get(root + "/new")).stat));
        BOOST_TEST(!(co_await zk.async_exists(root + "/old")));

        const std::vector<colock::transaction_op> no_ops;
        BOOST_TEST((co_await zk.async_multi(no_ops)).empty());

        // ZooKeeper's client cannot read the answer to these, or not send them.
        for (const auto mode : {create_mode::container, create_mode::persistent_with_ttl,
                                create_mode::persistent_sequential_with_ttl}) {
            const std::vector impossible{
                colock::create_op(root + "/c", "", {.mode = mode, .ttl = 1s})};
            auto [ec, none] = co_await zk.async_multi(impossible, no_throw);
            BOOST_TEST(ec == errc::invalid_option);
            BOOST_TEST(zk.last_error_detail().find(root + "/c") != std::string::npos);
        }
    });
}

BOOST_AUTO_TEST_CASE(multi_that_fails_changes_nothing_and_says_which_step_it_was)
{
    const auto root = own_node();
    with_client(with(), [&](client& zk) -> asio::awaitable<void> {
        const std::vector<colock::transaction_op> ops{colock::create_op(root + "/a"),
                                                      colock::remove_op(root + "/absent"),
                                                      colock::create_op(root + "/b")};
        auto [ec, results] = co_await zk.async_multi(ops, no_throw);
        BOOST_TEST(ec == zookeeper_errc::no_node);
        BOOST_REQUIRE(results.size() == 3u);
        BOOST_TEST(!results[0].error);
        BOOST_TEST(results[0].path == "");
        BOOST_TEST(results[1].error == zookeeper_errc::no_node);
        BOOST_TEST(results[2].error == zookeeper_errc::runtime_inconsistency);
        BOOST_TEST(zk.last_error_detail().find(root + "/absent") != std::string::npos);
        BOOST_TEST((co_await zk.async_children(root)).names.empty());
    });
}

BOOST_AUTO_TEST_CASE(sync_brings_the_server_up_to_date)
{
    const auto root = own_node();
    with_client(with(), [&](client& zk) -> asio::awaitable<void> {
        co_await zk.async_sync(root);
        co_await zk.async_sync("/");
    });
}

BOOST_AUTO_TEST_CASE(access_control_keeps_others_out)
{
    const auto root = own_node();
    const auto path = root + "/mine";
    with_client(with({{"digest", "me:secret"}}), [&](client& zk) -> asio::awaitable<void> {
        const colock::create_options mine{.acl = colock::creator_acl()};
        const colock::create_options readable{.acl = colock::read_only_acl()};
        co_await zk.async_create(path, "data", mine);
        co_await zk.async_create(root + "/looked-at", "", readable);
        BOOST_TEST((co_await zk.async_get(path)).data == "data");
        auto [ec, stat] = co_await zk.async_set(root + "/looked-at", "", any_version, no_throw);
        BOOST_TEST(ec == zookeeper_errc::no_auth);
        const std::vector own{colock::create_op(root + "/too", "", mine)};
        co_await zk.async_multi(own);
    });
    with_client(with(), [&](client& stranger) -> asio::awaitable<void> {
        auto [read, data] = co_await stranger.async_get(path, no_throw);
        BOOST_TEST(read == zookeeper_errc::no_auth);
        BOOST_TEST(stranger.last_error_detail().find(path) != std::string::npos);
        auto [write, stat] = co_await stranger.async_set(path, "", any_version, no_throw);
        BOOST_TEST(write == zookeeper_errc::no_auth);
        auto [list, names] = co_await stranger.async_children(root + "/too", no_throw);
        BOOST_TEST(list == zookeeper_errc::no_auth);
        auto [create, made] =
            co_await stranger.async_create(path + "/x", "", create_mode::persistent, no_throw);
        BOOST_TEST(create == zookeeper_errc::no_auth);
        const colock::create_options own{.acl = colock::creator_acl()};
        auto [anonymous, none] =
            co_await stranger.async_create(root + "/nobodys", "", own, no_throw);
        BOOST_TEST(anonymous == zookeeper_errc::invalid_acl);
        const colock::create_options nobodys{.acl = colock::access_control_list{}};
        auto [empty, no] = co_await stranger.async_create(root + "/nobodys", "", nobodys, no_throw);
        BOOST_TEST(empty == zookeeper_errc::invalid_acl);
    });
    // The client's default, and several credentials.
    auto options = with({{"digest", "other:one"}, {"digest", "me:secret"}});
    options.acl = colock::creator_acl();
    with_client(std::move(options), [&](client& zk) -> asio::awaitable<void> {
        BOOST_TEST((co_await zk.async_get(path)).data == "data");
        co_await zk.async_create(root + "/default", "", create_mode::persistent);
        const std::vector own{colock::create_op(root + "/default-too")};
        co_await zk.async_multi(own);
    });
    admin_session admin{one_server::get().connect_string()};
    admin.add_auth("digest", "me:secret");
    BOOST_TEST(admin.get_acl(root + "/default").size() == 2u);
    BOOST_TEST(admin.get_acl(root + "/default-too").size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_chroot_is_invisible_in_paths_results_and_events)
{
    const auto root = own_node();
    admin_session admin{one_server::get().connect_string()};
    with_client(with({}, root), [&](client& zk) -> asio::awaitable<void> {
        BOOST_TEST((co_await zk.async_create("/a", "1", create_mode::persistent)).path == "/a");
        BOOST_TEST(admin.get(root + "/a") == "1");
        BOOST_TEST(is_numbered(
            (co_await zk.async_create("/a/n-", "", create_mode::ephemeral_sequential)).path,
            "/a/n-"));
        const auto names = (co_await zk.async_children("/")).names;
        BOOST_TEST((names == std::vector<std::string>{"a"}));
        BOOST_TEST((co_await zk.async_exists("/")).has_value());

        auto data = co_await zk.async_watch("/a");
        auto children = co_await zk.async_watch_children("/");
        auto absent = co_await zk.async_watch_exists("/b");
        const std::vector ops{colock::set_op("/a", "2"), colock::create_op("/b"),
                              colock::check_op("/")};
        const auto results = co_await zk.async_multi(ops);
        BOOST_TEST(results[1].path == "/b");
        BOOST_TEST(admin.exists(root + "/b").has_value());
        using type = colock::watch_event_type;
        BOOST_TEST(equal(co_await data.changes.async_wait(), event_of(type::changed, "/a")));
        BOOST_TEST(
            equal(co_await children.changes.async_wait(), event_of(type::children_changed, "/")));
        BOOST_TEST(equal(co_await absent.changes.async_wait(), event_of(type::created, "/b")));
        co_await zk.async_sync("/");
        co_await zk.async_remove("/b", any_version);

        // ZooKeeper's client would number the chroot's own name here, and leave the chroot.
        auto [ec, outside] =
            co_await zk.async_create("/", "", create_mode::ephemeral_sequential, no_throw);
        BOOST_TEST(ec == errc::invalid_path);
        const std::vector numbered{
            colock::create_op("/", "", {.mode = create_mode::ephemeral_sequential})};
        auto [multi, none] = co_await zk.async_multi(numbered, no_throw);
        BOOST_TEST(multi == errc::invalid_path);
    });
    for (const auto& name : admin.children("/")) {
        BOOST_TEST(!is_numbered("/" + name, root));
    }
}

BOOST_AUTO_TEST_CASE(a_thousand_operations_at_once_are_answered_in_order_over_one_connection)
{
    const auto root = own_node();
    asio::io_context context;
    client zk{context, with()};
    run(context, [&]() -> asio::awaitable<void> { co_await zk.async_connect(); }());
    const auto connection = zk.connection_id();
    BOOST_TEST(connection != 0u);

    constexpr int count = 1'000;
    std::vector<int> order;
    std::vector<std::string> numbered;
    std::vector<std::int32_t> sizes;
    for (int i = 0; i != count; ++i) {
        if (i % 2 == 0) {
            zk.async_create(root + "/n-", "", create_mode::ephemeral_sequential,
                            [&, i](colock::error_code ec, const colock::create_result& r) {
                                BOOST_TEST(!ec);
                                order.push_back(i);
                                numbered.push_back(r.path);
                            });
        } else {
            zk.async_exists(root,
                            [&, i](colock::error_code ec, std::optional<colock::node_stat> s) {
                                BOOST_TEST(!ec);
                                order.push_back(i);
                                sizes.push_back(s->num_children);
                            });
        }
    }
    BOOST_TEST(order.empty()); // never inline
    run_until(context, [&] { return order.size() == count; });
    BOOST_TEST(std::is_sorted(order.begin(), order.end()));
    BOOST_TEST(std::is_sorted(numbered.begin(), numbered.end()));
    for (std::size_t i = 0; i != sizes.size(); ++i) {
        BOOST_TEST(sizes[i] ==
                   static_cast<std::int32_t>(i + 1)); // each read sees the write before it
    }
    BOOST_TEST(zk.connection_id() == connection);
    BOOST_TEST(zk.stats().in_flight == 0u);
    run(context, [&]() -> asio::awaitable<void> { co_await zk.async_close(); }());
    BOOST_TEST(zk.connection_id() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::client_operations_test
