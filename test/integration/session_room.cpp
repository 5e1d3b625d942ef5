// A session has no more nodes than the servers can bear at its end: whatever would exceed that is refused, in time, and
// nothing that has a place already.
#include <support/lock_scene.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::session_room_test {

namespace {

constexpr std::size_t of_text = 4;       // stands before each path
constexpr std::size_t of_contender = 56; // "/_c_", a guid, "-lock-", a number

struct room_scene : lock_scene {
    client& with_room(std::size_t bytes, client_options options = {})
    {
        options.max_session_size = bytes;
        return connect(std::move(options));
    }
    error_code create(client& c, const std::string& path, create_mode mode = create_mode::ephemeral)
    {
        outcome<create_result> o;
        c.async_create(path, "", mode, o.handler());
        return code_of(io, o);
    }
    error_code remove(client& c, const std::string& path)
    {
        outcome<> o;
        c.async_remove(path, o.handler());
        return code_of(io, o);
    }
    // As many nodes as there are numbers, each of which takes ten bytes.
    void fill(client& c, int from, int to)
    {
        for (int i = from; i != to; ++i) {
            BOOST_TEST_REQUIRE(create(c, "/" + std::to_string(10'000 + i)) == error_code{});
        }
    }
    void remove_by_operator(int from, int to)
    {
        for (int i = from; i != to; ++i) {
            admin.remove("/" + std::to_string(10'000 + i));
        }
    }
    template <class Guard, class Start>
    error_code code(Start start)
    {
        outcome<Guard> o;
        start(o.handler());
        return code_of(io, o);
    }
    [[nodiscard]] std::size_t nodes_of(const client& c)
    {
        return server.ephemerals()[c.session_id()].size();
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(session_room, room_scene)

BOOST_AUTO_TEST_CASE(bad_limits_are_refused)
{
    for (const auto& [session, request] : {std::pair<std::size_t, std::size_t>{0, 0xfffff},
                                           {0x100000, 0xfffff},
                                           {1'000'001, 1'000}}) {
        client c{io,
                 {.hosts = server.connect_string(),
                  .max_request_size = request,
                  .max_session_size = session}};
        outcome<> o;
        c.async_connect(o.handler());
        BOOST_TEST(code_of(io, o) == errc::invalid_option);
        BOOST_TEST(c.last_error_detail().find("max_session_size is " + std::to_string(session)) ==
                   0U);
    }
    with_room(3'000'000, {.max_request_size = 3'000'000});
    with_room(1'000'000, {.max_request_size = 1'000});
}

BOOST_AUTO_TEST_CASE(each_kind_is_refused_and_says_why)
{
    auto& c = with_room(8);
    const auto& d = directory;
    lock_owner owner;
    const std::vector<std::pair<const char*, std::function<error_code()>>> kinds{
        {"create", [&] { return create(c, d + "-a"); }},
        {"sequential", [&] { return create(c, d + "-b", create_mode::ephemeral_sequential); }},
        {"multi",
         [&] {
             return code<std::vector<transaction_result>>([&](auto h) {
                 c.async_multi(
                     transaction{}.create(d + "-c").create(d + "-d", "", create_mode::ephemeral),
                     h);
             });
         }},
        {"mutex", [&] { return code<unique_lock>([&](auto h) {
                            mutex{c, d}.async_lock(h);
                        }); }},
        {"try", [&] { return code<unique_lock>([&](auto h) {
                          mutex{c, d}.async_try_lock(h);
                      }); }},
        {"shared",
         [&] {
             return code<shared_lock>([&](auto h) {
                 shared_mutex{c, d + "-s"}.async_lock_shared(h);
             });
         }},
        {"unique",
         [&] {
             return code<unique_lock>([&](auto h) { shared_mutex{c, d + "-s"}.async_lock(h); });
         }},
        {"single node",
         [&] {
             return code<unique_lock>([&](auto h) {
                 single_node_mutex{c, d + "-n"}.async_lock(h);
             });
         }},
        {"recursive",
         [&] {
             return code<recursive_lock>([&](auto h) {
                 recursive_mutex{c, d + "-r"}.async_lock(owner, h);
             });
         }},
        {"permits",
         [&] {
             return code<permit>([&](auto h) { semaphore{c, d + "-p", 3}.async_acquire(2, h); });
         }},
        {"try of permits",
         [&] {
             return code<permit>([&](auto h) {
                 semaphore{c, d + "-p", 3}.async_try_acquire(2, h);
             });
         }},
        {"several",
         [&] {
             return code<multi_guard>([&](auto h) {
                 multi_lock{mutex{c, d + "-1"}, mutex{c, d + "-2"}}.async_lock(h);
             });
         }},
        {"election",
         [&] {
             return code<leadership>([&](auto h) {
                 election{c, d + "-e", "me"}.async_campaign(h);
             });
         }},
    };
    for (const auto& [name, start] : kinds) {
        BOOST_TEST_CONTEXT(name)
        {
            BOOST_TEST(start() == errc::session_full);
            const auto why = c.last_error_detail();
            BOOST_TEST(why.find("take 0 of 8 bytes (client_options::max_session_size)") !=
                           std::string::npos,
                       why);
        }
    }
    BOOST_TEST(nodes_of(c) == 0U);
    BOOST_TEST(until([&] { return c.stats().contenders == 0; }));
    BOOST_TEST(create(c, d, create_mode::persistent) != errc::session_full);
}

BOOST_AUTO_TEST_CASE(there_is_room_for_so_many_bytes_and_not_one_more)
{
    admin.create("/room");
    auto& c = with_room(2 * 10 + 14 + 3, {.chroot = "/room"}); // 4 + 5 + 1, 4 + 5 + 5
    BOOST_TEST(create(c, "/") != error_code{});
    BOOST_TEST(create(c, "/abcd") == error_code{});
    outcome<create_result> first, second, third; // those that are under way count
    c.async_create("/a", "", create_mode::ephemeral, first.handler());
    c.async_create("/b", "", create_mode::ephemeral, second.handler());
    c.async_create("/c", "", create_mode::ephemeral, third.handler());
    BOOST_TEST(code_of(io, first) == error_code{});
    BOOST_TEST(code_of(io, third) == errc::session_full);
    BOOST_TEST(code_of(io, second) == error_code{});
    BOOST_TEST(remove(c, "/a") == error_code{});
    BOOST_TEST(create(c, "/cde") == errc::session_full);
    BOOST_TEST(create(c, "/c") == error_code{});
    BOOST_TEST(create(c, "/c") == errc::session_full);
    BOOST_TEST(remove(c, "/b") == error_code{});
    BOOST_TEST(create(c, "/c") == zookeeper_errc::node_exists); // and that takes no room
    BOOST_TEST(create(c, "/d") == error_code{});
}

BOOST_AUTO_TEST_CASE(a_released_lock_makes_room_for_the_next_one)
{
    auto& c = with_room(of_text + directory.size() + of_contender);
    for (int i = 0; i != 3; ++i) {
        auto held = hold(c);
        BOOST_TEST(code<unique_lock>([&](auto h) {
                       mutex{c, directory + "x"}.async_lock(h);
                   }) == errc::session_full);
        BOOST_TEST(unlock(held) == error_code{});
    }
    auto held = hold(c);
    BOOST_TEST(wait_for_watches(c, 1));
    admin.remove(directory + "/" + queue().front());
    outcome<error_code> lost;
    held.async_wait_lost(lost.handler());
    BOOST_TEST(value_of(io, lost) == errc::node_deleted);
    held = {};
    auto again = hold(c);
    BOOST_TEST(unlock(again) == error_code{});
    check_nothing_left();
}

// Readers of kazoo have longer names than writers.
BOOST_AUTO_TEST_CASE(a_downgrade_has_room)
{
    const auto writer = of_text + directory.size() + std::string{"/__lock__"}.size() + 32 + 10;
    const lock_options kazoo{.layout = kazoo_layout()};
    {
        auto& c = with_room(writer); // none for the reader
        BOOST_TEST(code<unique_lock>([&](auto h) {
                       shared_mutex{c, directory, kazoo}.async_lock(h);
                   }) == errc::session_full);
    }
    auto& c = with_room(writer + 1);
    shared_mutex m{c, directory, kazoo};
    outcome<unique_lock> written;
    m.async_lock(written.handler());
    auto held = value_of(io, written);
    BOOST_TEST(create(c, "/a") == errc::session_full);
    outcome<shared_lock> read;
    m.async_downgrade(std::move(held), read.handler());
    const auto shared = value_of(io, read);
    BOOST_TEST(queue().size() == 1U);
    BOOST_TEST(create(c, "/a") == errc::session_full);
}

// An acquisition that waits is granted, whatever else the client does meanwhile.
BOOST_AUTO_TEST_CASE(permits_have_room_from_the_beginning_of_their_wait)
{
    const auto lock = of_text + directory.size() + std::string{"/locks"}.size() + of_contender;
    const auto lease =
        of_text + directory.size() + std::string{"/leases"}.size() + of_contender + 1;
    outcome<permit> first, second;
    semaphore{connect(), directory, 2}.async_acquire(2, first.handler());
    auto taken = value_of(io, first);

    auto& c = with_room(lock + 2 * lease + 9);
    semaphore s{c, directory, 2};
    s.async_acquire(2, second.handler());
    BOOST_TEST(until([&] { return queue_of(directory + "/locks").size() == 1U; }));
    BOOST_TEST(create(c, "/12345") == errc::session_full);
    BOOST_TEST(create(c, "/1234") == error_code{});
    taken = {};
    auto granted = value_of(io, second);
    BOOST_TEST(granted.count() == 2);
    BOOST_TEST(until([&] { return c.stats().contenders == 0; }));
    BOOST_TEST(create(c, "/" + std::string(lock - 5, 'x')) == error_code{});
    BOOST_TEST(create(c, "/12345") == errc::session_full);
    outcome<> released;
    granted.async_release(asio::bind_executor(io, released.handler()));
    BOOST_TEST(code_of(io, released) == error_code{});
    BOOST_TEST(create(c, "/" + std::string(2 * lease - 5, 'x')) == error_code{});
}

BOOST_AUTO_TEST_CASE(a_cancelled_acquisition_of_permits_gives_its_room_back)
{
    const auto lock = of_text + directory.size() + std::string{"/locks"}.size() + of_contender;
    const auto lease =
        of_text + directory.size() + std::string{"/leases"}.size() + of_contender + 1;
    outcome<permit> first, second;
    semaphore{connect(), directory, 2}.async_acquire(2, first.handler());
    const auto taken = value_of(io, first);
    auto& c = with_room(lock + lease);
    for (int i = 0; i != 3; ++i) {
        outcome<permit> o;
        semaphore{c, directory, 2}.async_try_acquire_for(1, 50ms, o.handler());
        BOOST_TEST(!value_of(io, o));
        BOOST_TEST(until([&] { return c.stats().contenders == 0; }));
    }
    BOOST_TEST(create(c, "/" + std::string(lock + lease - 5, 'x')) == error_code{});
}

BOOST_AUTO_TEST_CASE(nodes_that_others_have_deleted_are_found_out_before_anything_is_refused)
{
    auto& c = with_room(of_text + directory.size() + of_contender + 295);
    fill(c, 0, 30);
    remove_by_operator(0, 30);
    auto held = hold(c); // its listing follows its create
    fill(c, 30, 59);
    remove_by_operator(58, 59);
    BOOST_TEST(create(c, "/10059") == errc::session_full); // five seconds are not over yet
    BOOST_TEST(unlock(held) == error_code{});
    fill(c, 59, 65);
}

BOOST_AUTO_TEST_CASE(what_follows_a_create_that_waits_for_the_census_keeps_its_order)
{
    auto& c = with_room(300);
    fill(c, 0, 30);
    remove_by_operator(0, 1);
    outcome<create_result> made, not_made;
    outcome<get_result> read;
    outcome<> removed;
    c.async_create("/10030", "text", create_mode::ephemeral, made.handler());
    c.async_get("/10030", read.handler());
    c.async_create("/10031", "text", create_mode::ephemeral, not_made.handler());
    c.async_remove("/10030", removed.handler());
    BOOST_TEST(code_of(io, made) == error_code{});
    BOOST_TEST(value_of(io, read).data == "text");
    BOOST_TEST(code_of(io, not_made) == errc::session_full);
    BOOST_TEST(code_of(io, removed) == error_code{});
}

BOOST_AUTO_TEST_CASE(a_program_that_does_not_stop_asking_costs_the_servers_little)
{
    auto& c = with_room(300);
    fill(c, 0, 30);
    const auto before = c.stats().requests;
    for (int i = 0; i != 1'000; ++i) {
        BOOST_TEST(create(c, "/10030") == errc::session_full);
    }
    BOOST_TEST(c.stats().requests - before <= 2 * 30U); // heartbeats included
}

BOOST_AUTO_TEST_CASE(another_session_has_all_its_room)
{
    auto& c = with_room(300);
    for (int i = 0; i != 3; ++i) {
        fill(c, 0, 30);
        BOOST_TEST(create(c, "/10030") == errc::session_full);
        const auto before = c.session_id();
        BOOST_TEST(!kill_session(server.connect_string(), before, password_of(c)));
        BOOST_TEST(until(
            [&] { return c.state() == connection_state::connected && c.session_id() != before; }));
    }
}

// What was made counts, and so does what may have been made, until the client asks.
BOOST_AUTO_TEST_CASE(a_lost_answer_settles_nothing)
{
    auto proxy = link_proxy(server);
    auto& c = connect_through(proxy, {.max_session_size = 44}); // two of them
    outcome<create_result> lost;
    {
        auto rule = proxy.on_reply(any_create(), reaction::drop_and_cut);
        c.async_create("/10000-", "", create_mode::ephemeral_sequential, lost.handler());
        BOOST_TEST(code_of(io, lost) == zookeeper_errc::connection_loss);
        BOOST_TEST(until([&] { return rule.fired() == 1U; }));
    }
    const auto again = [&] { return create(c, "/10000-", create_mode::ephemeral_sequential); };
    BOOST_TEST(again() == error_code{});
    BOOST_TEST(again() == errc::session_full);
    BOOST_TEST(nodes_of(c) == 2U);
    for (const auto& name : queue_of("/")) {
        if (name.starts_with("10000-")) {
            admin.remove("/" + name);
        }
    }
    BOOST_TEST(until([&] { return again() == error_code{}; })); // five seconds later
}

BOOST_AUTO_TEST_CASE(a_release_waits_for_no_census)
{
    auto proxy = link_proxy(server);
    const auto lock = of_text + directory.size() + of_contender;
    const auto lease =
        of_text + directory.size() + std::string{"-p/leases"}.size() + of_contender + 1;
    auto& c = connect_through(proxy, {.max_session_size = 2 * lock + lease + 12});
    auto held = hold(c);
    outcome<permit> acquired;
    semaphore{c, directory + "-p", 1}.async_acquire(1, acquired.handler());
    auto taken = value_of(io, acquired);
    BOOST_TEST(until([&] { return c.stats().contenders == 1; }));
    BOOST_TEST(create(c, "/10000") == error_code{});
    BOOST_TEST(until([&] { return c.stats().in_flight == 0; }));

    admin.remove("/10000");
    auto rule = proxy.on_reply({opcode::exists}, reaction::hold, {.path_prefix = "/10000"});
    outcome<create_result> made;
    c.async_create("/" + std::string(lock + 2, 'x'), "", create_mode::ephemeral, made.handler());
    BOOST_TEST(until([&] { return rule.fired() == 1U; }));
    outcome<> unlocked, released;
    held.async_unlock(unlocked.handler());
    taken.async_release(released.handler());
    BOOST_TEST(until([&] { return queue().empty(); }));
    BOOST_TEST(until([&] { return queue_of(directory + "-p/leases").empty(); }));
    BOOST_TEST(!made.done());
    BOOST_TEST(c.stats().connections == 1U); // it is the same census
    rule.release();
    BOOST_TEST(code_of(io, unlocked) == error_code{});
    BOOST_TEST(code_of(io, released) == error_code{});
    BOOST_TEST(code_of(io, made) == error_code{});
}

// Only all watches of a session on a path can be freed at once.
BOOST_AUTO_TEST_CASE(a_watch_that_waits_for_a_census_is_not_freed_with_the_one_before)
{
    auto proxy = link_proxy(server);
    auto& c = connect_through(proxy, {.max_session_size = 30});
    fill(c, 0, 3);
    outcome<watched<std::optional<node_stat>>> first, second;
    c.async_watch_exists(directory, first.handler());
    auto dropped = value_of(io, first);
    BOOST_TEST(wait_for_watches(c, 1));
    remove_by_operator(0, 1);
    auto rule = proxy.on_reply({opcode::exists}, reaction::hold, {.path_prefix = "/10000"});
    outcome<create_result> made;
    c.async_create("/10003", "", create_mode::ephemeral, made.handler());
    BOOST_TEST(until([&] { return rule.fired() == 1U; }));
    c.async_watch_exists(directory, second.handler());
    dropped = {};
    BOOST_TEST(wait_for_watches(c, 0));
    BOOST_TEST(!second.done());
    rule.release();
    BOOST_TEST(code_of(io, made) == error_code{});
    auto kept = value_of(io, second);
    outcome<watch_event> event;
    kept.changes.async_wait(event.handler());
    BOOST_TEST(until([&] { return c.stats().in_flight == 0; }));
    BOOST_TEST(wait_for_watches(c, 1));
    admin.create(directory);
    BOOST_TEST(value_of(io, event).path == directory);
    BOOST_TEST(c.stats().connections == 1U); // a new one would have set it again
    remove_by_operator(1, 4);                // the session outlives the proxy
}

BOOST_AUTO_TEST_CASE(a_question_for_which_the_servers_had_no_time_is_asked_again)
{
    auto proxy = link_proxy(server);
    auto& c = connect_through(proxy, {.max_session_size = 30});
    fill(c, 0, 3);
    remove_by_operator(0, 1);
    auto rule = proxy.on_reply({opcode::exists}, reaction::replace,
                               {.path_prefix = "/10000", .replacement = -127});
    BOOST_TEST(create(c, "/10003") == error_code{});
    BOOST_TEST(rule.fired() == 1U);
}

// The client that ends a phase removes all arrivals. This one learns it from a list, before it has set a watch.
BOOST_AUTO_TEST_CASE(an_arrival_whose_phase_another_client_has_ended_makes_room)
{
    auto proxy = link_proxy(server);
    const auto arrival =
        of_text + directory.size() + std::string{"/arrival-0000000000-"}.size() + 36;
    auto& a = connect_through(proxy, {.max_session_size = arrival});
    auto& b = connect();
    for (std::uint64_t phase = 0; phase != 3; ++phase) {
        auto rule = proxy.on_reply({opcode::multi}, reaction::hold,
                                   {.path_prefix = directory + "/arrival-"});
        outcome<std::uint64_t> first, second;
        barrier{a, directory, 2}.async_arrive_and_wait(first.handler());
        BOOST_TEST(until([&] { return rule.fired() == 1U; }));
        barrier{b, directory, 2}.async_arrive_and_wait(second.handler());
        BOOST_TEST(value_of(io, second) == phase);
        rule.release();
        BOOST_TEST(value_of(io, first) == phase);
    }
    BOOST_TEST(proxy.requests({opcode::exists}) == 0U); // what does not go is asked for
}

// Its watch was not set when the node went.
BOOST_AUTO_TEST_CASE(a_waiter_whose_node_was_deleted_in_an_outage_has_room_for_another_one)
{
    auto held = hold(connect());
    auto proxy = link_proxy(server);
    auto& c =
        connect_through(proxy, {.max_session_size = of_text + directory.size() + of_contender});
    outcome<unique_lock> o;
    mutex m{c, directory};
    m.async_lock(o.handler());
    BOOST_TEST(until([&] { return queue().size() == 2U; }));
    const auto waiter = queue().back();
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(until([&] { return c.state() == connection_state::suspended; }));
    admin.remove(directory + "/" + waiter);
    proxy.refuse(false);
    BOOST_TEST(until([&] { return queue().size() == 2U; }));
    BOOST_TEST(unlock(held) == error_code{});
    auto granted = value_of(io, o);
    BOOST_TEST(unlock(granted) == error_code{});
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::session_room_test
