// One-shot watches: their events, and what becomes of them on the server, in a disconnection, at the end.
#include <colock/client.hpp>
#include <support/client_scene.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace colock::test::client_watches_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;

using happened = colock::watch_event_type;

namespace {

client_options to(std::string hosts)
{
    client_options options;
    options.hosts = std::move(hosts);
    return options;
}

struct scene : client_scene {
    // Runs a test with the client connected, and closes it.
    template <class Body>
    void play(Body body)
    {
        connect();
        run(io, [](Body& b) -> asio::awaitable<void> { co_await b(); }(body));
        close();
    }

    asio::awaitable<void> drop_connection()
    {
        proxy.refuse(true);
        proxy.cut();
        while (zk.state() == connection_state::connected) {
            co_await zk.async_wait_state_change(connection_state::connected);
        }
    }
    asio::awaitable<void> restore_connection()
    {
        proxy.refuse(false);
        co_await zk.async_connect();
    }
};

void check(const watch_event& event, happened expected, const std::string& path)
{
    BOOST_TEST(event.type == expected);
    BOOST_TEST(event.path == path);
}

using event_outcome = outcome<watch_event>;

} // namespace

BOOST_AUTO_TEST_SUITE(client_watches, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(a_watch_on_data_reports_the_next_change_or_the_end_and_only_that)
{
    scene s;
    s.play([&]() -> asio::awaitable<void> {
        const auto path = s.root + "/n";
        s.admin.create(path, "0");
        auto changing = co_await s.zk.async_watch(path);
        BOOST_TEST(changing.value.data == "0");
        s.admin.create(path + "/child"); // no change of data
        s.admin.set(path, "1");
        s.admin.set(path, "2");
        check(co_await changing.changes.async_wait(), happened::changed, path);
        BOOST_TEST(s.zk.stats().watch_events == 1u);

        auto ending = co_await s.zk.async_watch(path);
        BOOST_TEST(ending.value.data == "2");
        s.admin.remove_tree(path);
        check(co_await ending.changes.async_wait(), happened::deleted, path);

        auto [ec, none] = co_await s.zk.async_watch(path, no_throw);
        BOOST_TEST(ec == zookeeper_errc::no_node);
        auto [empty, event] = co_await none.changes.async_wait(no_throw);
        BOOST_TEST(empty == errc::not_held);
        BOOST_TEST(!s.watched(path));
    });
}

BOOST_AUTO_TEST_CASE(a_watch_for_existence_reports_creation_change_and_deletion)
{
    scene s;
    s.play([&]() -> asio::awaitable<void> {
        const auto path = s.root + "/n";
        auto absent = co_await s.zk.async_watch_exists(path);
        BOOST_TEST(!absent.value);
        s.admin.create(path);
        check(co_await absent.changes.async_wait(), happened::created, path);
        auto present = co_await s.zk.async_watch_exists(path);
        BOOST_TEST(present.value.has_value());
        s.admin.set(path, "x");
        check(co_await present.changes.async_wait(), happened::changed, path);
        auto last = co_await s.zk.async_watch_exists(path);
        s.admin.remove(path);
        check(co_await last.changes.async_wait(), happened::deleted, path);
    });
}

BOOST_AUTO_TEST_CASE(a_watch_on_children_reports_them_coming_and_going_and_the_nodes_own_end)
{
    scene s;
    s.play([&]() -> asio::awaitable<void> {
        const auto path = s.root + "/n";
        s.admin.create(path);
        auto coming = co_await s.zk.async_watch_children(path);
        s.admin.set(path, "no child");
        s.admin.create(path + "/c");
        check(co_await coming.changes.async_wait(), happened::children_changed, path);
        auto going = co_await s.zk.async_watch_children(path);
        BOOST_TEST(going.value.names.size() == 1u);
        auto data = co_await s.zk.async_watch(path);
        s.admin.remove(path + "/c");
        check(co_await going.changes.async_wait(), happened::children_changed, path);
        auto ending = co_await s.zk.async_watch_children(path);
        s.admin.remove(path); // one event of the server for both kinds
        check(co_await ending.changes.async_wait(), happened::deleted, path);
        check(co_await data.changes.async_wait(), happened::deleted, path);
    });
}

BOOST_AUTO_TEST_CASE(an_event_is_kept_until_it_is_asked_for_and_given_once)
{
    scene s;
    s.play([&]() -> asio::awaitable<void> {
        auto w = co_await s.zk.async_watch(s.root);
        s.admin.set(s.root, "x");
        BOOST_TEST(co_await eventually([&] { return s.zk.stats().watch_events == 1; }));
        check(co_await w.changes.async_wait(), happened::changed, s.root);
        auto [again, event] = co_await w.changes.async_wait(no_throw);
        BOOST_TEST(again == errc::not_held);

        colock::watch empty;
        auto [nothing, none] = co_await empty.async_wait(no_throw);
        BOOST_TEST(nothing == errc::not_held);
    });
}

BOOST_AUTO_TEST_CASE(a_destroyed_watch_is_removed_from_the_server)
{
    scene s;
    s.play([&]() -> asio::awaitable<void> {
        const auto absent = s.root + "/absent";
        std::optional data{co_await s.zk.async_watch(s.root)};
        std::optional children{co_await s.zk.async_watch_children(s.root)};
        std::optional exists{co_await s.zk.async_watch_exists(absent)};
        BOOST_TEST(s.watched(s.root));
        BOOST_TEST(s.watched(absent));
        data.reset();
        children.reset();
        exists.reset();
        BOOST_TEST(co_await eventually([&] { return !s.watched(s.root) && !s.watched(absent); }));
        s.admin.set(s.root, "x");
        s.admin.create(absent);
        co_await s.zk.async_sync("/");
        BOOST_TEST(s.zk.stats().watch_events == 0u);

        // A read that is cancelled while its answer is on the way leaves none behind either.
        auto reply = s.proxy.on_reply(opcode::get_data, reaction::hold);
        asio::cancellation_signal cancel;
        std::optional<error_code> ec;
        s.zk.async_watch(s.root, asio::bind_cancellation_slot(cancel.slot(),
                                                              [&](error_code e, auto) { ec = e; }));
        BOOST_TEST(co_await eventually([&] { return reply.fired() == 1; }));
        BOOST_TEST(s.watched(s.root));
        cancel.emit(asio::cancellation_type::total);
        BOOST_TEST(co_await eventually([&] { return ec.has_value(); }));
        BOOST_TEST(*ec == asio::error::operation_aborted);
        reply.release();
        BOOST_TEST(co_await eventually([&] { return !s.watched(s.root); }));
    });
}

BOOST_AUTO_TEST_CASE(of_two_watches_on_one_path_the_other_one_stays_when_one_is_destroyed)
{
    scene s;
    s.play([&]() -> asio::awaitable<void> {
        std::optional one{co_await s.zk.async_watch(s.root)};
        auto other = co_await s.zk.async_watch(s.root);
        auto kind = co_await s.zk.async_watch_children(s.root);
        one.reset();
        co_await s.zk.async_sync("/");
        BOOST_TEST(s.watched(s.root));
        s.admin.set(s.root, "x");
        check(co_await other.changes.async_wait(), happened::changed, s.root);

        // One that is wanted while the last one is being removed.
        std::optional last{co_await s.zk.async_watch(s.root)};
        last.reset();
        auto next = co_await s.zk.async_watch(s.root);
        co_await s.zk.async_sync("/");
        BOOST_TEST(s.watched(s.root));
        s.admin.set(s.root, "y");
        check(co_await next.changes.async_wait(), happened::changed, s.root);
        s.admin.create(s.root + "/c");
        check(co_await kind.changes.async_wait(), happened::children_changed, s.root);
    });
}

BOOST_AUTO_TEST_CASE(what_happened_while_disconnected_is_reported_afterwards)
{
    scene s;
    s.play([&]() -> asio::awaitable<void> {
        const auto make = [&](const char* name) {
            s.admin.create(s.root + name);
            return s.root + name;
        };
        const auto changed = make("/changed"), deleted = make("/deleted"), parent = make("/parent"),
                   replaced = make("/replaced"), same = make("/same"),
                   created = s.root + "/created";
        auto w_changed = co_await s.zk.async_watch(changed);
        auto w_deleted = co_await s.zk.async_watch(deleted);
        auto w_children = co_await s.zk.async_watch_children(parent);
        auto w_replaced = co_await s.zk.async_watch(replaced);
        auto w_same = co_await s.zk.async_watch(same);
        auto w_created = co_await s.zk.async_watch_exists(created);
        auto w_gone = co_await s.zk.async_watch_exists(deleted);

        // One that is waited for already, and one that is not.
        event_outcome first;
        w_changed.changes.async_wait(first.handler());
        const auto session = s.zk.session_id();
        co_await s.drop_connection();
        s.admin.set(changed, "x");
        s.admin.remove(deleted);
        s.admin.create(parent + "/c");
        s.admin.remove(replaced);
        s.admin.create(replaced);
        s.admin.create(created);
        BOOST_TEST(!first.done());
        co_await s.restore_connection();
        BOOST_TEST(s.zk.session_id() == session);

        BOOST_TEST(co_await eventually([&] { return first.done(); }));
        check(first.value(), happened::changed, changed);
        check(co_await w_deleted.changes.async_wait(), happened::deleted, deleted);
        check(co_await w_gone.changes.async_wait(), happened::deleted, deleted);
        check(co_await w_children.changes.async_wait(), happened::children_changed, parent);
        check(co_await w_replaced.changes.async_wait(), happened::deleted, replaced);
        check(co_await w_created.changes.async_wait(), happened::created, created);

        // The untouched one is set again, and no event was made up.
        BOOST_TEST(s.watched(same));
        s.admin.set(same, "x");
        check(co_await w_same.changes.async_wait(), happened::changed, same);
        co_await s.zk.async_sync(
            "/"); // after the requests that remove watches, which may be on their way
        BOOST_TEST(!s.watched(changed));
    });
}

BOOST_AUTO_TEST_CASE(cancelling_the_wait_keeps_the_watch)
{
    scene s;
    s.play([&]() -> asio::awaitable<void> {
        auto w = co_await s.zk.async_watch(s.root);
        for (const auto how : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                               asio::cancellation_type::total}) {
            asio::cancellation_signal cancel;
            event_outcome o;
            w.changes.async_wait(asio::bind_cancellation_slot(cancel.slot(), o.handler()));
            auto [second, event] = co_await w.changes.async_wait(no_throw); // one at a time
            BOOST_TEST(second == errc::not_held);
            cancel.emit(how);
            BOOST_TEST(co_await eventually([&] { return o.done(); }));
            BOOST_TEST(o.error() == asio::error::operation_aborted);
        }
        s.admin.set(s.root, "x");
        check(co_await w.changes.async_wait(), happened::changed, s.root);
    });
}

