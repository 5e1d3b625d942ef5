// Asking whoever has a lock to let it go, and being asked, against a real server.
#include <colock/queue_view.hpp>
#include <support/lock_scene.hpp>
#include <support/requests_of.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <string>
#include <vector>

namespace colock::test::revocation_test {

namespace {

constexpr const char* request = "__REVOKE__"; // on the wire, as Curator has it
const std::string mark = "\n__REVOKE__";      // behind what its owner says of itself

struct revocation_scene : lock_scene {
    static outcome<> start_wait(const held_lock& held)
    {
        outcome<> o;
        held.async_wait_revoked(o.handler());
        return o;
    }
    void revoke(client& c, const std::string& node)
    {
        outcome<> o;
        async_revoke(c, node, o.handler());
        value_of(io, o);
    }
    std::size_t revoke_holders(client& c, layout l = curator_layout())
    {
        outcome<std::size_t> o;
        async_revoke_holders(c, directory, std::move(l), o.handler());
        return value_of(io, o);
    }
    // The watch that a client has on the own node.
    bool watches_own(const client& c, const held_lock& held)
    {
        return until([&] { return watches_of(c).contains(held.node()); });
    }
    shared_lock read(client& c)
    {
        outcome<shared_lock> o;
        shared_mutex{c, directory}.async_lock_shared(o.handler());
        return value_of(io, o);
    }

