// What a guard knows and does: state, bounds, loss and its reason, transactions that need the lock, release and
// adoption.
#include <support/lock_scene.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace colock::test::guard_test {

namespace {

using std::chrono::steady_clock;

constexpr auto tick = 100ms;
constexpr auto timeout = 2s;

zookeeper_server& quick_server()
{
    static zookeeper_server server{[] {
        zookeeper_options options;
        options.tick_time = tick;
        return options;
    }()};
    return server;
}

// A holder whose connection can be silenced.
struct guard_scene : lock_scene {
    guard_scene() : lock_scene{quick_server()} {}

    client& connect_silenceable()
    {
        return connect_through(proxy, {.session_timeout = timeout, .tick = tick});
    }
    client& connect_beside() { return connect({.session_timeout = timeout, .tick = tick}); }

    outcome<error_code> wait_lost(const unique_lock& held)
    {
        outcome<error_code> o;
        held.async_wait_lost(o.handler());
        return o;
    }

    tcp_proxy proxy{quick_server().connect_string()};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(guard, guard_scene)

BOOST_AUTO_TEST_CASE(an_empty_guard_holds_nothing)
{
    const unique_lock empty;
    BOOST_TEST(!empty);
    BOOST_TEST((empty.state() == lock_state::not_held));
    BOOST_TEST(empty.loss_reason() == errc::not_held);
    BOOST_TEST((empty.safe_until() < steady_clock::now()));
    BOOST_TEST((empty.remaining() == 0s));
    BOOST_TEST(empty.path().empty());
    BOOST_TEST(empty.node().empty());
    BOOST_TEST((empty.token() == fencing_token{}));
    BOOST_CHECK_EXCEPTION(static_cast<void>(empty.guarded({})), boost::system::system_error,
                          [](const auto& e) { return e.code() == errc::not_held; });
    outcome<error_code> lost;
    empty.async_wait_lost(asio::bind_executor(io, lost.handler()));
    BOOST_TEST(code_of(io, lost) == errc::not_held);
}

// A callback of a program with one thread must not find itself on a thread of the system's pool.
BOOST_AUTO_TEST_CASE(a_guard_that_was_unlocked_keeps_its_executor)
{
    auto& zk = connect_beside();
    auto held = hold(zk);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST((held.get_executor() == zk.get_executor()));
    outcome<> twice;
    held.async_unlock(twice.handler());
    BOOST_TEST(code_of(io, twice) == errc::not_held);
    const auto other = hold(zk);
    const auto busy = value_of(io, start_try_lock(zk));
    BOOST_TEST(!busy);
    BOOST_TEST((busy.get_executor() == zk.get_executor()));
}

BOOST_AUTO_TEST_CASE(G5_a_lock_is_safe_from_the_grant_on_and_stays_so)
{
    auto& zk = connect_beside();
    const auto begun = steady_clock::now();
    auto held = hold(zk);
    BOOST_TEST((held.state() == lock_state::held));
    const auto first = held.safe_until();
    BOOST_TEST((first > begun + 1s));
    const auto before = steady_clock::now();
    const auto remaining = held.remaining();
    BOOST_TEST((steady_clock::now() + remaining >= first - 1ms));
    BOOST_TEST((before + remaining <= held.safe_until() + 1ms));
    BOOST_TEST(until([&] { return held.safe_until() > first + timeout; })); // beats move it on
    BOOST_TEST(bool(held));
}

BOOST_AUTO_TEST_CASE(G5_a_disconnection_suspends_and_a_reconnection_resumes)
{
    auto& zk = connect_silenceable();
    auto held = hold(zk);
    const auto node = held.node();
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return held.state() == lock_state::suspended; }));
    BOOST_TEST(bool(held));
    const auto bound = held.safe_until();
    go_on(io, 50ms);
    BOOST_TEST((held.safe_until() - bound < 1ms)); // it does not move by itself
    BOOST_TEST((bound - held.safe_until() < 1ms));
    proxy.refuse(false);
    BOOST_TEST(until([&] { return held.state() == lock_state::held; }));
    BOOST_TEST(until([&] { return held.safe_until() > bound; }));
    BOOST_TEST(held.node() == node);
    held = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G5_a_holder_that_hears_nothing_is_told_before_the_next_one_can_be_granted)
{
    auto& zk = connect_silenceable();
    auto held = hold(zk);
    const auto next = start_waiter(connect_beside());
    const auto lost = wait_lost(held);
    proxy.stall(true);
    BOOST_TEST(until([&] { return lost.done() || next.done(); }));
    BOOST_TEST(lost.ok());
    BOOST_TEST(!next.done());
    BOOST_TEST(lost.value() == errc::safe_until_passed);
    BOOST_TEST(held.loss_reason() == errc::safe_until_passed);
    BOOST_TEST((held.state() == lock_state::lost));
    BOOST_TEST((held.remaining() == 0s));
    BOOST_TEST((held.safe_until() < steady_clock::now()));
    BOOST_TEST(zk.stats().locks_lost == 1U);
    BOOST_TEST(until([&] { return next.done(); }));
    BOOST_TEST(held.loss_reason() == errc::safe_until_passed); // the first reason stays
    outcome<> unlocked;
    held.async_unlock(unlocked.handler());
    BOOST_TEST(code_of(io, unlocked) == errc::safe_until_passed);
    proxy.stall(false);
}

