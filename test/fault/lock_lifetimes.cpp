// Client, guard, mutex and context are destroyed in any order, at every stage of a lock: nothing crashes,
// each handler is called once or, when its context is gone, never (G6), no session stays (G3).
#include <support/lock_scene.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::lock_lifetimes_test {

namespace {

const error_code aborted = asio::error::operation_aborted;

enum class stage {
    connecting,      // the lock waits for the first connection
    making,          // the directory
    creating,        // the node
    waiting,         // for its turn
    suspended,       // waiting, without a connection
    granted,         // the handler has not run yet
    held,            //
    watched,         // held, and the own node is watched
    unlocking,       //
    releasing,       // in the background
    release_waiting, // in the background, without a connection
};
constexpr stage stages[] = {stage::connecting, stage::making,         stage::creating,
                            stage::waiting,    stage::suspended,      stage::granted,
                            stage::held,       stage::watched,        stage::unlocking,
                            stage::releasing,  stage::release_waiting};
const char* const stage_names[] = {"connecting", "making",    "creating",       "waiting",
                                   "suspended",  "granted",   "held",           "watched",
                                   "unlocking",  "releasing", "release_waiting"};

// Sessions are short, so that those that nobody ends are gone soon.
zookeeper_server& quick_server()
{
    static zookeeper_server server{link_servers([] {
        zookeeper_options options;
        options.tick_time = 100ms;
        options.min_session_timeout = 1s;
        return options;
    }())};
    return server;
}

// A client and a lock, brought to a stage.
struct actors {
    explicit actors(stage s)
        : zk{std::make_unique<client>(
              *io, link_client(
                       {.hosts = proxy.connect_string(), .session_timeout = 2s, .tick = 100ms}))},
          reached{s}
    {
        if (s == stage::connecting) {
            proxy.stall(true);
        }
        outcome<> connected;
        zk->async_connect(connected.handler());
        if (s != stage::connecting) {
            value_of(*io, connected);
        } else {
            go_on(*io, 5ms);
        }
        if (s != stage::making) {
            admin.create(directory);
        }
        if (s == stage::waiting || s == stage::suspended) {
            blocker = admin.create(directory + "/_c_x-lock-", "",
                                   admin_session::mode::ephemeral_sequential);
        }
        switch (s) {
        case stage::connecting: lock(); break;
        case stage::making: hold_back(true, opcode::create_container); break;
        case stage::creating: hold_back(true, opcode::create2); break;
        case stage::waiting:
        case stage::suspended:
            lock();
            until([&] { return quick_server().watches().contains(blocker); });
            break;
        case stage::granted:
            lock();
            until([&] { return zk->stats().locks_granted == 1; });
            break;
        case stage::held:
        case stage::watched:
        case stage::unlocking:
        case stage::releasing:
        case stage::release_waiting:
            lock();
            take();
            break;
        }
        switch (s) {
        case stage::watched:
            until([&] { return quick_server().watches().contains(guard->node()); });
            break;
        case stage::unlocking:
            hold_back(false, opcode::remove, [&] { guard->async_unlock(unlocked.handler()); });
            break;
        case stage::releasing: hold_back(false, opcode::remove, [&] { *guard = {}; }); break;
        case stage::suspended:
        case stage::release_waiting:
            proxy.refuse(true);
            proxy.cut();
            until([&] { return zk->state() == connection_state::suspended; });
            if (s == stage::release_waiting) {
                *guard = {};
                go_on(*io, 2ms);
            }
            break;
        default: break;
        }
    }

    void lock()
    {
        mutex m{*zk, directory}; // a handle: it need not live
        m.async_lock(asio::bind_executor(*lock_context, locked.handler()));
    }

    // The lock's handler has a context of its own, so that it can be kept from running.
    void take()
    {
        until([&] {
            lock_context->restart();
            lock_context->poll();
            return locked.done();
        });
        BOOST_REQUIRE(locked.ok());
        guard = std::make_unique<unique_lock>(std::move(locked.value()));
    }

    void hold_back(bool locks, opcode reply, std::function<void()> then = {})
    {
        const auto rule = proxy.on_reply(reply, reaction::hold);
        if (locks) {
            lock();
        } else {
            then();
        }
        until([&] { return rule.fired() == 1; });
    }

    template <class Condition>
    void until(Condition condition)
    {
        BOOST_REQUIRE(becomes_true(*io, condition));
    }

    [[nodiscard]] bool pending_lock() const { return reached <= stage::suspended; }

