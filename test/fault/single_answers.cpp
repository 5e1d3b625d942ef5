// What one answer does that comes late, is lost, or is an error: to those beside it, and to what comes after it.
#include <colock/election.hpp>
#include <colock/multi_lock.hpp>
#include <colock/queue_view.hpp>
#include <colock/semaphore.hpp>
#include <colock/shared_mutex.hpp>
#include <support/hostile_scene.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::single_answers_test {

using namespace std::chrono_literals;

namespace {

using answer = hostile_server::answer;
using asked = hostile_server::request;

constexpr std::int32_t no_node = -101, no_auth = -102, bad_arguments = -8, throttled = -127,
                       session_expired = -112, session_moved = -118;

answer refused(const std::string& honest, std::int32_t error)
{
    return framed(honest.substr(4, 12) + number(error));
}

// Counts requests of a kind on paths with this beginning, and does with each what `misdeed` says.
struct counted {
    std::atomic<unsigned> count{0};

    hostile_server::trick
    trick(opcode kind, std::string path,
          std::function<answer(unsigned nth, std::string honest)> misdeed = {})
    {
        return [this, kind, path = std::move(path),
                misdeed = std::move(misdeed)](const asked& r, std::string honest) -> answer {
            if (r.kind != kind || !r.path.starts_with(path)) {
                return honest;
            }
            const auto nth = ++count;
            return misdeed ? misdeed(nth, std::move(honest)) : answer{std::move(honest)};
        };
    }
};

struct scene : hostile_scene {
    explicit scene(std::chrono::milliseconds session_timeout = 10s) : hostile_scene{session_timeout}
    {
        connect();
        fill();
    }

    void reaches(const counted& c, unsigned count)
    {
        BOOST_REQUIRE(pulse.becomes_true([&] { return c.count >= count; }));
    }
    // Breaks the connection; the function is called before there is another one.
    template <class Then>
    void cut(Then then)
    {
        zk.async_wait_state_change(colock::connection_state::connected,
                                   [then](colock::error_code, colock::connection_state now) {
                                       BOOST_TEST((now == colock::connection_state::suspended));
                                       then();
                                   });
        server.push(number(-1));
    }
    colock::permit two_permits(colock::semaphore& s)
    {
        const outcome<colock::permit> o;
        s.async_acquire(2, o.handler());
        succeeds(o);
        return std::move(o.value());
    }

    // The session is over when the client connects again.
    void expire()
    {
        cut([this] {
            once(opcode::connect, [](const std::string& honest) {
                return framed(number(0) + number(0) + number(0) + number(0) +
                              honest.substr(20, 21)); // without a session
            });
        });
    }

    // A contender of somebody else.
    std::string another()
    {
        outcome<colock::create_result> made[2];
        zk.async_create("/lock", "", colock::create_mode::persistent, made[0].handler());
        zk.async_create("/lock/_c_ffffffff-ffff-ffff-ffff-ffffffffffff__WRIT__", "",
                        colock::create_mode::persistent_sequential, made[1].handler());
        succeeds(made[1]);
        return made[1].value().path;
    }
    std::string own_node_beside_another()
    {
        for (;;) {
            const outcome<colock::children_result> listed;
            zk.async_children("/lock", listed.handler());
            succeeds(listed);
            for (const auto& name : listed.value().names) {
                if (name.find("ffffffff-ffff") == std::string::npos) {
                    return "/lock/" + name;
                }
            }
        }
    }
    void ask_for(const std::string& node)
    {
        const outcome<> o;
        colock::async_revoke(zk, node, o.handler());
        succeeds(o);
    }