// The session lives, and still the lock is lost. The place in the queue is kept while the guard lives:
// whoever has it may still be stopping what he did under the lock.
BOOST_AUTO_TEST_CASE(G5_lost_is_final_though_the_session_lives_on)
{
    auto& zk = connect_silenceable();
    const auto session = zk.session_id();
    lock_options early{.safety_margin = 1s};
    auto held = hold(zk, early);
    const auto node = held.node();
    const auto lost = wait_lost(held);
    proxy.stall(true);
    BOOST_TEST(until([&] { return lost.done(); }));
    BOOST_TEST(!held);
    proxy.stall(false);
    auto next = start_lock(connect_beside());
    BOOST_TEST(until([&] { return queue().size() == 2; }));
    BOOST_TEST(zk.session_id() == session);
    BOOST_TEST(zk.stats().expirations == 0U);
    BOOST_TEST(admin.exists(node).has_value());
    BOOST_TEST(!next.done());
    BOOST_TEST(held.loss_reason() == errc::safe_until_passed);
    const auto token = held.token();
    BOOST_TEST(unlock(held) == errc::safe_until_passed);
    const auto other = value_of(io, next);
    BOOST_TEST((other.token() > token));
    auto again = start_lock(zk, early); // another grant is another matter
    BOOST_TEST(until([&] { return queue().size() == 2; }));
    BOOST_TEST(!admin.exists(node).has_value());
}

BOOST_AUTO_TEST_CASE(G5_the_lead_is_taken_off_the_bound)
{
    auto& zk = connect_silenceable();
    auto late = hold(zk);
    mutex m{zk, directory + "-early", {.safety_margin = 900ms}};
    outcome<unique_lock> locked;
    m.async_lock(locked.handler());
    auto early = value_of(io, locked);
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return late.state() == lock_state::suspended; }));
    const auto difference = late.safe_until() - early.safe_until();
    BOOST_TEST((difference > 899ms && difference < 901ms));
    const auto early_lost = wait_lost(early);
    const auto late_lost = wait_lost(late);
    BOOST_TEST(until([&] { return early_lost.done(); }));
    BOOST_TEST(!late_lost.done());
    BOOST_TEST((late.remaining() > 0s));
    BOOST_TEST(until([&] { return late_lost.done(); }));
    proxy.refuse(false);
}

