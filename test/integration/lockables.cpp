// What every kind of lock promises, told once for all of them. What is special about a kind is in the file of that kind.
#include <support/lock_scene.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/mp11/list.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

using namespace colock;
using namespace colock::test;

namespace {

// Kinds: `lock`, `try_lock` and `try_lock_for` give a `guard`, which `unlock` gives back.
template <class Lock, class Guard = unique_lock>
struct plain_kind {
    using guard = Guard;
    using rival = plain_kind; // holds the lock so that no other can have it
    static constexpr bool runs_bodies = true;

    plain_kind(client& c, const std::string& path, lock_options o = {}) : of{c, path, std::move(o)}
    {
    }
    explicit plain_kind(Lock l) : of{std::move(l)} {}

    template <class Token>
    void lock(Token&& token)
    {
        of.async_lock(std::forward<Token>(token));
    }
    template <class Token>
    void try_lock(Token&& token)
    {
        of.async_try_lock(std::forward<Token>(token));
    }
    template <class Limit, class Token>
    void try_lock_for(Limit limit, Token&& token)
    {
        of.async_try_lock_for(limit, std::forward<Token>(token));
    }
    template <class Body, class Token>
    void with_lock(Body&& body, Token&& token)
    {
        of.async_with_lock(std::forward<Body>(body), std::forward<Token>(token));
    }
    template <class Held, class Token>
    static void unlock(Held& held, Token&& token)
    {
        held.async_unlock(std::forward<Token>(token));
    }

    Lock of;
};

struct a_mutex : plain_kind<mutex> {
    using rival = a_mutex;
    using plain_kind::plain_kind;
};

struct a_single_node_mutex : plain_kind<single_node_mutex> {
    using rival = a_single_node_mutex;
    using plain_kind::plain_kind;
};

lock_options with_shared_layout(lock_options o)
{
    o.layout = curator_shared_layout();
    return o;
}

struct a_writer : plain_kind<shared_mutex> {
    using rival = a_writer;
    a_writer(client& c, const std::string& path, lock_options o = {})
        : plain_kind{c, path, with_shared_layout(std::move(o))}
    {
    }
};

struct a_reader : a_writer {
    using guard = shared_lock;
    using rival = a_writer;
    using a_writer::a_writer;

    template <class Token>
    void lock(Token&& token)
    {
        of.async_lock_shared(std::forward<Token>(token));
    }
    template <class Token>
    void try_lock(Token&& token)
    {
        of.async_try_lock_shared(std::forward<Token>(token));
    }
    template <class Limit, class Token>
    void try_lock_for(Limit limit, Token&& token)
    {
        of.async_try_lock_shared_for(limit, std::forward<Token>(token));
    }
    template <class Body, class Token>
    void with_lock(Body&& body, Token&& token)
    {
        of.async_with_lock_shared(std::forward<Body>(body), std::forward<Token>(token));
    }
};

struct a_recursive_mutex : plain_kind<recursive_mutex> {
    using rival = a_recursive_mutex;
    using plain_kind::plain_kind;

    template <class Token>
    void lock(Token&& token)
    {
        of.async_lock(*owner, std::forward<Token>(token));
    }
    template <class Token>
    void try_lock(Token&& token)
    {
        of.async_try_lock(*owner, std::forward<Token>(token));
    }
    template <class Limit, class Token>
    void try_lock_for(Limit limit, Token&& token)
    {
        of.async_try_lock_for(*owner, limit, std::forward<Token>(token));
    }
    template <class Body, class Token>
    void with_lock(Body&& body, Token&& token)
    {
        of.async_with_lock(*owner, std::forward<Body>(body), std::forward<Token>(token));
    }

    std::shared_ptr<lock_owner> owner = std::make_shared<lock_owner>();
};

struct a_semaphore {
    using guard = permit;
    using rival = a_semaphore;
    static constexpr bool runs_bodies = false;

    a_semaphore(client& c, const std::string& path, lock_options o = {})
        : of{c, path, 1, std::move(o)}
    {
    }

    template <class Token>
    void lock(Token&& token)
    {
        of.async_acquire(1, std::forward<Token>(token));
    }
    template <class Token>
    void try_lock(Token&& token)
    {
        of.async_try_acquire(1, std::forward<Token>(token));
    }
    template <class Limit, class Token>
    void try_lock_for(Limit limit, Token&& token)
    {
        of.async_try_acquire_for(1, limit, std::forward<Token>(token));
    }
    template <class Token>
    static void unlock(guard& held, Token&& token)
    {
        held.async_release(std::forward<Token>(token));
    }

    semaphore of;
};

// A mutex and a permit.
struct several_locks : plain_kind<multi_lock, multi_guard> {
    using rival = several_locks;
    static constexpr bool runs_bodies = false;

    several_locks(client& c, const std::string& path, const lock_options& o = {})
        : plain_kind{multi_lock{mutex{c, path, o}, semaphore{c, path + "-permits", 1, o}}}
    {
    }
};

using kinds = boost::mp11::mp_list<a_mutex, a_recursive_mutex, a_writer, a_reader, a_semaphore,
                                   a_single_node_mutex, several_locks>;

template <class Kind>
struct scene : lock_scene {
    using guard = typename Kind::guard;
    using rival = typename Kind::rival;

