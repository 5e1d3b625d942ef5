// A mutex and what it is given: bad paths, missing permissions, directories with things in them that are
// not its own. Nothing hangs, and nothing stays behind.
#include <support/lock_scene.hpp>
#include <support/requests_of.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

namespace colock::test::mutex_input_test {

namespace {

using mode = admin_session::mode;

constexpr int may_read = 1;
constexpr int may_delete = 8;
constexpr int may_all = 31;

std::vector<admin_session::acl_entry> world(int permissions)
{
    return {{permissions, "world", "anyone"}};
}

const std::string foreign = "_c_5f6b3a52-8d1c-4f0e-9c0a-3a1d2b4c5e6f-lock-"; // as Curator writes it

} // namespace

BOOST_AUTO_TEST_SUITE(mutex_input)

BOOST_AUTO_TEST_CASE(a_bad_path_is_refused_and_nothing_is_sent)
{
    lock_scene s;
    auto& c = s.connect();
    const auto sent = requests_of(c);
    const auto nodes = s.server.node_count();
    const std::string paths[] = {"",
                                 "locks",
                                 "locks/orders",
                                 "//",
                                 "//locks",
                                 "/locks//orders",
                                 "/locks/",
                                 "/.",
                                 "/locks/.",
                                 "/./locks",
                                 "/locks/../orders",
                                 std::string("/lo\0cks", 7),
                                 "/lo\ncks",
                                 "/lo\x7f",
                                 "/" + std::string(4080, 'x'), // no room for the names of nodes
                                 "/" + std::string(5000, 'x'),
                                 "/" + std::string(2'000'000, 'x')};
    for (const auto& path : paths) {
        mutex m{c, path}; // no I/O, no exception
        BOOST_TEST(m.path() == path);
        outcome<unique_lock> locked;
        outcome<unique_lock> tried;
        m.async_lock(locked.handler());
        m.async_try_lock(tried.handler());
        BOOST_TEST(code_of(s.io, locked) == errc::invalid_path);
        BOOST_TEST(code_of(s.io, tried) == errc::invalid_path);
        BOOST_TEST(!locked.value());
        BOOST_TEST(!c.last_error_detail().empty());
    }
    BOOST_TEST(requests_of(c) == sent);
    BOOST_TEST(s.server.node_count() == nodes);
    BOOST_TEST(c.stats().contenders == 0U);
}

BOOST_AUTO_TEST_CASE(a_path_with_characters_that_the_servers_refuse_is_refused)
{
    lock_scene s;
    auto& c = s.connect();
    for (const auto* name : {"/\xc2\x85", "/\xee\x80\x80", "/\xff\xfe"}) {
        outcome<unique_lock> locked;
        mutex{c, s.directory + name}.async_lock(locked.handler());
        BOOST_TEST(code_of(s.io, locked) == errc::invalid_path);
    }
    auto held = [&] {
        outcome<unique_lock> locked;
        mutex{c, s.directory + "/Schl\xc3\xb6sser"}.async_lock(locked.handler());
        return value_of(s.io, locked);
    }();
    BOOST_TEST(s.unlock(held) == error_code{});
    BOOST_TEST(c.state() == connection_state::connected);
}

BOOST_AUTO_TEST_CASE(no_permission_is_an_error_and_no_node_stays)
{
    lock_scene s;
    auto& c = s.connect();
    const auto outcome_in = [&](const std::string& path) {
        outcome<unique_lock> locked;
        mutex{c, path}.async_lock(locked.handler());
        return code_of(s.io, locked);
    };
    const auto make = [&](const std::string& name, int permissions) {
        s.admin.create(s.directory + name, "", mode::persistent, world(permissions));
        return s.directory + name;
    };
    s.admin.create(s.directory);

    // To make the directory.
    const auto closed = make("/closed", may_read);
    BOOST_TEST(outcome_in(closed + "/lock") == zookeeper_errc::no_auth);
    BOOST_TEST(outcome_in(closed + "/a/b/lock") == zookeeper_errc::no_auth);
    BOOST_TEST(s.queue_of(closed).empty());
    // To join.
    BOOST_TEST(outcome_in(closed) == zookeeper_errc::no_auth);
    // To look: the node is there already and has to go again.
    const auto blind = make("/blind", may_all - may_read);
    BOOST_TEST(outcome_in(blind) == zookeeper_errc::no_auth);
    s.admin.set_acl(blind, world(may_all));
    BOOST_TEST(s.until([&] { return s.queue_of(blind).empty(); }));
    // Only an ancestor is closed: what matters is what has to be written.
    const auto behind = make("/behind", may_all);
    s.admin.create(behind + "/lock");
    s.admin.set_acl(behind, world(may_read));
    BOOST_TEST(outcome_in(behind + "/lock") == error_code{});
    BOOST_TEST(s.until([&] { return s.queue_of(behind + "/lock").empty(); }));

    // try_lock, likewise.
    outcome<unique_lock> tried;
    mutex{c, closed}.async_try_lock(tried.handler());
    BOOST_TEST(code_of(s.io, tried) == zookeeper_errc::no_auth);
    BOOST_TEST(!tried.value());
    BOOST_TEST(c.last_error_detail().find(closed) != std::string::npos);
    BOOST_TEST(c.stats().contenders == 0U);

    // An ephemeral node cannot be the directory, nor above it.
    s.admin.create(s.directory + "/ephemeral", "", mode::ephemeral);
    BOOST_TEST(outcome_in(s.directory + "/ephemeral") == errc::conflicting_kind);
    BOOST_TEST(outcome_in(s.directory + "/ephemeral/x") ==
               zookeeper_errc::no_children_for_ephemerals);
    // An access control list that the server does not take.
    outcome<unique_lock> unknown;
    mutex{c, s.directory + "/acl", {.acl = access_control_list{{31, "no-such-scheme", "x"}}}}
        .async_lock(unknown.handler());
    BOOST_TEST(code_of(s.io, unknown) == zookeeper_errc::invalid_acl);
    outcome<unique_lock> none;
    mutex{c, s.directory + "/acl", {.acl = access_control_list{}}}.async_lock(none.handler());
    BOOST_TEST(code_of(s.io, none) == zookeeper_errc::invalid_acl);
    BOOST_TEST(s.until([&] { return c.stats().contenders == 0U; }));
}

BOOST_AUTO_TEST_CASE(a_release_without_permission_reports_that_the_node_remains)
{
    lock_scene s;
    auto& c = s.connect();
    auto held = s.hold(c);
    const auto node = held.node();
    s.admin.set_acl(s.directory, world(may_all - may_delete));
    BOOST_TEST(s.unlock(held) == zookeeper_errc::no_auth);
    BOOST_TEST(static_cast<bool>(s.admin.exists(node))); // until the session ends
    s.admin.set_acl(s.directory, world(may_all));
    s.close_all();
    BOOST_TEST(s.queue().empty());
}

BOOST_AUTO_TEST_CASE(data_that_no_packet_holds_is_an_error_and_not_a_loop)
{
    lock_scene s;
    auto& c = s.connect();
    BOOST_TEST(code_of(s.io, s.start_lock(c, {.owner_data = std::string(2'000'000, 'x')})) ==
               errc::request_too_large);
    BOOST_TEST(c.state() == connection_state::connected);
    BOOST_TEST(c.stats().connections == 1U);
    BOOST_TEST(s.queue().empty());
}

BOOST_AUTO_TEST_CASE(children_that_are_no_contenders_do_not_block)
{
    lock_scene s;
    auto& c = s.connect();
    s.admin.create(s.directory);
    for (const auto* name :
         {"0", "foo", "lock", "lock-", "lock-1", "lock-000000001", "lock-00000000001",
          "lock-000000000x", "lock--000000000", "lock---0000000005", "-latch-0000000000",
          "x-lock-0000000000-y", "0000000000", "-0000000000", "__READ__0000000000",
          "lock-\xd9\xa0\xd9\xa0\xd9\xa0\xd9\xa0\xd9\xa0", "a_lock_0000000000",
          "LOCK-0000000000"}) {
        s.admin.create(s.directory + "/" + name);
    }
    auto held = s.hold(c);
    auto waiting = s.start_waiter(c);
    BOOST_TEST(s.unlock(held) == error_code{});
    held = value_of(s.io, waiting);
    BOOST_TEST(!value_of(s.io, s.start_try_lock(c)));
    BOOST_TEST(s.unlock(held) == error_code{});
    held = value_of(s.io, s.start_try_lock(c));
    BOOST_TEST(static_cast<bool>(held));
    BOOST_TEST(s.unlock(held) == error_code{});
}

BOOST_AUTO_TEST_CASE(G1_K18_a_foreign_contender_before_me_blocks_and_its_deletion_grants)
{
    lock_scene s;
    auto& c = s.connect();
    s.admin.create(s.directory);
    // Curator's, go-zookeeper's, and one that somebody made by hand.
    for (const auto& name : {foreign, std::string{"_c_0123456789abcdef0123456789abcdef-lock-"},
                             std::string{"lock-"}, std::string{"by-hand-lock-"}}) {
        const auto theirs =
            s.admin.create(s.directory + "/" + name, "", mode::ephemeral_sequential);
        auto waiting = s.start_waiter(c);
        BOOST_TEST(s.until([&] { return s.watches_of(c).contains(theirs); }));
        BOOST_TEST(!value_of(s.io, s.start_try_lock(c)));
        BOOST_TEST(!waiting.done());
        s.admin.remove(theirs);
        auto held = value_of(s.io, waiting);
        BOOST_TEST(s.unlock(held) == error_code{});
    }
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(G1_a_foreign_contender_behind_me_is_no_business_of_mine)
{
    lock_scene s;
    auto& c = s.connect();
    auto held = s.hold(c);
    const auto theirs = s.admin.create(s.directory + "/" + foreign, "", mode::ephemeral_sequential);
    auto waiting = s.start_waiter(c);
    BOOST_TEST(s.unlock(held) == error_code{});
    BOOST_TEST(s.until([&] { return s.queue().size() == 2; }));
    go_on(s.io, 50ms);
    BOOST_TEST(!waiting.done()); // it is their turn
    s.admin.remove(theirs);
    held = value_of(s.io, waiting);
    BOOST_TEST(s.unlock(held) == error_code{});
    s.check_nothing_left();
}

// Curator's Revoker does so. It is no request that a mutex obeys, and no event of the node's end.
BOOST_AUTO_TEST_CASE(data_written_to_a_node_of_the_queue_grants_nothing_and_leaves_no_watch)
{
    lock_scene s;
    auto& holder = s.connect();
    auto& second = s.connect();
    auto& third = s.connect();
    auto held = s.hold(holder);
    auto waiting = s.start_waiter(second);
    auto last = s.start_waiter(third);
    const auto queue = s.queue();
    BOOST_TEST(s.until([&] { return s.watches_of(third).size() == 3; }));
    for (int i = 0; i != 3; ++i) {
        for (const auto& name : queue) {
            s.admin.set(s.directory + "/" + name, "__REVOKE__");
        }
        // Each owner writes its own data back, which is one event more, or the same.
        BOOST_TEST(s.until([&] {
            return third.stats().watch_events >= 3U * static_cast<unsigned>(i + 1) &&
                   s.watches_of(third).size() == 3;
        }));
    }
    BOOST_TEST(!waiting.done());
    BOOST_TEST(!last.done());
    BOOST_TEST(static_cast<bool>(held));

    // The watches that were set again are the ones that are taken away.
    asio::cancellation_signal cancel;
    outcome<unique_lock> fourth;
    auto& leaver = s.connect();
    mutex{leaver, s.directory}.async_lock(
        asio::bind_cancellation_slot(cancel.slot(), fourth.handler()));
    BOOST_TEST(s.until([&] { return s.watches_of(leaver).size() == 3; }));
    s.admin.set(s.directory + "/" + queue.back(), "x");
    BOOST_TEST(s.until(
        [&] { return leaver.stats().watch_events == 1U && s.watches_of(leaver).size() == 3; }));
    cancel.emit(asio::cancellation_type::terminal);
    BOOST_TEST(code_of(s.io, fourth) == asio::error::operation_aborted);
    BOOST_TEST(s.until([&] { return s.watches_of(leaver).empty(); }));
    BOOST_TEST(s.queue().size() == 3U);

    BOOST_TEST(s.unlock(held) == error_code{});
    held = value_of(s.io, waiting);
    BOOST_TEST(s.unlock(held) == error_code{});
    held = value_of(s.io, last);
    BOOST_TEST(s.unlock(held) == error_code{});
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_negative_sequence_says_that_the_directory_is_used_up)
{
    lock_scene s;
    auto& c = s.connect();
    s.admin.create(s.directory);
    for (const auto* number : {"-2147483648", "-2147483647", "-0000000001"}) {
        const auto theirs = s.directory + "/" + foreign + number;
        s.admin.create(theirs);
        BOOST_TEST(code_of(s.io, s.start_lock(c)) == errc::sequence_exhausted);
        BOOST_TEST(!value_of(s.io, s.start_try_lock(c)));
        BOOST_TEST(s.until([&] { return s.queue().size() == 1; }));
        s.admin.remove(theirs);
    }
    // It can also come while somebody waits.
    auto held = s.hold(c);
    auto waiting = s.start_waiter(c);
    s.admin.create(s.directory + "/" + foreign + "-0000000007");
    BOOST_TEST(s.unlock(held) == error_code{});
    const auto ec = code_of(s.io, waiting);
    BOOST_TEST((!ec || ec == errc::sequence_exhausted)); // granted on the event, or after a listing
    waiting = {};
    BOOST_TEST(s.until([&] { return s.queue().size() == 1; }));
    s.admin.remove_tree(s.directory);
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(two_nodes_with_one_number_are_an_error_that_names_it)
{
    lock_scene s;
    auto& c = s.connect();
    s.admin.create(s.directory);
    s.admin.create(s.directory + "/" + foreign + "0000000001"); // the next number
    BOOST_TEST(code_of(s.io, s.start_lock(c)) == errc::duplicate_sequence);
    BOOST_TEST(s.until([&] { return s.queue().size() == 1; }));
    s.admin.remove_tree(s.directory);
    s.check_nothing_left();
}

// Of several clients, which do not see what the others use the path for, but in its nodes.
BOOST_AUTO_TEST_CASE(G1_another_kind_of_lock_on_the_path_is_an_error_for_whoever_comes_later)
{
    lock_scene s;
    auto& first = s.connect();
    const auto later = [&]() -> client& { return s.connect(); };
    const auto refused = [&](auto start) {
        outcome<typename decltype(start)::guard> o;
        start(o);
        BOOST_TEST(code_of(s.io, o) == errc::conflicting_kind);
    };
    struct write {
        using guard = unique_lock;
        shared_mutex m;
        void operator()(outcome<unique_lock>& o) { m.async_lock(o.handler()); }
    };
    struct try_read {
        using guard = shared_lock;
        shared_mutex m;
        void operator()(outcome<shared_lock>& o) { m.async_try_lock_shared(o.handler()); }
    };
    struct acquire {
        using guard = permit;
        semaphore s;
        void operator()(outcome<permit>& o) { s.async_acquire(1, o.handler()); }
    };
    struct lock {
        using guard = unique_lock;
        mutex m;
        void operator()(outcome<unique_lock>& o) { m.async_lock(o.handler()); }
    };

    auto held = s.hold(first);
    auto waiting = s.start_waiter(first);
    refused(write{{later(), s.directory}});
    refused(try_read{{later(), s.directory}});
    refused(acquire{{later(), s.directory, 1}});
    BOOST_TEST(s.until([&] { return s.queue().size() >= 2; })); // and "locks", of the semaphore
    BOOST_TEST(s.unlock(held) == error_code{});
    held = value_of(s.io, waiting); // nothing has become of the mistake
    BOOST_TEST(s.unlock(held) == error_code{});

    const auto path = s.directory + "/other";
    outcome<permit> taken;
    semaphore{first, path, 1}.async_acquire(1, taken.handler());
    auto one = value_of(s.io, taken);
    refused(lock{{later(), path}});
    refused(write{{later(), path}});
}

BOOST_AUTO_TEST_CASE(a_layout_of_ones_own_is_written_and_recognised)
{
    lock_scene s;
    auto& c = s.connect();
    auto& d = s.connect();
    const lock_options doors{.layout = layout{"", "door-"}};
    const lock_options locks{};
    // Two layouts in one directory do not see each other (W4).
    auto held = s.hold(c, doors);
    BOOST_TEST(held.node().find("-door-000000") != std::string::npos);
    auto also = s.hold(d, locks);
    BOOST_TEST(s.queue().size() == 2U);
    BOOST_TEST(s.unlock(also) == error_code{});
    auto waiting = s.start_waiter(d, doors);
    BOOST_TEST(s.unlock(held) == error_code{});
    held = value_of(s.io, waiting);
    BOOST_TEST(s.unlock(held) == error_code{});
    s.check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::mutex_input_test