    struct result {
        bool done = false;
        int value = 0;
        error_code code;
    };
    template <class Body>
    std::shared_ptr<result> start_body(client& c, lock_options options, Body body)
    {
        auto r = std::make_shared<result>();
        mutex m{c, directory, with_nodes(std::move(options))};
        m.async_with_lock(std::move(body), [r](std::exception_ptr e, int value) {
            BOOST_TEST(!r->done);
            r->done = true;
            r->value = value;
            try {
                if (e) {
                    std::rethrow_exception(e);
                }
            } catch (const boost::system::system_error& error) {
                r->code = error.code();
            }
        });
        return r;
    }
};

asio::awaitable<int> for_ever(const unique_lock&)
{
    asio::steady_timer timer{co_await asio::this_coro::executor,
                             asio::steady_timer::time_point::max()};
    co_await timer.async_wait(asio::use_awaitable);
    co_return 1;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(revocation, revocation_scene)

BOOST_AUTO_TEST_CASE(a_holder_is_asked)
{
    auto& c = connect();
    auto held = hold(c);
    const auto asked = start_wait(held);
    const auto once_more = start_wait(held);
    BOOST_TEST(!asked.done()); // never inline
    BOOST_TEST(watches_own(c, held));
    BOOST_TEST(!asked.done());
    revoke(connect(), held.node());
    BOOST_TEST(code_of(io, asked) == error_code{});
    BOOST_TEST(code_of(io, once_more) == error_code{});
    // The holder has said again whose node it is.
    BOOST_TEST(until([&] { return admin.get(held.node()) == default_owner_data() + mark; }));
    BOOST_TEST(bool(held));                                    // nothing has happened to the lock
    BOOST_TEST(code_of(io, start_wait(held)) == error_code{}); // it stays asked
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(he_is_asked_before_he_waits_for_it)
{
    auto& c = connect();
    auto held = hold(c);
    admin.set(held.node(), request);
    BOOST_TEST(code_of(io, start_wait(held)) == error_code{});
    BOOST_TEST(unlock(held) == error_code{});

    held = hold(c);
    BOOST_TEST(watches_own(c, held)); // by itself, after a while
    revoke(connect(), held.node());
    go_on(io, 20ms);
    BOOST_TEST(code_of(io, start_wait(held)) == error_code{});
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(he_is_asked_while_he_waits_for_the_lock)
{
    auto& c = connect();
    auto& other = connect();
    auto first = hold(c);
    const auto waiting = start_waiter(other);
    revoke(c, directory + '/' + queue().back());
    go_on(io, 10ms);
    BOOST_TEST(!waiting.done()); // he stays where he is
    const auto none = start_wait(first);
    BOOST_TEST(unlock(first) == error_code{});
    BOOST_TEST(code_of(io, none) == errc::not_held);
    auto held = value_of(io, waiting);
    BOOST_TEST(code_of(io, start_wait(held)) == error_code{});
    held = {};
    held = hold(other); // another node, which nobody has asked for
    const auto asked = start_wait(held);
    BOOST_TEST(watches_own(other, held));
    go_on(io, 10ms);
    BOOST_TEST(!asked.done());
    held = {};
    BOOST_TEST(code_of(io, asked) == errc::not_held);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(other_changes_of_the_node_ask_for_nothing)
{
    auto& c = connect();
    auto held = hold(c);
    const auto asked = start_wait(held);
    for (const auto* text : {"", "__REVOKE_", "__REVOKE__ ", "__revoke__"}) {
        BOOST_TEST(watches_own(c, held));
        admin.set(held.node(), text);
        go_on(io, 5ms);
    }
    BOOST_TEST(watches_own(c, held));
    BOOST_TEST(!asked.done());
    admin.set(held.node(), request);
    BOOST_TEST(code_of(io, asked) == error_code{});
}

BOOST_AUTO_TEST_CASE(it_costs_the_own_watch_and_nothing_when_nobody_waits_for_it)
{
    auto& c = connect();
    unique_lock held = hold(c); // the directory is there from now on
    BOOST_TEST(unlock(held) == error_code{});
    auto requests = [&, last = requests_of(c)]() mutable {
        const auto now = requests_of(c);
        return now - std::exchange(last, now);
    };
    held = hold(c);
    BOOST_TEST(requests() == 2U);
    const auto asked = start_wait(held);
    BOOST_TEST(watches_own(c, held));
    BOOST_TEST(requests() == 1U);
    go_on(io, 30ms); // the time at which the watch would be set without it
    BOOST_TEST(requests() == 0U);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(requests() == 1U);
    held = hold(c);
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(requests() == 3U);
}

BOOST_AUTO_TEST_CASE(the_wait_ends_with_the_lock)
{
    auto& c = connect();
    auto held = hold(c);
    const auto released = start_wait(held);
    BOOST_TEST(watches_own(c, held));
    BOOST_TEST(unlock(held) == error_code{});
    BOOST_TEST(code_of(io, released) == errc::not_held);
    outcome<> of_nothing;
    held.async_wait_revoked(asio::bind_executor(io, of_nothing.handler()));
    BOOST_TEST(code_of(io, of_nothing) == errc::not_held);

    held = hold(c);
    const auto lost = start_wait(held);
    BOOST_TEST(watches_own(c, held));
    admin.remove(held.node());
    BOOST_TEST(code_of(io, lost) == errc::node_deleted);
    BOOST_TEST(code_of(io, start_wait(held)) == errc::node_deleted);
    held = {};

    held = hold(c);
    const auto closed = start_wait(held);
    close_all();
    BOOST_TEST(code_of(io, closed) == errc::client_closed);
}

BOOST_AUTO_TEST_CASE(the_wait_can_be_cancelled)
{
    auto& c = connect();
    auto held = hold(c);
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        asio::cancellation_signal signal;
        outcome<> o;
        held.async_wait_revoked(asio::bind_cancellation_slot(signal.slot(), o.handler()));
        const auto other = start_wait(held);
        go_on(io, 2ms);
        signal.emit(type);
        BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
        BOOST_TEST(!other.done());
    }
    BOOST_TEST(unlock(held) == error_code{});
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G4_he_is_told_behind_a_disconnection)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    auto held = hold(c);
    const auto asked = start_wait(held);
    BOOST_TEST(watches_own(c, held));
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return c.state() == connection_state::suspended; }));
    const auto late = start_wait(held); // when no watch can be set
    admin.set(held.node(), request);
    proxy.refuse(false);
    BOOST_TEST(code_of(io, asked) == error_code{});
    BOOST_TEST(code_of(io, late) == error_code{});
    BOOST_TEST(bool(held));
}

BOOST_AUTO_TEST_CASE(the_answer_to_the_request_is_lost)
{
    tcp_proxy proxy{server.connect_string()};
    auto& c = connect_through(proxy);
    auto held = hold(connect());
    const auto asked = start_wait(held);
    for (const bool carried_out : {false, true}) {
        const auto lost = carried_out ? proxy.on_reply(opcode::set_data, reaction::drop_and_cut)
                                      : proxy.on_request(opcode::set_data, reaction::drop_and_cut);
        revoke(c, held.node());
        BOOST_TEST(lost.fired() == 1U);
        BOOST_TEST(code_of(io, asked) == error_code{});
    }
}

// ---- those who share a node

BOOST_AUTO_TEST_CASE(a_shared_node_is_given_up_when_its_user_is_done)
{
    share_nodes = true;
    const lock_options fair{.max_local_time = 1h}; // 64 in a row, then somebody else
    for (const bool ask : {false, true}) {
        auto& c = connect();
        auto& elsewhere = connect();
        auto held = hold(c, fair);
        const auto stranger = start_waiter(elsewhere, fair);
        const auto next = start_lock(c, fair);
        go_on(io, 20ms); // until it is known here that somebody waits
        const auto told = start_wait(held);
        if (ask) {
            BOOST_TEST(watches_own(c, held));
            BOOST_TEST(queue().size() == 2U);
            revoke(elsewhere, held.node());
            BOOST_TEST(code_of(io, told) == error_code{});
            BOOST_TEST(until([&] { return queue().size() == 3U; })); // for the next one
        }
        held = {};
        BOOST_TEST(until([&] { return next.done() || stranger.done(); }));
        BOOST_TEST(next.done() != ask);
        BOOST_TEST(stranger.done() == ask);
        (ask ? stranger : next).value() = {};
        static_cast<void>(value_of(io, ask ? next : stranger));
        check_nothing_left();
        close_all();
    }
}

BOOST_AUTO_TEST_CASE(all_readers_of_a_node_are_asked_and_later_ones_get_another)
{
    auto& c = connect();
    std::vector<shared_lock> held;
    std::vector<outcome<>> asked;
    for (int i = 0; i != 3; ++i) {
        held.push_back(read(c));
        asked.push_back(start_wait(held.back()));
    }
    auto done = read(c); // and has gone when it happens
    asked.push_back(start_wait(done));
    done = {};
    BOOST_TEST(code_of(io, asked.back()) == errc::not_held);
    asked.pop_back();
    BOOST_TEST(watches_own(c, held.front()));
    revoke(c, held.front().node());
    for (const auto& each : asked) {
        BOOST_TEST(code_of(io, each) == error_code{});
    }
    auto late = read(c);
    BOOST_TEST(late.node() != held.front().node());
    const auto not_asked = start_wait(late);
    held.clear();
    BOOST_TEST(until([&] { return queue().size() == 1U; }));
    BOOST_TEST(!not_asked.done());
    late = {};
    BOOST_TEST(code_of(io, not_asked) == errc::not_held);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_lingering_node_goes_at_once)
{
    share_nodes = true;
    auto& c = connect();
    auto held = hold(c, {.linger = 30s});
    const auto node = held.node();
    BOOST_TEST(watches_own(c, held));
    held = {};
    go_on(io, 20ms);
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(revoke_holders(connect()) == 1U);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_downgraded_lock_is_asked_for_by_its_new_node)
{
    auto& c = connect();
    outcome<unique_lock> writing;
    shared_mutex lock{c, directory};
    lock.async_lock(writing.handler());
    auto held = value_of(io, writing);
    const auto of_writer = start_wait(held);
    outcome<shared_lock> reading;
    lock.async_downgrade(std::move(held), reading.handler());
    auto shared = value_of(io, reading);
    BOOST_TEST(code_of(io, of_writer) == errc::not_held);
    const auto of_reader = start_wait(shared);
    BOOST_TEST(watches_own(c, shared));
    BOOST_TEST(!of_reader.done());
    revoke(c, shared.node());
    BOOST_TEST(code_of(io, of_reader) == error_code{});
}

// ---- by path

BOOST_AUTO_TEST_CASE(those_who_have_a_lock_are_asked_by_its_path)
{
    auto& c = connect();
    BOOST_TEST(revoke_holders(c) == 0U); // there is no such lock
    auto held = hold(c);
    auto waiting = start_waiter(connect());
    const auto waiter = directory + '/' + queue().back();
    const auto before = admin.get(waiter);
    const auto asked = start_wait(held);
    auto& other = connect();
    const auto requests = requests_of(other);
    BOOST_TEST(revoke_holders(other) == 1U);
    BOOST_TEST(requests_of(other) - requests == 2U);
    BOOST_TEST(code_of(io, asked) == error_code{});
    BOOST_TEST(admin.get(waiter) == before); // who has nothing to let go
    held = {};
    static_cast<void>(value_of(io, waiting));
    waiting.value() = {};
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(readers_are_asked_together_by_their_path)
{
    auto& c = connect();
    auto first = read(c);
    auto second = read(connect());
    outcome<unique_lock> writer;
    shared_mutex{c, directory}.async_lock(writer.handler());
    BOOST_TEST(until([&] { return queue().size() == 3U; }));
    const auto a = start_wait(first);
    const auto b = start_wait(second);
    BOOST_TEST(revoke_holders(connect(), curator_shared_layout()) == 2U);
    BOOST_TEST(code_of(io, a) == error_code{});
    BOOST_TEST(code_of(io, b) == error_code{});
    first = {};
    second = {};
    auto held = value_of(io, writer);
    const auto not_asked = start_wait(held);
    BOOST_TEST(watches_own(c, held));
    go_on(io, 5ms);
    BOOST_TEST(!not_asked.done());
}

BOOST_AUTO_TEST_CASE(bad_input)
{
    auto& c = connect();
    auto held = hold(c);
    const auto node = held.node();
    BOOST_TEST(unlock(held) == error_code{});
    revoke(c, node); // who has gone need not be asked

    admin.set(directory, "precious");
    for (const auto& path : {directory, std::string{"/"}, directory + "/0000000000",
                             directory + "//x-lock-0000000000"}) {
        outcome<> o;
        async_revoke(c, path, o.handler());
        BOOST_TEST(!o.done());
        BOOST_TEST(code_of(io, o) == errc::invalid_path, path);
    }
    BOOST_TEST(admin.get(directory) == "precious");
    outcome<> told;
    async_revoke(c, directory, told.handler());
    BOOST_TEST(code_of(io, told) == errc::invalid_path);
    BOOST_TEST(c.last_error_detail().find("async_revoke_holders") != std::string::npos);

    outcome<std::size_t> no_path, no_marker;
    async_revoke_holders(c, "relative", curator_layout(), no_path.handler());
    BOOST_TEST(code_of(io, no_path) == errc::invalid_path);
    async_revoke_holders(c, directory, layout{.prefix = "", .marker = ""}, no_marker.handler());
    BOOST_TEST(code_of(io, no_marker) == errc::invalid_option);

    auto protected_one =
        hold(connect({.credentials = {{"digest", "me:secret"}}}), {.acl = creator_acl()});
    outcome<> refused;
    diagnostics why;
    async_revoke(c, protected_one.node(), bind_diagnostics(why, refused.handler()));
    BOOST_TEST(code_of(io, refused) == zookeeper_errc::no_auth);
    BOOST_TEST(why.message().find("lacks WRITE on " + protected_one.node()) != std::string::npos,
               why.message());
}

// ---- with a body

BOOST_AUTO_TEST_CASE(a_body_is_cancelled_when_that_was_chosen)
{
    auto& c = connect();
    const auto r = start_body(c, {.cancel_when_revoked = true}, for_ever);
    BOOST_TEST(until([&] { return queue().size() == 1U; }));
    go_on(io, 5ms);
    BOOST_TEST(!r->done);
    BOOST_TEST(revoke_holders(connect()) == 1U);
    BOOST_TEST(until([&] { return r->done; }));
    BOOST_TEST(r->code == errc::revoked);
    BOOST_TEST(queue().empty()); // released, not just on its way
    BOOST_TEST(c.stats().bodies_cancelled == 1U);
    BOOST_TEST(c.stats().locks_lost == 0U);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(what_a_cancelled_body_gives_all_the_same_is_given)
{
    auto& c = connect();
    const auto r = start_body(c, {.cancel_when_revoked = true},
                              [](const unique_lock& held) -> asio::awaitable<int> {
                                  try {
                                      co_await for_ever(held);
                                  } catch (const boost::system::system_error&) {
                                  }
                                  co_return held ? 42 : 0;
                              });
    const auto broken = [](const unique_lock& held) -> asio::awaitable<int> {
        try {
            co_await for_ever(held);
        } catch (const boost::system::system_error&) {
        }
        throw boost::system::system_error{make_error_code(errc::invalid_option)};
    };
    BOOST_TEST(until([&] { return queue().size() == 1U; }));
    BOOST_TEST(revoke_holders(connect()) == 1U);
    BOOST_TEST(until([&] { return r->done; }));
    BOOST_TEST(r->code == error_code{});
    BOOST_TEST(r->value == 42);
    const auto b = start_body(c, {.cancel_when_revoked = true}, broken);
    BOOST_TEST(until([&] { return queue().size() == 1U; }));
    BOOST_TEST(revoke_holders(connect()) == 1U);
    BOOST_TEST(until([&] { return b->done; }));
    BOOST_TEST(b->code == errc::invalid_option); // what it throws comes first
    check_nothing_left();
}

// For each lock by its own option.
BOOST_AUTO_TEST_CASE(a_body_under_several_locks_is_cancelled_when_one_of_them_is_asked_for)
{
    auto& c = connect();
    mutex deaf{c, directory + "-deaf"}, listens{c, directory, {.cancel_when_revoked = true}};
    semaphore pool{c, directory + "-pool", 2};
    bool runs = false;
    std::optional<error_code> ended;
    multi_lock{deaf, pool, listens}.async_with_lock(
        [&](const multi_guard& together) -> asio::awaitable<int> {
            runs = bool(together);
            asio::steady_timer timer{co_await asio::this_coro::executor, 1h};
            co_await timer.async_wait(asio::use_awaitable);
            co_return 1;
        },
        [&](std::exception_ptr e, int) {
            try {
                std::rethrow_exception(e);
            } catch (const boost::system::system_error& error) {
                ended = error.code();
            }
        });
    BOOST_TEST(until([&] { return runs; }));
    outcome<std::size_t> in_vain, heard;
    async_revoke_holders(deaf, in_vain.handler());
    BOOST_TEST(value_of(io, in_vain) == 1U);
    go_on(io, 10ms);
    BOOST_TEST(!ended.has_value());
    async_revoke_holders(mutex{connect(), directory}, heard.handler());
    BOOST_TEST(value_of(io, heard) == 1U);
    BOOST_TEST(until([&] { return ended.has_value(); }));
    BOOST_TEST(*ended == errc::revoked);
    BOOST_TEST(*ended != condition::lock_lost);
    BOOST_TEST(queue_of(deaf.path()).empty());
    BOOST_TEST(queue_of(pool.path() + "/leases").empty());
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_loss_comes_before_a_request)
{
    auto& c = connect();
    const auto r = start_body(c, {.cancel_when_revoked = true}, for_ever);
    BOOST_TEST(until([&] { return queue().size() == 1U; }));
    admin.remove(directory + '/' + queue().front());
    BOOST_TEST(until([&] { return r->done; }));
    BOOST_TEST(r->code == errc::lock_lost);
}

BOOST_AUTO_TEST_CASE(a_body_goes_on_unless_that_was_chosen)
{
    auto& c = connect();
    asio::steady_timer end{io, asio::steady_timer::time_point::max()};
    bool asked = false;
    const auto r = start_body(c, {}, [&](const unique_lock& held) -> asio::awaitable<int> {
        co_await held.async_wait_revoked(asio::use_awaitable); // and asks itself
        asked = true;
        error_code ec;
        co_await end.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        co_return 7;
    });
    BOOST_TEST(until([&] { return queue().size() == 1U; }));
    BOOST_TEST(revoke_holders(connect()) == 1U);
    BOOST_TEST(until([&] { return asked; }));
    go_on(io, 10ms);
    BOOST_TEST(!r->done);
    end.cancel();
    BOOST_TEST(until([&] { return r->done; }));
    BOOST_TEST(r->value == 7);
    BOOST_TEST(c.stats().bodies_cancelled == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::revocation_test
