// What the log says of an acquisition that waits, and what a time-out says of who had the lock.
#include <colock/diagnostics.hpp>
#include <colock/queue_view.hpp>
#include <support/lock_scene.hpp>
#include <support/requests_of.hpp>
#include <support/run.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <regex>
#include <string>
#include <vector>

namespace colock::test::waiting_log_test {

namespace {

const std::string other_process = "host=db7 pid=42 program=batch";

struct log_scene : lock_scene {
    using lines = std::shared_ptr<std::vector<std::string>>;

    client& connect_logging(log_level threshold = log_level::debug)
    {
        return connect(
            {.log = [log = log](log_level, std::string_view text) { log->emplace_back(text); },
             .log_threshold = threshold});
    }

    // Another process has the lock, as far as its node says.
    unique_lock hold_elsewhere(lock_options options = {})
    {
        options.owner_data = other_process;
        return hold(connect(), std::move(options));
    }

    [[nodiscard]] auto count(const std::string& pattern) const
    {
        const std::regex line{pattern};
        return std::ranges::count_if(
            *log, [&](const std::string& text) { return std::regex_match(text, line); });
    }
    // Waits for a line that is exactly this.
    void check_logs(const std::string& pattern)
    {
        if (!until([&] { return count(pattern) != 0; })) {
            std::string all;
            for (const auto& each : *log) {
                all += "\n  " + each;
            }
            BOOST_ERROR("no line " + pattern + " among" + all);
        }
    }