    outcome<guard> start(Kind kind)
    {
        outcome<guard> o;
        kind.lock(o.handler());
        return o;
    }
    guard take(client& c, lock_options o = {})
    {
        return value_of(io, start(Kind{c, directory, std::move(o)}));
    }
    outcome<guard> start_try(Kind kind)
    {
        outcome<guard> o;
        kind.try_lock(o.handler());
        return o;
    }
    template <class Limit>
    outcome<guard> start_for(Kind kind, Limit limit)
    {
        outcome<guard> o;
        kind.try_lock_for(limit, o.handler());
        return o;
    }
    auto occupy(client& c)
    {
        outcome<typename rival::guard> o;
        rival{c, directory}.lock(o.handler());
        return value_of(io, o);
    }
    error_code unlock(guard& held)
    {
        outcome<> o;
        // An empty guard has no executor but the system's, which has threads of its own.
        Kind::unlock(held, asio::bind_executor(io, o.handler()));
        return code_of(io, o);
    }
    // What there is below the path of the lock, and beside it, besides the directories.
    std::size_t nodes()
    {
        std::size_t found = 0;
        for (const auto& path : {directory, directory + "/locks", directory + "/leases",
                                 directory + "-permits/locks", directory + "-permits/leases"}) {
            for (const auto& name : queue_of(path)) {
                found += name == "locks" || name == "leases" ? 0U : 1U;
            }
            const auto node = admin.exists(path);
            found += node && node->ephemeral_owner != 0 ? 1U : 0U;
        }
        return found;
    }
    void check_free()
    {
        BOOST_TEST(until([&] { return nodes() == 0U; }), "a node is left");
        BOOST_TEST(until([&] { return server.watch_count() == 0; }), "a watch is left");
        for (const auto& c : clients) {
            BOOST_TEST(until([&] { return c.stats().contenders == 0; }));
        }
        BOOST_TEST(bool(value_of(io, start_try(Kind{connect(), directory}))));
    }
    void end_session(client& c)
    {
        BOOST_TEST(!kill_session(server.connect_string(), c.session_id(), c.session_password()));
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(lockables)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_free_lock_is_granted_within_any_limit, Kind, kinds)
{
    scene<Kind> s;
    auto& c = s.connect();
    const auto check = [&](outcome<typename Kind::guard> o) {
        auto held = value_of(s.io, o);
        BOOST_TEST(bool(held));
        BOOST_TEST((held.state() == lock_state::held));
        BOOST_TEST(held.lost() == error_code{});
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
    scene<Kind> s;
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
    scene<Kind> s;
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
    scene<Kind> s;
    auto& c = s.connect();
    const auto before = c.stats().requests;
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
    BOOST_TEST(c.stats().requests - before <= probes);

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
    scene<Kind> s;
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
    scene<Kind> s;
    guard nothing;
    BOOST_TEST(!nothing);
    BOOST_TEST((nothing.state() == lock_state::not_held));
    BOOST_TEST(nothing.lost() == errc::not_held);
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
    scene<Kind> s;
    {
        const auto held = s.take(s.connect());
        BOOST_TEST(s.nodes() != 0U);
    }
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(G5_a_holder_whose_session_ends_is_told, Kind, kinds)
{
    scene<Kind> s;
    auto& c = s.connect();
    auto held = s.take(c);
    outcome<error_code> told;
    held.async_wait_lost(told.handler());
    s.end_session(c);
    BOOST_TEST(value_of(s.io, told) == errc::session_expired);
    BOOST_TEST(!held);
    BOOST_TEST((held.state() == lock_state::lost));
    BOOST_TEST(held.lost() == errc::session_expired);
    BOOST_TEST((held.remaining() == 0s));
    BOOST_TEST(c.stats().locks_lost != 0U);
    BOOST_TEST(s.unlock(held) == errc::session_expired);
    s.check_free();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(G5_a_wait_for_the_loss_ends_with_the_release, Kind, kinds)
{
    scene<Kind> s;
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
    scene<Kind> s;
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
    scene<Kind> s;
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
    scene<Kind> s;
    const std::string root = "/root" + s.directory.substr(1);
    s.admin.create(root);
    auto& inside = s.connect({.chroot = root});
    auto& outside = s.connect();
    auto held = value_of(s.io, s.start(Kind{inside, "/lock"}));
    BOOST_TEST(!value_of(s.io, s.start_try(Kind{outside, root + "/lock"})) ==
               (!std::is_same_v<Kind, a_reader>));
    BOOST_TEST(s.unlock(held) == error_code{});
    BOOST_TEST(bool(value_of(s.io, s.start(Kind{outside, root + "/lock"}))));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_body_runs_under_the_lock, Kind, kinds)
{
    if constexpr (Kind::runs_bodies) {
        scene<Kind> s;
        auto& c = s.connect();
        Kind kind{c, s.directory};
        outcome<int> result;
        kind.with_lock(
            [](typename Kind::guard& held) -> asio::awaitable<int> { co_return held ? 42 : 0; },
            [report = result.handler()](std::exception_ptr e, int value) mutable {
                report(e ? error_code{errc::not_held} : error_code{}, value);
            });
        BOOST_TEST(value_of(s.io, result) == 42);
        s.check_free();
    }
}

BOOST_AUTO_TEST_SUITE_END()