    // Destroyed last, because waiting operations count as its work.
    std::unique_ptr<asio::io_context> lock_context = std::make_unique<asio::io_context>();
    std::unique_ptr<asio::io_context> io = std::make_unique<asio::io_context>();
    tcp_proxy proxy = link_proxy(quick_server());
    admin_session admin{quick_server().connect_string()};
    std::string directory = fresh_directory();
    std::string blocker;
    std::unique_ptr<client> zk;
    std::unique_ptr<unique_lock> guard = std::make_unique<unique_lock>();
    outcome<unique_lock> locked;
    outcome<> unlocked;
    stage reached;
};

// In the end the sessions of all cases are over, whatever became of their clients.
struct no_session_stays {
    void setup() {}
    void teardown()
    {
        admin_session admin{quick_server().connect_string()};
        for (const auto& name : admin.children("/")) {
            if (name.starts_with("lock")) {
                BOOST_TEST(wait_until(
                               [&] {
                                   const auto names = admin.children("/" + name);
                                   return names.empty() ||
                                          (names.size() == 1 && names[0].starts_with("_c_x-"));
                               },
                               long_enough),
                           "a node is left in " << name);
            }
        }
    }
};

} // namespace

#define FOR_EACH_STAGE                                                                             \
    for (const auto reached : stages)                                                              \
    BOOST_TEST_CONTEXT("stage " << stage_names[static_cast<int>(reached)])

BOOST_AUTO_TEST_SUITE(lock_lifetimes, *boost::unit_test::fixture<no_session_stays>())