    const lines log = std::make_shared<std::vector<std::string>>();
    const std::string time = R"([0-9.]+ m?s)";
    client& zk = connect_logging();
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(waiting_log, log_scene)

BOOST_AUTO_TEST_CASE(a_waiter_names_the_holder_and_then_its_grant_and_release)
{
    auto held = hold_elsewhere();
    const auto waiting = start_lock(zk);
    check_logs("waiting for " + directory + R"( behind 1 contender, held by db7:42 \(batch\))");
    held = {};
    auto granted = value_of(io, waiting);
    check_logs("granted " + directory + " after " + time);
    BOOST_TEST(unlock(granted) == error_code{});
    check_logs("released " + directory);
}

BOOST_AUTO_TEST_CASE(two_contenders_before_it_are_in_sight_and_more_are_counted)
{
    const auto held = hold_elsewhere();
    const auto second = start_waiter(connect());
    const auto third = start_waiter(zk);
    check_logs("waiting for " + directory + R"( behind 2 contenders, held by db7:42 \(batch\))");
    const auto fourth = start_waiter(connect_logging());
    check_logs("waiting for " + directory + " behind 3 contenders");
}

BOOST_AUTO_TEST_CASE(waiters_of_the_client_that_holds_it)
{
    share_nodes = true;
    lock_options unhurried; // else a slow machine asks for others before it hands off
    unhurried.max_local_time = 1h;
    auto held = hold(zk, unhurried);
    const auto first = start_lock(zk, unhurried);
    const auto second = start_lock(zk, unhurried);
    check_logs("waiting for " + directory + ", held by this client for " + time);
    check_logs("waiting for " + directory + ", held by this client for " + time +
               ", behind 1 waiter of this client");
    held = {};
    check_logs("handed " + directory + " off to the next waiter of this client");
    static_cast<void>(value_of(io, first));
    check_logs("granted " + directory + " after " + time);
    static_cast<void>(value_of(io, second));
    check_logs("released " + directory);
}

BOOST_AUTO_TEST_CASE(a_time_out_says_who_had_the_lock)
{
    const auto held = hold_elsewhere();
    const auto try_by = [&](client& c) {
        colock::diagnostics why;
        outcome<unique_lock> o;
        mutex{c, directory, with_nodes()}.async_try_lock_for(3s,
                                                             bind_diagnostics(why, o.handler()));
        BOOST_TEST(!value_of(io, o));
        return why.message();
    };
    const auto expected =
        "lock " + directory + ": not granted in time; behind 1 contender, held by db7:42 (batch)";
    BOOST_TEST(try_by(zk) == expected);
    check_logs("gave up waiting for " + directory + " after " + time +
               R"(: its time is over; behind 1 contender, held by db7:42 \(batch\))");
    BOOST_TEST(try_by(connect()) == expected); // without a log
}

// It watches two of them. What has become of the others, it would have to ask.
BOOST_AUTO_TEST_CASE(a_time_out_says_behind_how_many_at_most)
{
    const auto held = hold_elsewhere();
    const auto second = start_waiter(connect());
    const auto third = start_waiter(connect());
    colock::diagnostics why;
    outcome<unique_lock> o;
    mutex{zk, directory, with_nodes()}.async_try_lock_for(3s, bind_diagnostics(why, o.handler()));
    BOOST_TEST(!value_of(io, o));
    check_logs("waiting for " + directory + " behind 3 contenders");
    BOOST_TEST(why.message() ==
               "lock " + directory + ": not granted in time; behind at most 3 contenders");
}

BOOST_AUTO_TEST_CASE(a_reader_that_leaves_others_behind_does_not_release_their_node)
{
    shared_mutex prices{zk, directory};
    outcome<shared_lock> first, second;
    prices.async_lock_shared(first.handler());
    auto one = value_of(io, first);
    prices.async_lock_shared(second.handler());
    auto other = value_of(io, second);
    one = {};
    check_logs("released " + directory + " for reading; this client keeps its node for a while");
    BOOST_TEST(count("released " + directory + " for reading") == 0);
    other = {};
    check_logs("released " + directory + " for reading");
}

BOOST_AUTO_TEST_CASE(so_does_that_of_a_permit_and_that_of_several_locks)
{
    const auto held = hold_elsewhere();
    colock::diagnostics of_all, of_permit;
    outcome<multi_guard> all;
    multi_lock several{mutex{zk, directory + "-free"}, mutex{zk, directory}};
    several.async_try_lock_for(3s, bind_diagnostics(of_all, all.handler()));
    outcome<permit> first, second;
    semaphore permits{zk, directory + "-permits", 1};
    permits.async_acquire(first.handler());
    const auto one = value_of(io, first);
    permits.async_try_acquire_for(3s, bind_diagnostics(of_permit, second.handler()));
    BOOST_TEST(!value_of(io, second));
    BOOST_TEST(!value_of(io, all));
    BOOST_TEST(of_all.message() == "lock " + directory +
                                       ": not granted in time; behind 1 contender, held by "
                                       "db7:42 (batch)");
    BOOST_TEST(of_permit.message() ==
               "semaphore " + directory + "-permits: not granted in time; 1 of 1 are taken");
}

BOOST_AUTO_TEST_CASE(so_does_that_of_a_body)
{
    const auto held = hold_elsewhere();
    colock::diagnostics why;
    bool ran = true, ended = false;
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
            mutex m{zk, directory};
            const auto body = [](const unique_lock&) -> asio::awaitable<void> { co_return; };
            ran = co_await m.async_try_with_lock_for(3s, body,
                                                     bind_diagnostics(why, asio::use_awaitable));
            ended = true;
        },
        asio::detached);
    BOOST_TEST(until([&] { return ended; }));
    BOOST_TEST(!ran);
    BOOST_TEST(why.message() == "lock " + directory +
                                    ": not granted in time; behind 1 contender, held by "
                                    "db7:42 (batch)");
}

BOOST_AUTO_TEST_CASE(a_try_that_finds_it_busy_says_so)
{
    share_nodes = true;
    auto held = hold_elsewhere();
    colock::diagnostics why;
    outcome<unique_lock> there, here;
    mutex m{zk, directory};
    m.async_try_lock(bind_diagnostics(why, there.handler()));
    BOOST_TEST(!value_of(io, there));
    BOOST_TEST(why.message() ==
               "lock " + directory + ": another contender has it, or waits for it");
    held = {};
    const auto own = hold(zk);
    m.async_try_lock(bind_diagnostics(why, here.handler()));
    BOOST_TEST(!value_of(io, here));
    BOOST_TEST(why.message() ==
               "lock " + directory + ": a user of this client has it, or waits for it");
}

BOOST_AUTO_TEST_CASE(a_cancelled_waiter)
{
    const auto held = hold_elsewhere();
    asio::cancellation_signal stop;
    outcome<unique_lock> o;
    mutex{zk, directory}.async_lock(asio::bind_cancellation_slot(stop.slot(), o.handler()));
    check_logs("waiting for " + directory + " behind .*");
    stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(io, o) == asio::error::operation_aborted);
    check_logs("gave up waiting for " + directory + " after " + time + ": cancelled");
}

