// The end of a client: by async_close(), by its destructor, by the end of its execution context. No session stays
// behind that could be ended, every operation completes, nobody waits for the network.
#include <colock/client.hpp>
#include <colock/diagnostics.hpp>
#include <support/client_scene.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace colock::test::client_close_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

client_options to(const tcp_proxy& proxy)
{
    client_options options;
    options.hosts = proxy.connect_string();
    return link_client(std::move(options));
}

bool lives(std::int64_t session)
{
    return one_server::get().sessions().contains(session);
}

// Starts one operation of every kind that can be waiting for something when a client ends.
struct pending {
    outcome<create_result> write;
    outcome<get_result> read;
    outcome<colock::watch_event> event;
    outcome<connection_state> state;
    colock::watch watch;

    void start(client& zk, const std::string& path, colock::watch w)
    {
        watch = std::move(w);
        watch.async_wait(event.handler());
        zk.async_create(path + "/n-", "", create_mode::ephemeral_sequential, write.handler());
        zk.async_get(path, read.handler());
        zk.async_wait_state_change(zk.state(), state.handler());
    }
    bool all_done() const { return write.done() && read.done() && event.done() && state.done(); }
    std::set<error_code> codes() const
    {
        return {write.error(), read.error(), event.error(), state.error()};
    }
};

colock::watch watch_of(client_scene& s)
{
    const outcome<colock::watched<get_result>> o;
    s.zk.async_watch(s.root, o.handler());
    return value_of(s.io, o).changes;
}

} // namespace