    counted requests;
    std::mutex mutex;
    std::string held_back; // frames that the server sends later
    const outcome<> done;
};

struct short_scene : scene {
    short_scene() : scene{2s} {}
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(single_answers, scene)

// ---- several parts

BOOST_AUTO_TEST_CASE(G3_a_release_of_several_permits_waits_for_the_last_node)
{
    colock::semaphore s{zk, "/permits", 2};
    auto permits = two_permits(s);
    // A later answer would overtake the one that is held back, which breaks the connection.
    BOOST_REQUIRE(pulse.becomes_true([&] { return zk.stats().in_flight == 0; }));
    server.play(requests.trick(opcode::remove, "/permits/leases",
                               [this](unsigned nth, std::string honest) -> answer {
                                   const std::lock_guard lock{mutex};
                                   return nth == 2 ? std::exchange(held_back, honest) : honest;
                               }));
    permits.async_release(done.handler());
    std::string last;
    BOOST_REQUIRE(pulse.becomes_true([&] {
        const std::lock_guard lock{mutex};
        last = held_back;
        return !last.empty();
    }));
    pulse.becomes_true([] { return false; }, 50ms);
    BOOST_TEST(!done.done());
    server.push(last); // whose lock the server has while it takes ours
    succeeds(done);
}

BOOST_AUTO_TEST_CASE(a_joint_release_ends_with_the_first_error)
{
    colock::multi_lock both{colock::lock_entry{colock::mutex{zk, "/lock0"}},
                            colock::lock_entry{colock::mutex{zk, "/lock1"}}};
    const outcome<colock::multi_guard> held;
    both.async_lock(held.handler());
    succeeds(held);
    server.play(requests.trick(opcode::remove, "/lock", [](unsigned nth, const auto& honest) {
        return refused(honest, nth == 1 ? no_auth : bad_arguments);
    }));
    held.value().async_unlock(done.handler());
    wait_for(done);
    BOOST_TEST(requests.count == 2);
    BOOST_TEST(done.error() == colock::zookeeper_errc::no_auth);
}

BOOST_FIXTURE_TEST_CASE(a_joint_release_that_no_server_confirms_ends_with_the_bound, short_scene)
{
    colock::semaphore s{zk, "/permits", 2};
    colock::multi_lock both{colock::lock_entry{colock::mutex{zk, "/lock"}},
                            colock::lock_entry{s, 2}};
    const outcome<colock::multi_guard> held;
    both.async_lock(held.handler());
    succeeds(held);
    server.play([silent = false](const asked& r, std::string honest) mutable -> answer {
        silent |= r.kind == opcode::remove && r.path.starts_with("/permits/leases");
        return silent ? std::string{} : honest;
    });
    const auto bound = held.value().safe_until();
    held.value().async_unlock(done.handler());
    wait_for(done);
    BOOST_TEST(done.error() == colock::errc::safe_until_passed);
    BOOST_TEST((std::chrono::steady_clock::now() >= bound));
}

BOOST_AUTO_TEST_CASE(permits_that_wait_for_a_connection_are_taken_back)
{
    colock::semaphore s{zk, "/permits", 2};
    boost::asio::cancellation_signal cancel;
    const outcome<colock::permit> acquired;
    std::optional<colock::connection_state> at_the_end;
    cut([&] {
        const auto note = [&, o = acquired.handler()](colock::error_code ec, colock::permit p) {
            at_the_end = zk.state();
            o(ec, std::move(p));
        };
        s.async_acquire(1, boost::asio::bind_cancellation_slot(cancel.slot(), note));
        cancel.emit(boost::asio::cancellation_type::total);
    });
    wait_for(acquired);
    BOOST_TEST(acquired.error() == boost::asio::error::operation_aborted);
    BOOST_TEST((at_the_end == colock::connection_state::suspended));
}

BOOST_AUTO_TEST_CASE(permits_are_created_only_by_who_stands_in_the_queue)
{
    colock::semaphore s{zk, "/permits", 2};
    const auto guarded =
        std::make_shared<std::atomic<unsigned>>(0); // the server outlives this function
    server.play([this, guarded](const asked& r, std::string honest) {
        requests.count += r.kind == opcode::multi && r.path.starts_with("/permits/leases");
        *guarded += r.kind == opcode::multi && r.path.starts_with("/permits/locks/");
        return answer{std::move(honest)};
    });
    const auto permits = two_permits(s);
    BOOST_TEST(*guarded == 1U);
    BOOST_TEST(requests.count == 0);
}

// ---- what is lost

BOOST_AUTO_TEST_CASE(G5_permits_are_lost_with_their_session)
{
    colock::semaphore s{zk, "/permits", 2};
    const auto permits = two_permits(s);
    const outcome<colock::error_code> lost;
    permits.async_wait_lost(lost.handler());
    expire();
    succeeds(lost);
    BOOST_TEST(lost.value() == colock::errc::session_expired);
}

// ---- watches that go on

BOOST_AUTO_TEST_CASE(G5_a_permit_is_watched_again_when_its_node_has_changed)
{
    colock::semaphore s{zk, "/permits", 2};
    server.play(requests.trick(opcode::get_data, "/permits/leases/"));
    const auto permits = two_permits(s);
    reaches(requests, 2);
    const auto node = permits.nodes().back();
    const outcome<colock::error_code> lost;
    permits.async_wait_lost(lost.handler());
    for (unsigned i = 1; i != 4; ++i) {
        const outcome<colock::node_stat> written;
        zk.async_set(node, "something else", colock::any_version, written.handler());
        succeeds(written);
        reaches(requests, 2 + i);
    }
    zk.async_remove(node, done.handler());
    succeeds(done);
    succeeds(lost);
    BOOST_TEST(lost.value() == colock::errc::node_deleted);
}

// A third client would be woken by it.
BOOST_AUTO_TEST_CASE(G7_a_watch_that_nobody_wants_is_freed_by_a_server_that_was_busy)
{
    for (const bool wanted_again : {false, true}) {
        const outcome<colock::watched<colock::get_result>> first;
        const outcome<colock::watched<colock::get_result>> second;
        zk.async_watch("/a", first.handler());
        succeeds(first);
        counted frees;
        server.play(frees.trick(opcode::remove_watches, "/a",
                                [wanted_again](unsigned nth, std::string honest) {
                                    return nth <= 3 || wanted_again ? refused(honest, throttled)
                                                                    : answer{std::move(honest)};
                                }));
        first.value() = {};
        reaches(frees, 3);
        if (!wanted_again) {
            reaches(frees, 4);
            continue;
        }
        // The next time comes behind a watch that somebody wants.
        zk.async_watch("/a", second.handler());
        succeeds(second);
        const unsigned before = frees.count;
        const outcome<colock::watch_event> event;
        second.value().changes.async_wait(event.handler());
        pulse.becomes_true([] { return false; }, 20ms); // longer than the pause
        BOOST_TEST(frees.count == before);
        const outcome<colock::node_stat> written;
        zk.async_set("/a", "new", colock::any_version, written.handler());
        succeeds(written);
        succeeds(event);
    }
}

// ---- the order of a session's own requests

BOOST_AUTO_TEST_CASE(a_lost_read_is_repeated_before_a_write_that_has_waited)
{
    server.play(
        requests.trick(opcode::get_data, "/a", [](unsigned nth, std::string honest) -> answer {
            return nth == 1 ? std::string{} : honest;
        }));
    const outcome<colock::get_result> read;
    const outcome<colock::node_stat> written;
    zk.async_get("/a", read.handler());
    reaches(requests, 1);
    cut([&] { zk.async_set("/a", "later", colock::any_version, written.handler()); });
    succeeds(written);
    succeeds(read);
    BOOST_TEST(read.value().data == "data");
}

BOOST_AUTO_TEST_CASE(one_of_two_requests_that_rest_may_be_cancelled)
{
    server.play(requests.trick(opcode::get_data, "/a", [](unsigned, const std::string& honest) {
        return refused(honest, throttled);
    }));
    boost::asio::cancellation_signal cancel;
    const outcome<colock::get_result> unwanted;
    const outcome<colock::get_result> wanted;
    zk.async_get("/a", boost::asio::bind_cancellation_slot(cancel.slot(), unwanted.handler()));
    zk.async_get("/a/x", wanted.handler());
    reaches(requests, 16); // pauses are long from here on
    pulse.becomes_true([] { return false; }, 20ms);
    server.play({});
    cancel.emit(boost::asio::cancellation_type::terminal);
    wait_for(unwanted);
    succeeds(wanted);
}

// ---- the session

BOOST_AUTO_TEST_CASE(what_follows_a_refused_barrier_is_not_believed)
{
    const outcome<colock::get_result> read;
    cut([&] {
        server.play([barrier = true](const asked& r, std::string honest) mutable -> answer {
            if (r.kind == opcode::multi && std::exchange(barrier, false)) {
                return refused(honest, throttled);
            }
            // This server has not heard of the node.
            return !barrier && r.path == "/a" && r.connection == 2 ? refused(honest, no_node)
                                                                   : answer{std::move(honest)};
        });
        zk.async_get("/a", read.handler());
    });
    succeeds(read);
    BOOST_TEST(read.value().data == "data");
}

BOOST_AUTO_TEST_CASE(G3_a_release_that_is_answered_by_a_server_without_the_session_is_repeated)
{
    colock::mutex m{zk, "/lock"};
    const outcome<colock::unique_lock> held;
    m.async_lock(held.handler());
    succeeds(held);
    const auto node = held.value().node();
    server.play(requests.trick(opcode::remove, node, [](unsigned nth, std::string honest) {
        return nth == 1 ? refused(honest, session_moved) : answer{std::move(honest)};
    }));
    held.value().async_unlock(done.handler());
    succeeds(done);
    BOOST_TEST(requests.count == 2);
    BOOST_TEST(server.connections() == 2);
}

BOOST_AUTO_TEST_CASE(a_watch_that_comes_with_the_end_of_its_client_ends)
{
    const outcome<colock::watched<colock::get_result>> watched;
    zk.async_watch("/a", watched.handler());
    zk.async_close(done.handler());
    succeeds(watched);
    const outcome<colock::watch_event> event;
    watched.value().changes.async_wait(event.handler());
    wait_for(event);
    BOOST_TEST(event.error() == colock::errc::client_closed);
    succeeds(done);
}

BOOST_AUTO_TEST_CASE(a_try_ends_with_its_connection)
{
    server.play(requests.trick(opcode::create2, "/lock", [](unsigned nth, std::string honest) {
        return nth == 1 ? answer{std::string{}} : answer{std::move(honest)};
    }));
    colock::mutex m{zk, "/lock"};
    const outcome<colock::unique_lock> tried;
    m.async_try_lock(tried.handler());
    reaches(requests, 1);
    cut([] {});
    wait_for(tried);
    BOOST_TEST(tried.error() == colock::errc::disconnected);
}

BOOST_AUTO_TEST_CASE(a_view_that_was_cancelled_asks_for_nothing_more)
{
    boost::asio::cancellation_signal cancel;
    const outcome<colock::queue_view> view;
    server.play(requests.trick(opcode::get_children2, "/a"));
    cut([&] {
        colock::async_view_queue(
            zk, "/a", colock::curator_layout(),
            boost::asio::bind_cancellation_slot(cancel.slot(), view.handler()));
        cancel.emit(boost::asio::cancellation_type::terminal);
    });
    wait_for(view);
    zk.async_sync("/", done.handler());
    succeeds(done);
    BOOST_TEST(requests.count == 0);
}

BOOST_AUTO_TEST_CASE(one_answer_that_the_session_is_elsewhere_ends_the_connection)
{
    for (const auto error : {session_moved, session_expired}) {
        for (const auto kind : {opcode::get_data, opcode::remove, opcode::multi}) {
            const auto before = server.connections();
            once(kind, [error](const std::string& honest) { return refused(honest, error); });
            const outcome<> o;
            if (kind == opcode::remove) {
                zk.async_remove("/nothing", o.handler());
            } else {
                request(zk, kind, o.handler());
            }
            wait_for(o);
            BOOST_TEST(pulse.becomes_true([&] { return server.connections() != before; }),
                       "error " << error << " of " << name_of(kind));
            BOOST_REQUIRE(pulse.becomes_true(
                [&] { return zk.state() == colock::connection_state::connected; }));
        }
    }
}

// With a chroot the first request of a connection is to see whether that is there.
BOOST_AUTO_TEST_CASE(a_trial_that_is_answered_so_ends_the_connection)
{
    for (const auto error : {session_moved, session_expired}) {
        const auto before = server.connections();
        once(opcode::exists, [error](const std::string& honest) { return refused(honest, error); });
        colock::client below{io,
                             {.hosts = server.connect_string(),
                              .chroot = "/a",
                              .connect_timeout = std::chrono::milliseconds::max()}};
        const outcome<> connected;
        below.async_connect(connected.handler());
        succeeds(connected);
        BOOST_TEST(server.connections() == before + 2);
    }
}

BOOST_AUTO_TEST_CASE(a_try_without_a_connection_knows_nothing)
{
    colock::mutex m{zk, "/lock"};
    const outcome<colock::unique_lock> held;
    m.async_lock(held.handler());
    succeeds(held);
    const outcome<colock::unique_lock> tried;
    cut([&] { m.async_try_lock(tried.handler()); });
    wait_for(tried);
    BOOST_TEST(tried.error() == colock::errc::disconnected);
}

// ---- elections

BOOST_AUTO_TEST_CASE(of_two_proclamations_at_once_the_last_that_is_done_stands)
{
    colock::election e{zk, "/election", "nobody"};
    const outcome<colock::leadership> leads;
    e.async_campaign(leads.handler());
    succeeds(leads);
    std::string last;
    unsigned left = 2;
    for (const std::string name : {"first", "second"}) {
        leads.value().async_proclaim(name, [&, name](colock::error_code ec) {
            BOOST_TEST(!ec, ec.message());
            last = name;
            --left;
        });
    }
    BOOST_REQUIRE(pulse.becomes_true([&] { return left == 0; }));
    const outcome<std::optional<std::string>> leader;
    e.async_leader(leader.handler());
    succeeds(leader);
    BOOST_TEST(leader.value().value() == last);
}

// ---- turns, and nodes that follow each other

BOOST_AUTO_TEST_CASE(each_turn_that_is_awaited_ends)
{
    colock::shared_mutex m{zk, "/lock"};
    std::vector<colock::shared_lock> readers;
    for (int i = 0; i != 3; ++i) {
        const outcome<colock::shared_lock> o;
        m.async_lock_shared(o.handler());
        succeeds(o);
        readers.push_back(std::move(o.value()));
    }
    const outcome<colock::error_code> lost[2];
    readers[0].async_wait_lost(lost[0].handler());
    readers[1].async_wait_lost(lost[1].handler());
    zk.async_sync("/", done.handler());
    succeeds(done); // they wait by now
    for (int i = 0; i != 2; ++i) {
        readers[static_cast<std::size_t>(i)] = {};
        wait_for(lost[i]);
        BOOST_TEST(lost[i].error() == colock::errc::not_held);
    }
    BOOST_TEST(!!readers[2]);
}

BOOST_AUTO_TEST_CASE(a_node_that_is_made_anew_was_not_asked_for)
{
    const auto other = another();
    colock::shared_mutex m{zk, "/lock"};
    server.play(requests.trick(opcode::get_data, "/lock/_c_"));
    const outcome<colock::unique_lock> locked;
    m.async_lock(locked.handler());
    const auto first = own_node_beside_another();
    reaches(requests, 2); // its own node, and that of the other
    ask_for(first);
    reaches(requests, 3); // it has seen the request
    const outcome<> removed[2];
    zk.async_remove(first, removed[0].handler());
    succeeds(removed[0]);
    BOOST_REQUIRE(pulse.becomes_true([&] { return requests.count >= 4; }));
    BOOST_TEST(own_node_beside_another() != first);
    zk.async_remove(other, removed[1].handler());
    succeeds(locked);
    const outcome<> revoked;
    locked.value().async_wait_revoked(revoked.handler());
    zk.async_sync("/", done.handler());
    succeeds(done);
    pulse.becomes_true([] { return false; }, 50ms);
    BOOST_TEST(!revoked.done());
    const outcome<colock::shared_lock> shared;
    m.async_downgrade(std::move(locked.value()), shared.handler());
    succeeds(shared);
    const outcome<> readers;
    shared.value().async_wait_revoked(readers.handler());
    pulse.becomes_true([] { return false; }, 50ms);
    BOOST_TEST(!readers.done());
}

BOOST_AUTO_TEST_CASE(a_node_that_was_asked_for_while_it_waited_serves_one_user)
{
    const auto other = another();
    colock::shared_mutex m{zk, "/lock"};
    server.play(requests.trick(opcode::get_data, "/lock/_c_"));
    outcome<colock::unique_lock> locked[2];
    for (const auto& each : locked) {
        m.async_lock(each.handler());
    }
    const auto node = own_node_beside_another();
    reaches(requests, 2);
    ask_for(node);
    reaches(requests, 3); // it has seen the request
    zk.async_remove(other, done.handler());
    succeeds(locked[0]);
    BOOST_TEST(locked[0].value().node() == node);
    locked[0].value() = {};
    succeeds(locked[1]);
    BOOST_TEST(locked[1].value().node() != node);
}

BOOST_AUTO_TEST_CASE(a_reader_was_not_asked_for_the_node_that_it_had_as_a_writer)
{
    colock::shared_mutex m{zk, "/lock"};
    const outcome<colock::unique_lock> locked;
    m.async_lock(locked.handler());
    succeeds(locked);
    const outcome<> asked_for;
    locked.value().async_wait_revoked(asked_for.handler());
    ask_for(locked.value().node());
    succeeds(asked_for);
    const outcome<colock::shared_lock> shared;
    m.async_downgrade(std::move(locked.value()), shared.handler());
    succeeds(shared);
    const outcome<> revoked;
    shared.value().async_wait_revoked(revoked.handler());
    pulse.becomes_true([] { return false; }, 50ms);
    BOOST_TEST(!revoked.done());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::single_answers_test