// No timer has run yet, as after SIGCONT: whoever asks first finds it out.
BOOST_AUTO_TEST_CASE(G5_a_guard_looks_at_the_clock_itself)
{
    auto& zk = connect_silenceable();
    auto held = hold(zk);
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return held.state() == lock_state::suspended; }));
    const auto lost = wait_lost(held);
    go_on(io, 1ms);
    std::this_thread::sleep_until(held.safe_until()); // nothing runs
    BOOST_TEST(!held);
    BOOST_TEST(held.loss_reason() == errc::safe_until_passed);
    BOOST_TEST(!lost.done());
    BOOST_TEST(until([&] { return lost.done(); }));
    BOOST_TEST(lost.value() == errc::safe_until_passed);
    BOOST_TEST(zk.stats().locks_lost == 1U);
    proxy.refuse(false);
}

BOOST_AUTO_TEST_CASE(waiting_for_a_loss)
{
    auto& zk = connect_beside();
    auto held = hold(zk);
    const auto first = wait_lost(held);
    asio::cancellation_signal stop;
    outcome<error_code> cancelled;
    held.async_wait_lost(asio::bind_cancellation_slot(stop.slot(), cancelled.handler()));
    go_on(io, 2ms);
    stop.emit(asio::cancellation_type::total);
    BOOST_TEST(code_of(io, cancelled) == asio::error::operation_aborted);
    unique_lock moved{std::move(held)};
    const auto second = wait_lost(moved);
    go_on(io, 2ms);
    BOOST_TEST(!first.done());
    BOOST_TEST(!second.done());
    admin.remove(moved.node());
    BOOST_TEST(code_of(io, first) == error_code{});
    BOOST_TEST(first.value() == errc::node_deleted);
    BOOST_TEST(code_of(io, second) == error_code{});
    BOOST_TEST(second.value() == errc::node_deleted);
    const auto late = wait_lost(moved);
    BOOST_TEST(code_of(io, late) == error_code{});
    BOOST_TEST(late.value() == errc::node_deleted);
    check_nothing_left();

    for (const bool wait_for_it : {false, true}) {
        auto other = hold(zk);
        const auto released = wait_lost(other);
        if (wait_for_it) {
            BOOST_TEST(unlock(other) == error_code{});
        } else {
            other = {};
        }
        BOOST_TEST(code_of(io, released) == errc::not_held);
    }
    auto other = hold(zk);
    const auto closed = wait_lost(other);
    go_on(io, 2ms);
    outcome<> closing;
    zk.async_close(closing.handler());
    BOOST_TEST(code_of(io, closed) == error_code{});
    BOOST_TEST(closed.value() == errc::client_closed);
    BOOST_TEST(code_of(io, closing) == error_code{});
}

BOOST_AUTO_TEST_CASE(waiting_for_a_loss_beside_the_work)
{
    using namespace asio::experimental::awaitable_operators;
    auto& zk = connect_beside();
    run(io, [&]() -> asio::awaitable<void> {
        mutex m{zk, directory};
        auto held = co_await m.async_lock();
        asio::steady_timer work{io, 1min};
        asio::post(io, [&] { admin.remove(held.node()); });
        const auto ended = co_await (work.async_wait(asio::use_awaitable) ||
                                     held.async_wait_lost(asio::use_awaitable));
        BOOST_REQUIRE(ended.index() == 1U);
        BOOST_TEST(std::get<1>(ended) == errc::node_deleted);
    }());
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_guarded_transaction_is_carried_out_only_while_the_lock_is_held)
{
    auto& zk = connect_beside();
    auto held = hold(zk);
    const auto note = directory + "-note";
    const auto write = [&](client& c, const std::string& text) {
        outcome<std::vector<transaction_result>> o;
        c.async_multi(held.guarded({set_op(note, text)}), o.handler());
        return o;
    };
    admin.create(note, "0");
    BOOST_TEST(code_of(io, write(zk, "1")) == error_code{});
    BOOST_TEST(code_of(io, write(connect_beside(), "2")) == error_code{}); // any client may

    admin.remove(held.node()); // this client may not know it yet
    const auto refused = write(zk, "3");
    BOOST_TEST(code_of(io, refused) == zookeeper_errc::no_node);
    BOOST_TEST(admin.get(note) == "2");
    BOOST_TEST(until([&] { return !held; }));
    BOOST_TEST(code_of(io, write(zk, "4")) == zookeeper_errc::no_node); // nor when it does

    held = hold(zk);
    static_cast<void>(kill_session(server.connect_string(), zk.session_id(), password_of(zk)));
    BOOST_TEST(until([&] { return held.loss_reason() == errc::session_expired; }));
    BOOST_TEST(code_of(io, write(zk, "5")) == zookeeper_errc::no_node); // in a new session
    BOOST_TEST(admin.get(note) == "2");
    BOOST_CHECK_EXCEPTION(static_cast<void>(unique_lock{}.guarded({})), boost::system::system_error,
                          [](const auto& e) { return e.code() == errc::not_held; });
}

