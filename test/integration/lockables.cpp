// What every kind of lock promises, told once for all of them. What is special about a kind is in the file of that kind.
#include <support/requests_of.hpp>

#include "lockable_kinds.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace colock::test::lockables_test {

BOOST_AUTO_TEST_SUITE(lockables)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_free_lock_is_granted_within_any_limit, Kind, kinds)
{
    kind_scene<Kind> s;
    auto& c = s.connect();
    const auto check = [&](outcome<typename Kind::guard> o) {
        auto held = value_of(s.io, o);
        BOOST_TEST(bool(held));
        BOOST_TEST((held.state() == lock_state::held));
        BOOST_TEST(held.loss_reason() == error_code{});
        BOOST_TEST((held.remaining() > 0s));
        BOOST_TEST(s.unlock(held) == error_code{});
    };
    check(s.start(Kind{c, s.directory}));
    check(s.start_try(Kind{c, s.directory}));
    check(s.start_for(Kind{c, s.directory}, 0s));
    check(s.start_for(Kind{c, s.directory}, 10s));
    check(s.start_for(Kind{c, s.directory}, std::chrono::hours::max()));
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_held_lock_is_refused_without_an_error_when_the_time_is_over, Kind,
                              kinds)
{
    kind_scene<Kind> s;
    auto& c = s.connect();
    auto held = s.occupy(s.connect());
    BOOST_TEST(!value_of(s.io, s.start_try(Kind{c, s.directory})));
    BOOST_TEST(!value_of(s.io, s.start_for(Kind{c, s.directory}, -1h)));
    BOOST_TEST(!value_of(s.io, s.start_for(Kind{c, s.directory}, 20ms)));
    const auto in_time = s.start_for(Kind{c, s.directory}, 60s);
    BOOST_TEST(!in_time.done());
    held = {};
    BOOST_TEST(bool(value_of(s.io, in_time)));
    in_time.value() = {};
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(G3_a_wait_that_is_cancelled_leaves_nothing_behind, Kind, kinds)
{
    kind_scene<Kind> s;
    auto held = s.occupy(s.connect());
    const auto before = s.nodes();
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        auto& c = s.connect();
        asio::cancellation_signal stop;
        outcome<typename Kind::guard> o;
        Kind{c, s.directory}.lock(asio::bind_cancellation_slot(stop.slot(), o.handler()));
        BOOST_TEST(s.until([&] { return c.stats().contenders != 0; }));
        BOOST_TEST(!o.done());
        stop.emit(type);
        BOOST_TEST(code_of(s.io, o) == asio::error::operation_aborted);
        BOOST_TEST(s.until([&] { return c.stats().contenders == 0; }));
        BOOST_TEST(s.until([&] { return s.nodes() == before; }));
    }
    held = {};
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bad_input_is_refused_and_nothing_is_sent, Kind, kinds)
{
    kind_scene<Kind> s;
    auto& c = s.connect();
    const auto before = requests_of(c);
    const auto expect = [&](const std::string& path, lock_options o, errc code, const char* says) {
        BOOST_TEST(code_of(s.io, s.start(Kind{c, path, std::move(o)})) == code);
        BOOST_TEST(c.last_error_detail().find(says) != std::string::npos, c.last_error_detail());
    };
    expect("relative", {}, errc::invalid_path, "relative");
    expect("/a//b", {}, errc::invalid_path, "/a//b");
    expect("/a/../b", {}, errc::invalid_path, "..");
    expect(s.directory, {.safety_margin = -1ms}, errc::invalid_option, "safety_margin");
    expect(s.directory, {.linger = 2s, .max_linger = 1s}, errc::invalid_option, "linger");
    const auto probes = std::is_same_v<Kind, several_locks> ? 5U : 0U; // which change nothing
    BOOST_TEST(requests_of(c) - before == probes);

    auto held = s.take(c);
    BOOST_TEST(code_of(s.io, s.start(Kind{c, s.directory, {.safety_margin = 1ms}})) ==
               errc::conflicting_use);
    BOOST_TEST(c.last_error_detail().find("safety_margin is 0 ms there and 1 ms here") !=
                   std::string::npos,
               c.last_error_detail());
    held = {};
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(without_a_connection_a_wait_goes_on_and_a_try_says_so, Kind, kinds)
{
    kind_scene<Kind> s;
    tcp_proxy proxy{s.server.connect_string()};
    auto& c = s.connect_through(proxy);
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(s.until([&] { return c.state() == connection_state::suspended; }));
    BOOST_TEST(code_of(s.io, s.start_try(Kind{c, s.directory})) == errc::disconnected);
    BOOST_TEST(code_of(s.io, s.start_for(Kind{c, s.directory}, 20ms)) == errc::disconnected);
    const auto waiting = s.start(Kind{c, s.directory});
    proxy.refuse(false);
    BOOST_TEST(bool(value_of(s.io, waiting)));
    waiting.value() = {};
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(guards_move_and_an_empty_one_holds_nothing, Kind, kinds)
{
    using guard = typename Kind::guard;
    kind_scene<Kind> s;
    guard nothing;
    BOOST_TEST(!nothing);
    BOOST_TEST((nothing.state() == lock_state::not_held));
    BOOST_TEST(nothing.loss_reason() == errc::not_held);
    BOOST_TEST((nothing.remaining() == 0s));
    BOOST_TEST(s.unlock(nothing) == errc::not_held);

    auto held = s.take(s.connect());
    guard moved{std::move(held)};
    BOOST_TEST(!held); // NOLINT(bugprone-use-after-move)
    BOOST_TEST(bool(moved));
    held = std::move(moved);
    BOOST_TEST(bool(held));
    using std::swap;
    swap(held, nothing);
    BOOST_TEST(!held);
    BOOST_TEST(s.unlock(nothing) == error_code{});
    BOOST_TEST(s.unlock(nothing) == errc::not_held);
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(G3_a_guard_that_is_destroyed_releases_in_the_background, Kind, kinds)
{
    kind_scene<Kind> s;
    {
        const auto held = s.take(s.connect());
        BOOST_TEST(s.nodes() != 0U);
    }
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(G5_a_holder_whose_session_ends_is_told, Kind, kinds)
{
    kind_scene<Kind> s;
    auto& c = s.connect();
    auto held = s.take(c);
    outcome<error_code> told;
    held.async_wait_lost(told.handler());
    s.end_session(c);
    BOOST_TEST(value_of(s.io, told) == errc::session_expired);
    BOOST_TEST(!held);
    BOOST_TEST((held.state() == lock_state::lost));
    BOOST_TEST(held.loss_reason() == errc::session_expired);
    BOOST_TEST((held.remaining() == 0s));
    BOOST_TEST(c.stats().locks_lost != 0U);
    BOOST_TEST(s.unlock(held) == errc::session_expired);
    s.check_free();
}

// The handler runs on another context, and so late that the client has heard of the loss.
BOOST_AUTO_TEST_CASE_TEMPLATE(G5_a_lock_that_is_lost_before_its_handler_runs_is_an_error, Kind,
                              kinds)
{
    using guard = typename Kind::guard;
    asio::io_context late;
    kind_scene<Kind> s;
    const auto check = [&](auto start, auto lose, errc why) {
        auto& c = s.connect();
        outcome<guard> o;
        diagnostics words;
        start(Kind{c, s.directory},
              asio::bind_executor(late, bind_diagnostics(words, o.handler())));
        BOOST_TEST(s.until([&] { return s.is_granted(c); }));
        lose(c);
        BOOST_TEST(s.until([&] { return c.stats().locks_lost != 0U; }));
        BOOST_TEST(code_of(late, o) == why);
        BOOST_TEST((o.value().state() == lock_state::not_held));
        BOOST_TEST(words.message().find(s.directory) != std::string::npos, words.message());
        BOOST_TEST(words.message().find("granted, and lost") != std::string::npos, words.message());
        late.restart();
    };
    const auto lock = [](Kind k, auto token) { k.lock(std::move(token)); };
    const auto try_lock = [](Kind k, auto token) { k.try_lock(std::move(token)); };
    const auto try_for = [](Kind k, auto token) { k.try_lock_for(60s, std::move(token)); };
    const auto by_hand = [&](client&) { s.delete_nodes(); };
    const auto by_expiry = [&](client& c) { s.end_session(c); };
    check(lock, by_hand, errc::node_deleted);
    check(try_lock, by_hand, errc::node_deleted);
    check(try_for, by_hand, errc::node_deleted);
    check(try_for, by_expiry, errc::session_expired);
    s.check_free();
}

// Behind a rival, whose node and the waiter's own one go at nearly the same time.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_waiter_whose_node_is_deleted_never_gets_an_empty_guard, Kind, kinds)
{
    kind_scene<Kind> s;
    constexpr bool has_one_node = std::is_same_v<Kind, a_single_node_mutex>;
    for (int i = 0; i != 5; ++i) {
        auto held = s.occupy(s.connect());
        auto& c = s.connect();
        const auto before = s.nodes();
        auto waiting = s.start_for(Kind{c, s.directory}, 60s);
        BOOST_TEST(s.until(
            [&] { return c.stats().contenders != 0 && (s.nodes() > before || has_one_node); }));
        s.delete_nodes();
        const auto ec = code_of(s.io, waiting);
        BOOST_TEST((ec == error_code{} || ec == errc::node_deleted), ec.message());
        BOOST_TEST(bool(waiting.value()) == !ec); // it has joined again
        waiting.value() = {};
        held = {};
    }
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(G5_a_wait_for_the_loss_ends_with_the_release, Kind, kinds)
{
    kind_scene<Kind> s;
    auto held = s.take(s.connect());
    outcome<error_code> told, cancelled;
    asio::cancellation_signal stop;
    held.async_wait_lost(told.handler());
    held.async_wait_lost(asio::bind_cancellation_slot(stop.slot(), cancelled.handler()));
    go_on(s.io, 1ms);
    stop.emit(asio::cancellation_type::total);
    BOOST_TEST(code_of(s.io, cancelled) == asio::error::operation_aborted);
    BOOST_TEST(!told.done());
    BOOST_TEST(s.unlock(held) == error_code{});
    BOOST_TEST(code_of(s.io, told) == errc::not_held);
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(G6_a_client_that_is_closed_answers_whoever_waits, Kind, kinds)
{
    kind_scene<Kind> s;
    auto held = s.occupy(s.connect());
    auto& c = s.connect();
    const auto waiting = s.start(Kind{c, s.directory});
    BOOST_TEST(s.until([&] { return c.stats().contenders != 0; }));
    outcome<> closed;
    c.async_close(closed.handler());
    BOOST_TEST(code_of(s.io, waiting) == errc::client_closed);
    BOOST_TEST(code_of(s.io, closed) == error_code{});
    BOOST_TEST(code_of(s.io, s.start(Kind{c, s.directory})) == errc::client_closed);
    BOOST_TEST(code_of(s.io, s.start_try(Kind{c, s.directory})) == errc::client_closed);
    held = {};
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(G6_a_context_is_destroyed_while_a_lock_is_held_and_waited_for, Kind,
                              kinds)
{
    kind_scene<Kind> s;
    std::weak_ptr<int> kept;
    std::optional<typename Kind::guard> held;
    {
        asio::io_context io;
        client first{io, {.hosts = s.server.connect_string()}};
        client second{io, {.hosts = s.server.connect_string()}};
        first.async_connect([](error_code) {});
        second.async_connect([](error_code) {});
        Kind{first, s.directory}.lock(
            [&](error_code, typename Kind::guard g) { held.emplace(std::move(g)); });
        run_until(io, [&] { return held.has_value(); });
        const auto value = std::make_shared<int>();
        kept = value;
        typename Kind::rival{second, s.directory}.lock(
            [value](error_code, const typename Kind::rival::guard&) { BOOST_ERROR("granted"); });
        run_until(io, [&] { return second.stats().contenders != 0; });
    }
    BOOST_TEST(kept.expired());
    BOOST_TEST(!*held);
    held.reset();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(paths_are_those_below_the_chroot, Kind, kinds)
{
    kind_scene<Kind> s;
    const std::string root = "/root" + s.directory.substr(1);
    s.admin.create(root);
    auto& inside = s.connect({.chroot = root});
    auto& outside = s.connect();
    auto held = value_of(s.io, s.start(Kind{inside, "/lock"}));
    BOOST_TEST(!value_of(s.io, s.start_try(Kind{outside, root + "/lock"})) ==
               (std::is_same_v<Kind, typename Kind::rival>));
    BOOST_TEST(s.unlock(held) == error_code{});
    BOOST_TEST(bool(value_of(s.io, s.start(Kind{outside, root + "/lock"}))));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_chroot_that_goes_away_is_named_by_whoever_comes_later, Kind, kinds)
{
    kind_scene<Kind> s;
    const std::string root = "/chroot" + s.directory.substr(1);
    s.admin.create(root);
    auto& c = s.connect({.chroot = root});
    auto held = value_of(s.io, s.start(Kind{c, "/a/lock"}));
    held = {};
    BOOST_TEST(s.until([&] { return c.stats().contenders == 0; }));
    s.admin.remove_tree(root);
    for (const auto* path : {"/a/lock", "/lock"}) {
        BOOST_TEST(code_of(s.io, s.start(Kind{c, path})) == errc::no_chroot, path);
        BOOST_TEST(code_of(s.io, s.start_try(Kind{c, path})) == errc::no_chroot, path);
        BOOST_TEST(code_of(s.io, s.start_for(Kind{c, path}, 60s)) == errc::no_chroot, path);
    }
    BOOST_TEST(!s.admin.exists(root).has_value());
    s.admin.create(root);
    held = value_of(s.io, s.start(Kind{c, "/lock"}));
    BOOST_TEST(bool(held));
}

// ---- one kind for each path

namespace {

struct an_election {
    using guard = leadership;

    an_election(client& c, const std::string& path, const lock_options&) : of{c, path, "somebody"}
    {
    }
    template <class Token>
    void lock(Token&& token)
    {
        of.async_campaign(std::forward<Token>(token));
    }

    election of;
};

// Those of one family stand in one queue.
struct contestant {
    enum how { wait, tries, tries_for };

    std::string name, family;
    std::function<outcome<std::shared_ptr<void>>(client&, const std::string& path, how)> start;
};

template <class Kind>
contestant contestant_of(std::string name, std::string family, lock_options options = {})
{
    return {std::move(name), std::move(family),
            [options](client& c, const std::string& path, contestant::how how) {
                outcome<std::shared_ptr<void>> o;
                const auto report = [h = o.handler()](error_code ec, typename Kind::guard held) {
                    h(ec, held ? std::make_shared<typename Kind::guard>(std::move(held)) : nullptr);
                };
                Kind kind{c, path, options};
                if constexpr (std::is_same_v<Kind, an_election>) {
                    kind.lock(report);
                } else if (how == contestant::wait) {
                    kind.lock(report);
                } else if (how == contestant::tries) {
                    kind.try_lock(report);
                } else {
                    kind.try_lock_for(60s, report);
                }
                return o;
            }};
}

std::vector<contestant> all_contestants()
{
    return {contestant_of<a_mutex>("mutex", "mutex"),
            contestant_of<a_recursive_mutex>("recursive_mutex", "mutex"),
            contestant_of<a_mutex>("mutex of go", "mutex", {.layout = go_zookeeper_layout()}),
            contestant_of<a_writer>("writer", "shared_mutex"),
            contestant_of<a_reader>("reader", "shared_mutex"),
            contestant_of<a_semaphore>("semaphore", "semaphore"),
            contestant_of<an_election>("election", "election"),
            contestant_of<a_single_node_mutex>("single_node_mutex", "single_node_mutex"),
            contestant_of<a_mutex>("mutex of kazoo", "kazoo", {.layout = kazoo_layout()}),
            contestant_of<a_reader>("reader of kazoo", "kazoo", {.layout = kazoo_layout()}),
            contestant_of<a_mutex>("recipe", "recipe", {.layout = zookeeper_recipe_layout()})};
}

} // namespace

BOOST_AUTO_TEST_CASE(G1_whoever_comes_with_another_kind_is_refused)
{
    lock_scene s;
    auto& first = s.connect();
    auto& later = s.connect();
    int number = 0;
    for (const auto& there : all_contestants()) {
        for (const auto& here : all_contestants()) {
            if (there.family == here.family) {
                continue;
            }
            const auto path = s.directory + "-" + std::to_string(++number);
            auto held = value_of(s.io, there.start(first, path, contestant::wait));
            BOOST_TEST(bool(held));
            for (const auto how : {contestant::wait, contestant::tries, contestant::tries_for}) {
                BOOST_TEST(code_of(s.io, here.start(later, path, how)) == errc::conflicting_kind,
                           here.name << " behind " << there.name << ", " << how);
            }
        }
    }
    for (auto* const c : {&first, &later}) {
        BOOST_TEST(s.until([&] { return c->stats().contenders == 0; }));
    }
}

BOOST_AUTO_TEST_CASE(G1_of_two_kinds_that_come_at_once_never_both_are_granted)
{
    lock_scene s;
    auto& one = s.connect();
    auto& other = s.connect();
    int number = 0;
    for (const auto& a : all_contestants()) {
        for (const auto& b : all_contestants()) {
            if (a.family == b.family) {
                continue;
            }
            const auto path = s.directory + "-" + std::to_string(++number);
            auto first = a.start(one, path, contestant::wait);
            auto second = b.start(other, path, contestant::wait);
            const auto refused = [&](const outcome<std::shared_ptr<void>>& o) {
                const auto ec = code_of(s.io, o);
                BOOST_TEST((!ec || ec == errc::conflicting_kind || ec == errc::not_ephemeral),
                           a.name << " and " << b.name << ": " << ec.message());
                return static_cast<bool>(ec);
            };
            const bool one_is_refused = refused(first);
            BOOST_TEST((refused(second) || one_is_refused), a.name << " and " << b.name);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::lockables_test