BOOST_AUTO_TEST_CASE(a_wait_ends_when_its_watch_is_destroyed)
{
    scene s;
    s.play([&]() -> asio::awaitable<void> {
        event_outcome o;
        {
            auto w = co_await s.zk.async_watch(s.root);
            w.changes.async_wait(o.handler());
        }
        BOOST_TEST(!o.done());
        BOOST_TEST(co_await eventually([&] { return o.done(); }));
        BOOST_TEST(o.error() == asio::error::operation_aborted);
    });
}

BOOST_AUTO_TEST_CASE(a_watch_that_is_destroyed_while_it_is_set_again_is_forgotten)
{
    scene s;
    s.play([&]() -> asio::awaitable<void> {
        std::optional w{co_await s.zk.async_watch(s.root)};
        co_await s.drop_connection();
        auto reply = s.proxy.on_reply(opcode::get_data, reaction::hold);
        s.proxy.refuse(false);
        BOOST_TEST(co_await eventually([&] { return reply.fired() == 1; }));
        w.reset();
        reply.release();
        co_await s.zk.async_sync("/");
        s.admin.set(s.root, "x"); // told to nobody
        co_await s.zk.async_sync("/");
        BOOST_TEST(co_await eventually([&] { return !s.watched(s.root); }));
    });
}