BOOST_AUTO_TEST_CASE(leads_that_leave_no_time_are_refused)
{
    auto& zk = connect_beside();
    for (const auto lead : {-1ms, 2'000ms, 1'500ms, std::chrono::milliseconds::max(),
                            std::chrono::milliseconds::min()}) {
        const auto o = start_lock(zk, {.safety_margin = lead});
        BOOST_TEST(code_of(io, o) == errc::invalid_option);
        BOOST_TEST(zk.last_error_detail().find("safety_margin") != std::string::npos);
    }
    for (const auto grace : {-1ms, std::chrono::milliseconds::max()}) {
        BOOST_TEST(code_of(io, start_lock(zk, {.body_grace = grace})) == errc::invalid_option);
    }
    for (const auto most : {0ms, -1ms, std::chrono::milliseconds::max()}) {
        BOOST_TEST(code_of(io, start_lock(zk, {.max_hold = most})) == errc::invalid_option);
        BOOST_TEST(zk.last_error_detail().find("max_hold") != std::string::npos);
    }

    // It is said which time-out would do, and whose fault it is.
    auto& cut = connect({.session_timeout = 60s, .tick = tick});
    const auto granted = std::to_string(cut.session_timeout() / 1s) + " s";
    BOOST_TEST(code_of(io, start_lock(cut, {.safety_margin = 35s})) == errc::invalid_option);
    BOOST_TEST(cut.last_error_detail().find("with a session time-out of " + granted +
                                            " (the servers allow no more of the 60 s asked for)") !=
               std::string::npos);
    BOOST_TEST(cut.last_error_detail().find("raise maxSessionTimeout of the servers to 53490 ms") !=
               std::string::npos);

    auto& short_session = connect({.session_timeout = timeout, .tick = 2s});
    BOOST_TEST(code_of(io, start_lock(short_session)) == errc::invalid_option);
    BOOST_TEST(short_session.last_error_detail().find("tick") != std::string::npos);
    check_nothing_left();
}