BOOST_AUTO_TEST_CASE(the_client_is_destroyed_first)
{
    FOR_EACH_STAGE
    {
        actors a{reached};
        const auto contenders_node = a.guard->node();
        a.zk.reset();
        a.proxy.clear_rules();
        a.proxy.stall(false);
        BOOST_TEST(run_to_the_end(*a.io)); // nothing holds it any more
        a.lock_context->restart();
        a.lock_context->run();
        BOOST_TEST(a.locked.calls() == 1U);
        if (a.pending_lock()) {
            BOOST_TEST(a.locked.error() == aborted);
        } else if (reached == stage::granted) {
            BOOST_TEST(a.locked.error() == errc::client_closed); // lost before its handler ran
            BOOST_TEST(a.locked.value().loss_reason() == errc::not_held);
        } else if (reached == stage::held || reached == stage::watched) {
            BOOST_TEST(a.guard->loss_reason() == errc::client_closed);
            BOOST_TEST(!*a.guard);
            BOOST_TEST(a.guard->path() == a.directory);
            BOOST_TEST(a.guard->node() == contenders_node);
            a.guard->async_unlock(a.unlocked.handler());
            BOOST_TEST(code_of(*a.io, a.unlocked) == errc::client_closed);
        } else if (reached == stage::unlocking) {
            BOOST_TEST(code_of(*a.io, a.unlocked) == aborted);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_context_is_destroyed_first)
{
    FOR_EACH_STAGE
    {
        for (const bool guard_first : {false, true}) {
            actors a{reached};
            const auto calls = a.locked.calls();
            a.io.reset();
            if (reached == stage::held || reached == stage::watched) {
                BOOST_TEST(a.guard->loss_reason() == errc::client_closed);
                BOOST_TEST(a.guard->token().high() > 0U);
            }
            if (guard_first) {
                a.guard.reset();
            }
            a.zk.reset();
            a.guard.reset();
            a.lock_context->restart();
            a.lock_context->run(); // what was granted before has been posted there
            BOOST_TEST(a.locked.calls() ==
                       calls + static_cast<unsigned>(reached == stage::granted));
            BOOST_TEST(a.unlocked.calls() == 0U);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_client_is_destroyed_and_then_the_context_before_it_runs_again)
{
    FOR_EACH_STAGE
    {
        for (const int order : {0, 1, 2}) {
            actors a{reached};
            const auto calls = a.locked.calls();
            if (order == 0) {
                a.guard.reset();
            }
            a.zk.reset();
            if (order == 1) {
                a.guard.reset();
            }
            if (order == 2) {
                a.io->poll_one();
            }
            a.io.reset();
            a.guard.reset();
            BOOST_TEST(a.locked.calls() == calls);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_handlers_context_is_destroyed_first)
{
    for (const auto reached : {stage::granted, stage::held}) {
        actors a{reached};
        const auto before = a.locked.calls();
        a.lock_context.reset(); // a lock on its way to its handler is released
        if (reached == stage::granted) {
            a.until([&] { return a.admin.children(a.directory).empty(); });
            BOOST_TEST(a.zk->stats().locks_released == 1U);
        }
        BOOST_TEST(a.locked.calls() == before);
    }
}

// The usual program: a coroutine has them all on its stack.
BOOST_AUTO_TEST_CASE(a_coroutine_that_owns_client_and_guard_is_destroyed_with_the_context)
{
    const auto options =
        link_client({.hosts = link_hosts(quick_server()), .session_timeout = 2s, .tick = 100ms});
    for (int steps = 0; steps != 50; ++steps) {
        asio::io_context io;
        const auto directory = fresh_directory();
        asio::co_spawn(
            io,
            [&]() -> asio::awaitable<void> {
                client zk{io, options};
                co_await zk.async_connect();
                mutex m{zk, directory};
                auto held = co_await m.async_lock();
                auto next = co_await m.async_try_lock();
                co_await held.async_unlock();
                held = co_await m.async_lock();
                static_cast<void>(co_await m.async_lock()); // waits for itself
            },
            asio::detached);
        for (int i = 0; i != steps; ++i) {
            io.run_one_for(10ms);
        }
    }
}

// A handler that owns the client that is to call it, and one whose memory belongs to itself.
BOOST_AUTO_TEST_CASE(a_handler_that_owns_its_client_is_destroyed_with_the_context)
{
    asio::io_context io;
    auto zk = std::make_shared<client>(
        io, link_client({.hosts = link_hosts(quick_server()), .tick = 100ms}));
    outcome<> connected;
    zk->async_connect(connected.handler());
    value_of(io, connected);
    const mutex m{*zk, fresh_directory()};
    outcome<unique_lock> first;
    mutex{m}.async_lock(first.handler());
    const auto held = value_of(io, first);
    for (int i = 0; i != 3; ++i) {
        mutex{m}.async_lock([zk](error_code, const unique_lock&) { BOOST_TEST(false); });
        mutex{m}.async_lock(asio::any_completion_handler<void(error_code, unique_lock)>{
            [zk](error_code, const unique_lock&) { BOOST_TEST(false); }});
    }
    go_on(io, 5ms);
    zk.reset();
}

BOOST_AUTO_TEST_CASE(run_returns_when_the_client_is_closed_also_after_a_background_release)
{
    lock_scene s;
    auto& c = s.connect();
    auto held = s.hold(c);
    s.io.restart();
    s.io.run_for(30ms);
    BOOST_TEST(!s.io.stopped()); // a connected client is work
    outcome<> closed;
    held = {};
    c.async_close(closed.handler());
    BOOST_TEST(run_to_the_end(s.io));
    BOOST_TEST(closed.ok());
    BOOST_TEST(s.queue().empty());
}

BOOST_AUTO_TEST_CASE(G3_closing_behind_a_release_awaits_it)
{
    lock_scene s;
    tcp_proxy proxy = link_proxy(s.server);
    auto& other = s.connect();
    for (int i = 0; i != 20; ++i) {
        auto& c = s.connect_through(proxy);
        auto held = s.hold(c);
        auto next = s.start_waiter(other);
        outcome<> closed;
        held = {};
        c.async_close(closed.handler());
        BOOST_TEST(code_of(s.io, closed) == error_code{});
        BOOST_TEST(s.queue().size() == 1U);
        held = value_of(s.io, next);
        BOOST_TEST(s.unlock(held) == error_code{});
    }
    BOOST_TEST(proxy.requests(opcode::remove) == 20U);
    s.check_nothing_left();
}

// Events that come for watches of locks while the client is being closed find nobody.
BOOST_AUTO_TEST_CASE(events_during_the_close)
{
    lock_scene s;
    tcp_proxy proxy = link_proxy(s.server);
    auto& holder = s.connect();
    for (int i = 0; i != 5; ++i) {
        auto& c = s.connect_through(proxy);
        auto held = s.hold(holder);
        auto waiting = s.start_waiter(c);
        BOOST_TEST(s.wait_for_watches(c, 2));
        auto held_back = proxy.on_request(opcode::set_data, reaction::hold);
        outcome<node_stat> set;
        c.async_set(s.directory, "x", any_version, set.handler()); // keeps the connection
        BOOST_TEST(s.until([&] { return held_back.fired() == 1; }));
        outcome<> closed;
        c.async_close(closed.handler());
        BOOST_TEST(code_of(s.io, waiting) == errc::client_closed);
        const auto events = c.stats().watch_events;
        held = {};
        BOOST_TEST(s.until([&] { return c.stats().watch_events > events; }));
        held_back.release();
        BOOST_TEST(code_of(s.io, closed) == error_code{});
        BOOST_TEST(code_of(s.io, set) == error_code{});
    }
    s.check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::lock_lifetimes_test