BOOST_AUTO_TEST_CASE(closing_the_client_ends_every_wait_and_the_watch_may_live_on)
{
    scene s;
    colock::watched<colock::get_result> idle, waiting, late;
    event_outcome o;
    std::optional<error_code> read;
    s.play([&]() -> asio::awaitable<void> {
        idle = co_await s.zk.async_watch(s.root);
        waiting = co_await s.zk.async_watch(s.root);
        waiting.changes.async_wait(o.handler());
        // Its answer comes while the client is being closed.
        s.zk.async_watch(s.root, [&](error_code ec, auto result) {
            read = ec;
            late = std::move(result);
        });
    });
    BOOST_TEST(o.done());
    BOOST_TEST(o.error() == errc::client_closed);
    BOOST_REQUIRE(read.has_value());
    for (auto* w : {&idle, &late}) {
        event_outcome after;
        w->changes.async_wait(after.handler());
        run_until(s.io, [&] { return after.done(); });
        if (w == &idle || !*read) {
            BOOST_TEST(after.error() == errc::client_closed);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_watch_may_outlive_its_client)
{
    const auto root = own_node();
    asio::io_context context;
    std::optional<client> zk{std::in_place, context,
                             link_client(to(link_hosts(one_server::get())))};
    colock::watched<colock::get_result> w, other;
    run(context, [&]() -> asio::awaitable<void> {
        co_await zk->async_connect();
        w = co_await zk->async_watch(root);
        other = co_await zk->async_watch(root);
    }());
    event_outcome o;
    w.changes.async_wait(o.handler());
    zk.reset();
    BOOST_TEST(run_to_the_end(context));
    BOOST_TEST(o.done());
    BOOST_TEST(o.error() == asio::error::operation_aborted); // it was waiting when the client went
    event_outcome late;
    other.changes.async_wait(late.handler());
    BOOST_TEST(run_to_the_end(context));
    BOOST_TEST(late.error() == errc::client_closed);
}

BOOST_AUTO_TEST_CASE(a_watch_may_outlive_its_execution_context)
{
    const auto root = own_node();
    std::optional<asio::io_context> context{std::in_place};
    client zk{*context, link_client(to(link_hosts(one_server::get())))};
    colock::watched<colock::get_result> w;
    run(*context, [&]() -> asio::awaitable<void> {
        co_await zk.async_connect();
        w = co_await zk.async_watch(root);
    }());
    event_outcome o;
    const auto alive = std::make_shared<int>();
    w.changes.async_wait(
        [alive, h = o.handler()](error_code ec, watch_event e) mutable { h(ec, e); });
    context->restart();
    context->poll();
    context.reset();
    BOOST_TEST(!o.done());
    BOOST_TEST(alive.use_count() == 1); // the handler is destroyed with its context
}

BOOST_AUTO_TEST_CASE(an_expired_session_takes_its_watches_along_into_the_next_one)
{
    scene s;
    s.play([&]() -> asio::awaitable<void> {
        auto quiet = co_await s.zk.async_watch(s.root);
        const auto own = s.root + "/own";
        co_await s.zk.async_create(own, "", create_mode::ephemeral);
        auto doomed = co_await s.zk.async_watch(own);
        const auto session = s.zk.session_id();
        BOOST_TEST(!kill_session(one_server::get().connect_string(), session, password_of(s.zk)));
        check(co_await doomed.changes.async_wait(), happened::deleted, own);
        BOOST_TEST(s.zk.session_id() != session);
        BOOST_TEST(co_await eventually([&] { return s.watched(s.root); }));
        s.admin.set(s.root, "x");
        check(co_await quiet.changes.async_wait(), happened::changed, s.root);
    });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::client_watches_test