// A lead that is possible in one session may not be so in the next.
BOOST_AUTO_TEST_CASE(a_waiter_with_an_impossible_lead_is_refused_when_it_connects)
{
    client idle{io, {.hosts = proxy.connect_string(), .session_timeout = timeout, .tick = tick}};
    outcome<> connected;
    idle.async_connect(connected.handler());
    const auto o = start_lock(idle, {.safety_margin = 1'900ms});
    BOOST_TEST(code_of(io, o) == errc::invalid_option);
    BOOST_TEST(code_of(io, connected) == error_code{});
    BOOST_TEST(queue().empty());
}

BOOST_AUTO_TEST_CASE(a_handler_that_throws_leaves_the_client_intact)
{
    auto& zk = connect_beside();
    mutex m{zk, directory, with_nodes()};
    m.async_lock([](error_code, unique_lock) { throw std::runtime_error{"the user's"}; });
    BOOST_CHECK_EXCEPTION(until([&] { return zk.stats().locks_released == 1; }), std::runtime_error,
                          [](const auto& e) { return std::string{e.what()} == "the user's"; });
    auto held = hold(zk);
    BOOST_TEST(bool(held));
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

// In any order, with a wait for a loss and a timed try under way: nothing is called when the context goes, everything
// once when the client goes. See lock_lifetimes.cpp for the other operations.
BOOST_AUTO_TEST_CASE(G6_context_client_and_guard_are_destroyed_in_any_order)
{
    enum part { context, the_client, the_guard };
    int number = 0;
    for (auto order :
         {std::vector{context, the_client, the_guard}, std::vector{context, the_guard, the_client},
          std::vector{the_client, context, the_guard}, std::vector{the_client, the_guard, context},
          std::vector{the_guard, context, the_client},
          std::vector{the_guard, the_client, context}}) {
        auto other = std::make_unique<asio::io_context>();
        auto zk = std::make_unique<client>(*other, client_options{.hosts = server.connect_string(),
                                                                  .session_timeout = timeout,
                                                                  .tick = tick});
        outcome<> connected;
        zk->async_connect(connected.handler());
        value_of(*other, connected);
        outcome<unique_lock> locked;
        mutex m{*zk, directory + "/" + std::to_string(++number)};
        m.async_lock(locked.handler());
        auto guard = std::make_unique<unique_lock>(value_of(*other, locked));
        outcome<error_code> loss;
        guard->async_wait_lost(loss.handler());
        outcome<unique_lock> timed;
        m.async_try_lock_for(1min, timed.handler());
        go_on(*other, 10ms);
        BOOST_TEST(!loss.done());
        BOOST_TEST(!timed.done());
        for (const auto each : order) {
            switch (each) {
            case context: other.reset(); break;
            case the_client: zk.reset(); break;
            case the_guard: guard.reset(); break;
            }
            if (other) {
                other->restart();
                other->poll();
            }
            if (guard && each != the_guard) {
                BOOST_TEST(guard->loss_reason() == errc::client_closed);
            }
        }
        BOOST_TEST(loss.calls() <= 1U);
        BOOST_TEST(timed.calls() <= 1U);
        if (order.front() == context) {
            BOOST_TEST(loss.calls() + timed.calls() == 0U);
        } else if (order.front() == the_client) {
            BOOST_TEST(loss.calls() == 1U);
            BOOST_TEST(loss.value() == errc::client_closed);
            BOOST_TEST(timed.calls() == 1U);
            BOOST_TEST(timed.error() == asio::error::operation_aborted);
        } else {
            BOOST_TEST(loss.calls() == 1U);
            BOOST_TEST(loss.error() == errc::not_held);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_log_tells_a_loss_once_and_does_not_warn_of_a_client_that_is_closed)
{
    std::vector<std::string> warnings;
    const client_options options{.session_timeout = timeout,
                                 .tick = tick,
                                 .log = [&](log_level level, std::string_view text) {
                                     if (level >= log_level::warning) {
                                         warnings.emplace_back(text);
                                     }
                                 }};
    auto& first = connect(options);
    auto kept = hold(first);
    outcome<permit> acquired;
    semaphore{first, directory + "/s", 1}.async_acquire(1, acquired.handler());
    const auto permits = value_of(io, acquired);
    outcome<> closed;
    first.async_close(closed.handler());
    BOOST_TEST(code_of(io, closed) == error_code{});
    BOOST_TEST(kept.loss_reason() == errc::client_closed);
    BOOST_TEST(permits.loss_reason() == errc::client_closed);
    BOOST_TEST(warnings == std::vector<std::string>{}, boost::test_tools::per_element());

    auto& second = connect(options);
    kept = hold(second);
    admin.remove(kept.node());
    BOOST_TEST(until([&] { return second.stats().locks_lost == 1; }));
    const auto once = "lock " + directory + ": lost: somebody deleted the node of the lock";
    BOOST_TEST(warnings == std::vector{once}, boost::test_tools::per_element());
    BOOST_TEST(second.last_error_detail() == once);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::guard_test