BOOST_AUTO_TEST_SUITE(client_close, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(close_leaves_no_session_behind_a_hundred_times_of_a_hundred)
{
    tcp_proxy proxy = link_proxy(one_server::get());
    const auto root = own_node();
    int left = 0;
    for (int i = 0; i != repetitions(100); ++i) {
        // In turn: at rest; with replies on their way; the same over a link with a delay.
        proxy.set_delay(i % 3 == 2 ? 2ms : 0ms);
        asio::io_context io;
        client zk{io, to(proxy)};
        const outcome<> connected, closed;
        zk.async_connect(connected.handler());
        value_of(io, connected);
        const auto session = zk.session_id();
        const outcome<create_result> made;
        zk.async_create(root + "/e-", "", create_mode::ephemeral_sequential, made.handler());
        value_of(io, made);
        std::vector<outcome<get_result>> reads(i % 3 == 0 ? 0 : 100);
        for (const auto& read : reads) {
            zk.async_get(root, read.handler());
        }
        zk.async_close(closed.handler());
        BOOST_TEST(!code_of(io, closed).failed());
        for (const auto& read : reads) {
            BOOST_TEST(read.ok()); // they had been sent
        }
        BOOST_TEST(run_to_the_end(io));
        BOOST_TEST(zk.session_id() == 0);
        left += lives(session); // at once: the server has confirmed it
    }
    BOOST_TEST(left == 0);
    BOOST_TEST(admin_session(one_server::get().connect_string()).children(root).empty());
}

BOOST_AUTO_TEST_CASE(what_has_not_been_sent_is_refused_by_close_and_what_was_is_awaited)
{
    client_scene s;
    s.connect();
    const auto w = watch_of(s);
    const auto held = s.proxy.on_reply(opcode::get_data, reaction::hold);
    pending sent;
    sent.start(s.zk, s.root, w);
    BOOST_TEST(becomes_true(s.io, [&] { return held.fired() == 1; }));
    const outcome<> closed;
    s.zk.async_close(closed.handler());
    go_on(s.io, 20ms);
    BOOST_TEST(!closed.done());
    tcp_proxy::rule{held}.release();
    BOOST_TEST(!code_of(s.io, closed).failed());
    BOOST_TEST(sent.write.ok());
    BOOST_TEST(sent.read.ok());
    BOOST_TEST(sent.event.error() == errc::client_closed);
    BOOST_TEST(sent.state.value() == connection_state::closed);
    BOOST_TEST(run_to_the_end(s.io));
}

BOOST_AUTO_TEST_CASE(close_while_disconnected_is_immediate_and_says_that_the_session_remains)
{
    client_options options;
    options.session_timeout = 1s;
    options.close_timeout = 1h; // only a close that waits for nothing ends in time
    client_scene s{options};
    s.connect();
    const auto session = s.zk.session_id();
    const auto w = watch_of(s);
    s.disconnect();
    pending waiting;
    waiting.start(s.zk, s.root, w);
    const outcome<> closed, again;
    s.zk.async_close(closed.handler());
    BOOST_TEST(code_of(s.io, closed, 5s) == errc::disconnected);
    BOOST_TEST(run_to_the_end(s.io, 5s));
    BOOST_TEST(waiting.all_done());
    BOOST_TEST(waiting.write.error() == errc::client_closed);
    BOOST_TEST(waiting.read.error() == errc::client_closed);
    diagnostics why;
    s.zk.async_close(bind_diagnostics(why, again.handler()));
    BOOST_TEST(code_of(s.io, again) == errc::disconnected); // no server has confirmed it since
    BOOST_TEST(why.message() == "no server has confirmed the end of the session");
    BOOST_TEST(becomes_true(s.io, [&] { return !lives(session); })); // by its time-out
}

BOOST_AUTO_TEST_CASE(close_of_a_client_that_never_connected_has_nothing_to_do)
{
    client_scene s;
    const outcome<> closed;
    s.zk.async_close(closed.handler());
    BOOST_TEST(!closed.done());
    BOOST_TEST(!code_of(s.io, closed).failed());
    BOOST_TEST(run_to_the_end(s.io));

    // Nor has one that is still trying.
    client_scene trying{{.close_timeout = 1h}};
    trying.proxy.refuse(true);
    const outcome<> connecting, ended;
    trying.zk.async_connect(connecting.handler());
    BOOST_TEST(becomes_true(trying.io, [&] { return trying.zk.stats().connect_attempts > 1; }));
    trying.zk.async_close(ended.handler());
    BOOST_TEST(!code_of(trying.io, ended, 5s).failed());
    BOOST_TEST(code_of(trying.io, connecting) == errc::client_closed);
    BOOST_TEST(run_to_the_end(trying.io, 5s));
}

BOOST_AUTO_TEST_CASE(close_gives_up_at_its_time_out_when_the_server_stalls)
{
    client_options options;
    options.close_timeout = 300ms;
    for (const bool busy : {false, true}) {
        client_scene s{options};
        s.connect();
        s.proxy.stall(true);
        const outcome<get_result> read;
        if (busy) {
            s.zk.async_get(s.root, read.handler());
        }
        const auto begin = std::chrono::steady_clock::now();
        const outcome<> closed;
        s.zk.async_close(closed.handler());
        BOOST_TEST(code_of(s.io, closed, 5s) == errc::disconnected);
        BOOST_TEST((std::chrono::steady_clock::now() - begin >= 290ms));
        BOOST_TEST((!busy || code_of(s.io, read) == errc::client_closed));
        BOOST_TEST(run_to_the_end(s.io, 5s));
        // It was not for want of trying: the word was on its way.
        s.proxy.stall(false);
    }
}

BOOST_AUTO_TEST_CASE(a_cancelled_close_ends_the_connection_at_once)
{
    client_scene s{{.close_timeout = 1h}};
    s.connect();
    s.proxy.stall(true);
    asio::cancellation_signal cancel;
    const outcome<> closed, other;
    s.zk.async_close(asio::bind_cancellation_slot(cancel.slot(), closed.handler()));
    s.zk.async_close(other.handler());
    go_on(s.io, 20ms);
    BOOST_TEST(!closed.done());
    cancel.emit(asio::cancellation_type::total);
    BOOST_TEST(code_of(s.io, closed, 5s) == asio::error::operation_aborted);
    BOOST_TEST(code_of(s.io, other, 5s) == errc::disconnected);
    BOOST_TEST(s.zk.state() == connection_state::closed);
    BOOST_TEST(run_to_the_end(s.io, 5s));
}

BOOST_AUTO_TEST_CASE(a_cancelled_connect_gives_up_and_may_be_tried_again)
{
    for (const bool before_it_begins : {true, false}) {
        client_scene s;
        s.proxy.stall(true);
        asio::cancellation_signal cancel;
        const outcome<> connecting;
        s.zk.async_connect(asio::bind_cancellation_slot(cancel.slot(), connecting.handler()));
        if (!before_it_begins) {
            BOOST_TEST(s.wait_for(connection_state::connecting));
        }
        cancel.emit(asio::cancellation_type::total);
        BOOST_TEST(code_of(s.io, connecting, 5s) == asio::error::operation_aborted);
        BOOST_TEST(run_to_the_end(s.io, 5s)); // nothing holds work
        BOOST_TEST(s.zk.state() == connection_state::idle);
        s.proxy.stall(false);
        s.connect();
        s.close();
    }
}

BOOST_AUTO_TEST_CASE(one_connect_of_several_may_be_cancelled_without_harm_to_the_others)
{
    client_scene s;
    s.proxy.stall(true);
    asio::cancellation_signal cancel;
    const outcome<> cancelled, other;
    s.zk.async_connect(asio::bind_cancellation_slot(cancel.slot(), cancelled.handler()));
    s.zk.async_connect(other.handler());
    BOOST_TEST(s.wait_for(connection_state::connecting));
    cancel.emit(asio::cancellation_type::total);
    BOOST_TEST(code_of(s.io, cancelled, 5s) == asio::error::operation_aborted);
    BOOST_TEST(s.zk.state() == connection_state::connecting);
    s.proxy.stall(false);
    BOOST_TEST(!code_of(s.io, other).failed());
    s.close();
}

BOOST_AUTO_TEST_CASE(the_destructor_aborts_what_is_outstanding_and_ends_the_session)
{
    for (const bool connected : {true, false}) {
        client_scene s;
        std::optional<client> zk{std::in_place, s.io, to(s.proxy)};
        const outcome<> o;
        zk->async_connect(o.handler());
        value_of(s.io, o);
        const auto session = zk->session_id();
        const outcome<colock::watched<get_result>> watching;
        zk->async_watch(s.root, watching.handler());
        const auto w = value_of(s.io, watching).changes;
        if (!connected) {
            s.proxy.refuse(true);
            s.proxy.cut();
            BOOST_TEST(
                becomes_true(s.io, [&] { return zk->state() == connection_state::suspended; }));
        }
        pending p;
        p.start(*zk, s.root, w);
        zk.reset();
        BOOST_TEST(!p.all_done());
        BOOST_TEST(run_to_the_end(s.io, 5s));
        BOOST_TEST(p.all_done());
        BOOST_TEST((p.codes() == std::set<error_code>{asio::error::operation_aborted}));
        BOOST_TEST(lives(session) == !connected);
    }
}

BOOST_AUTO_TEST_CASE(the_destructor_aborts_a_pending_connect_and_close)
{
    client_scene s;
    s.proxy.stall(true);
    std::optional<client> zk{std::in_place, s.io, to(s.proxy)};
    const outcome<> connecting;
    zk->async_connect(connecting.handler());
    BOOST_TEST(becomes_true(s.io, [&] { return zk->state() == connection_state::connecting; }));
    zk.reset();
    BOOST_TEST(code_of(s.io, connecting, 5s) == asio::error::operation_aborted);
    BOOST_TEST(run_to_the_end(s.io, 5s));

    s.proxy.stall(false);
    zk.emplace(s.io, to(s.proxy));
    const outcome<> connected, closing;
    zk->async_connect(connected.handler());
    value_of(s.io, connected);
    s.proxy.stall(true);
    zk->async_close(closing.handler());
    go_on(s.io, 20ms);
    zk.reset();
    BOOST_TEST(code_of(s.io, closing, 5s) == asio::error::operation_aborted);
    s.proxy.stall(false);
    BOOST_TEST(run_to_the_end(s.io, 5s));

    // One that waits for the end of a client that has none.
    zk.emplace(s.io, to(s.proxy));
    const outcome<connection_state> state;
    zk->async_wait_state_change(connection_state::idle, state.handler());
    zk.reset();
    BOOST_TEST(code_of(s.io, state, 5s) == asio::error::operation_aborted);
}

BOOST_AUTO_TEST_CASE(
    the_end_of_the_context_destroys_handlers_without_calling_them_and_does_not_block)
{
    for (const bool stalled : {false, true}) {
        tcp_proxy proxy = link_proxy(one_server::get());
        const auto root = own_node();
        std::optional<asio::io_context> io{std::in_place};
        client zk{*io, to(proxy)};
        const outcome<> connected;
        zk.async_connect(connected.handler());
        value_of(*io, connected);
        const outcome<colock::watched<get_result>> watching;
        zk.async_watch(root, watching.handler());
        auto w = value_of(*io, watching).changes;
        proxy.stall(stalled);

        const auto alive = std::make_shared<int>();
        int called = 0;
        const auto handler = [&called, alive](auto&&...) { ++called; };
        zk.async_get(root, handler);
        zk.async_create(root + "/n-", "", create_mode::ephemeral_sequential, handler);
        zk.async_multi({colock::check_op("/")}, handler);
        zk.async_wait_state_change(connection_state::connected, handler);
        w.async_wait(handler);
        zk.async_watch_children(root, handler);
        io->restart();
        for (int i = 0; i != 6; ++i) {
            io->poll_one(); // so that they have been sent, and not yet answered
        }
        if (stalled) {
            io->poll();
            zk.async_close(handler);
            io->poll();
        }
        const int before = called;
        const auto begin = std::chrono::steady_clock::now();
        BOOST_TEST(alive.use_count() > 2);
        io.reset();
        BOOST_TEST((std::chrono::steady_clock::now() - begin < 2s)); // the C client waits for 3 s
        BOOST_TEST(alive.use_count() == 2);                          // mine, and that in `handler`
        BOOST_TEST(called == before);
    } // the client and the watch are destroyed behind their context
}

BOOST_AUTO_TEST_CASE(a_context_that_ends_while_the_client_connects_or_reconnects)
{
    tcp_proxy proxy = link_proxy(one_server::get());
    for (const bool was_connected : {false, true}) {
        proxy.refuse(false);
        std::optional<asio::io_context> io{std::in_place};
        client zk{*io, to(proxy)};
        const outcome<> connected;
        if (was_connected) {
            zk.async_connect(connected.handler());
            value_of(*io, connected);
        }
        proxy.refuse(true);
        proxy.cut();
        if (was_connected) {
            BOOST_TEST(
                becomes_true(*io, [&] { return zk.state() == connection_state::suspended; }));
        }
        const auto alive = std::make_shared<int>();
        zk.async_connect([alive](error_code) { BOOST_ERROR("called"); });
        zk.async_get("/", [alive](error_code, const get_result&) { BOOST_ERROR("called"); });
        const auto attempts = zk.stats().connect_attempts;
        BOOST_TEST(becomes_true(*io, [&] { return zk.stats().connect_attempts > attempts; }));
        BOOST_TEST(alive.use_count() > 1);
        io.reset();
        BOOST_TEST(alive.use_count() == 1);
    }
}

BOOST_AUTO_TEST_CASE(a_thread_pool_may_be_the_context_and_may_end_first)
{
    const auto root = own_node();
    std::atomic<int> called = 0;
    std::int64_t session = 0;
    {
        asio::thread_pool pool{4};
        client zk{pool, link_client({.hosts = link_hosts(one_server::get())})};
        zk.async_connect(asio::use_future).get();
        session = zk.session_id();
        std::vector<std::future<get_result>> reads;
        for (int i = 0; i != 100; ++i) {
            reads.push_back(zk.async_get(root, asio::use_future));
        }
        for (auto& read : reads) {
            read.get();
        }
        zk.async_close(asio::use_future).get();
        BOOST_TEST(!lives(session));
        pool.join(); // returns, because nothing is left to do
    }
    std::optional<client> zk;
    {
        asio::thread_pool pool{2};
        zk.emplace(pool, link_client({.hosts = link_hosts(one_server::get())}));
        zk->async_connect(asio::use_future).get();
        for (int i = 0; i != 100; ++i) {
            zk->async_get(root, [&](error_code, const get_result&) { ++called; });
        }
        pool.stop();
    }
    const int before = called;
    zk.reset();
    BOOST_TEST(called == before);
}

BOOST_AUTO_TEST_CASE(a_client_may_be_destroyed_by_a_handler_of_its_own)
{
    const auto root = own_node();
    asio::io_context io;
    auto zk = std::make_shared<client>(io, link_client({.hosts = link_hosts(one_server::get())}));
    const outcome<> connected;
    zk->async_connect(connected.handler());
    value_of(io, connected);
    const auto session = zk->session_id();
    int called = 0;
    for (int i = 0; i != 10; ++i) {
        zk->async_get(root, [&called, zk](error_code, const get_result&) { ++called; });
    }
    zk.reset(); // the last of the handlers has it now
    BOOST_TEST(run_to_the_end(io, 5s));
    BOOST_TEST(called == 10);
    BOOST_TEST(!lives(session));
}

BOOST_AUTO_TEST_CASE(the_log_may_use_and_close_the_client_that_is_logging)
{
    // At every message in turn, until a client was closed at its last.
    const auto root = own_node();
    for (int at = 1;; ++at) {
        tcp_proxy proxy = link_proxy(one_server::get());
        asio::io_context io;
        std::optional<client> zk;
        int messages = 0;
        const outcome<> closed;
        auto options = to(proxy);
        options.log_threshold = colock::log_level::debug;
        options.log = [&](colock::log_level, std::string_view) {
            if (++messages == at) {
                zk->async_get(root, [](error_code, const get_result&) {});
                zk->async_close(closed.handler());
            }
        };
        zk.emplace(io, std::move(options));
        const outcome<> connected;
        zk->async_connect(connected.handler());
        becomes_true(io, [&] { return connected.done(); });
        proxy.cut();
        becomes_true(io, [&] { return closed.done() || zk->stats().connections == 2; });
        if (!closed.done() && messages < at) {
            zk.reset();
            BOOST_TEST(run_to_the_end(io, 5s));
            BOOST_TEST(at > 3);
            break;
        }
        BOOST_TEST(becomes_true(io, [&] { return closed.done(); }));
        BOOST_TEST(zk->state() == connection_state::closed);
        BOOST_TEST(run_to_the_end(io, 5s));
        BOOST_TEST(becomes_true(io, [&] { return proxy.live() == 0; }));
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::client_close_test