BOOST_AUTO_TEST_CASE(what_others_write_is_one_line_and_short)
{
    const auto held =
        hold(connect(), {.owner_data = "\x1b[2J\n\xc2\x9b\"lost " + std::string(1000, 'x')});
    const auto waiting = start_lock(zk);
    check_logs("waiting for " + directory +
               R"( behind 1 contender, held by "\\x1b\[2J\\x0a\\xc2\\x9b\?lost x{180,200}")");
}

BOOST_AUTO_TEST_CASE(a_request_to_let_go_is_no_holder)
{
    const auto held = hold_elsewhere();
    outcome<std::size_t> asked;
    async_revoke_holders(mutex{connect(), directory}, asked.handler());
    BOOST_TEST(value_of(io, asked) == 1U);
    const auto waiting = start_lock(zk);
    // The holder writes its own data back, at about the same time.
    check_logs("waiting for " + directory + R"( behind 1 contender(, held by db7:42 \(batch\))?)");
}

BOOST_AUTO_TEST_CASE(other_kinds)
{
    auto& other = connect();
    lock_options theirs{.owner_data = other_process};

    outcome<unique_lock> first, second;
    single_node_mutex{other, directory + "-node", theirs}.async_lock(first.handler());
    const auto node = value_of(io, first);
    single_node_mutex{zk, directory + "-node"}.async_lock(second.handler());
    check_logs("waiting for " + directory + R"(-node, held by db7:42 \(batch\))");

    outcome<leadership> leader, standby;
    election leads{other, directory + "-election", "first"},
        waits{zk, directory + "-election", "second"};
    leads.async_campaign(leader.handler());
    const auto led = value_of(io, leader);
    waits.async_campaign(standby.handler());
    check_logs("waiting for " + directory + R"(-election behind 1 contender, held by "first")");

    outcome<unique_lock> writing;
    outcome<shared_lock> reading;
    shared_mutex{other, directory + "-shared", theirs}.async_lock(writing.handler());
    const auto written = value_of(io, writing);
    shared_mutex{zk, directory + "-shared"}.async_lock_shared(reading.handler());
    check_logs("waiting for " + directory + "-shared for reading behind 1 contender");

    outcome<permit> taken, wanted, next;
    semaphore{other, directory + "-permits", 2, theirs}.async_acquire(taken.handler());
    auto one = value_of(io, taken);
    semaphore permits{zk, directory + "-permits", 2};
    permits.async_acquire(2, wanted.handler());
    check_logs("waiting for 2 permits of semaphore " + directory + "-permits, 1 of 2 are taken");
    permits.async_acquire(next.handler());
    check_logs("waiting for the queue of semaphore " + directory + "-permits, held by this client");
    one = {};
    auto two = value_of(io, wanted);
    check_logs("granted 2 permits of semaphore " + directory + "-permits after " + time);
    two = {};
    check_logs("released 2 permits of semaphore " + directory + "-permits");

    outcome<multi_guard> all;
    multi_lock{mutex{zk, directory + "-free"}, single_node_mutex{zk, directory + "-node"}}
        .async_lock(all.handler());
    check_logs("waiting for " + directory + "-node, held by .*");
}

// One wait of five seconds for all of it.
BOOST_AUTO_TEST_CASE(after_a_while_it_asks_who_holds_the_lock_and_suspects_that_it_does_itself)
{
    const auto held = hold_elsewhere();
    std::vector<outcome<unique_lock>> go;
    for (int i = 0; i != 3; ++i) {
        go.push_back(start_waiter(connect()));
    }
    const auto second = start_waiter(connect());
    const auto third = start_waiter(connect());
    const auto fourth = start_waiter(zk);
    check_logs("waiting for " + directory + " behind 6 contenders");
    BOOST_TEST(count("still waiting .*") == 0);
    const auto names = queue();
    for (std::size_t i = 1; i != 4; ++i) { // it does not watch them; they queue again, behind it
        admin.remove(directory + '/' + names.at(i));
    }

    mutex twice{zk, directory + "-twice"}, robbed{zk, directory + "-robbed"};
    shared_mutex prices{zk, directory + "-shared"};
    outcome<unique_lock> once, again, writing, before, meanwhile, after;
    outcome<shared_lock> reading;
    outcome<permit> all, more;
    twice.async_lock(once.handler());
    const auto own = value_of(io, once);
    twice.async_lock(again.handler());
    prices.async_lock_shared(reading.handler());
    const auto read = value_of(io, reading);
    prices.async_lock(writing.handler());
    robbed.async_lock(before.handler());
    const auto lost = value_of(io, before); // the guard stays, and holds nothing
    admin.remove(robbed.path() + '/' + queue_of(robbed.path()).front());
    BOOST_TEST(until([&] { return lost.state() == lock_state::lost; }));
    mutex{connect(), robbed.path(), {.owner_data = other_process}}.async_lock(meanwhile.handler());
    const auto theirs = value_of(io, meanwhile);
    robbed.async_lock(after.handler());
    semaphore permits{zk, directory + "-permits", 1};
    permits.async_acquire(all.handler());
    const auto one = value_of(io, all);
    permits.async_acquire(more.handler());

    auto& quiet = connect_logging(log_level::info);
    mutex alone{quiet, directory + "-quiet"};
    outcome<unique_lock> quiet_once, quiet_again;
    alone.async_lock(quiet_once.handler());
    const auto quiet_own = value_of(io, quiet_once);
    alone.async_lock(quiet_again.handler());

    check_logs("still waiting for " + directory + " after " + time +
               R"(, behind 3 contenders, held by db7:42 \(batch\))");
    check_logs("still waiting for 1 permit of semaphore " + directory + "-permits after " + time +
               ", 1 of 1 are taken, the first by .*, which is this client");
    check_logs("still waiting for " + directory + "-twice after " + time +
               ", held by this client for " + time);
    check_logs("still waiting for " + robbed.path() + " after " + time +
               R"(, behind 1 contender, held by db7:42 \(batch\))");
    for (const auto* each : {"-twice", "-quiet"}) {
        check_logs(directory + each + " is held by this client itself, for " + time +
                   "; if the coroutine that waits for it is the one that holds it, it waits for "
                   "itself: release the guard first.*");
    }
    check_logs("still waiting for " + prices.path() + " after .*");
    for (const auto* each :
         {"-robbed", "-shared"}) { // one is lost, and readers may have taken turns
        BOOST_TEST(count(directory + each + " is held by this client itself.*") == 0);
    }
    BOOST_TEST(count("(waiting|still waiting|granted).*-quiet.*") == 0);
}

BOOST_AUTO_TEST_CASE(the_log_costs_a_short_wait_no_request)
{
    // A client that unlocks late has sent one request more, the watch of its own node: the smallest number counts.
    const auto least = [&](client& waiter) {
        auto requests = std::uint64_t(-1);
        auto& holder = connect();
        for (int i = 0; i != 5; ++i) {
            auto held = hold(holder);
            const auto before = requests_of(waiter);
            const auto waiting = start_waiter(waiter);
            BOOST_TEST(wait_for_watches(waiter, 2));
            held = {};
            auto granted = value_of(io, waiting);
            BOOST_TEST(unlock(granted) == error_code{});
            requests = std::min(requests, requests_of(waiter) - before);
        }
        return requests;
    };
    BOOST_TEST(least(connect()) == least(zk));
    BOOST_TEST(count("waiting for .*") == 5);
}

BOOST_AUTO_TEST_CASE(a_client_that_is_closed_ends_its_reports)
{
    auto held = hold_elsewhere();
    const auto waiting = start_lock(zk);
    check_logs("waiting for " + directory + " behind .*");
    close_all();
    BOOST_TEST(code_of(io, waiting) == errc::client_closed);
    held = {};
    BOOST_TEST(run_to_the_end(io, 5s)); // no timer is left
}

BOOST_AUTO_TEST_CASE(the_log_may_use_and_close_the_client_whose_waiters_it_tells_of)
{
    const auto held = hold_elsewhere();
    client* self = nullptr;
    outcome<unique_lock> tried;
    outcome<> closed;
    auto& c =
        connect({.log =
                     [&](log_level, std::string_view text) {
                         if (text.starts_with("waiting for ")) {
                             mutex{*self, directory, with_nodes()}.async_try_lock(tried.handler());
                             self->async_close(closed.handler());
                         }
                     },
                 .log_threshold = log_level::debug});
    self = &c;
    const auto waiting = start_lock(c);
    BOOST_TEST(code_of(io, closed) == error_code{});
    BOOST_TEST(code_of(io, waiting) == errc::client_closed);
    BOOST_TEST(until([&] { return tried.done(); }));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::waiting_log_test
