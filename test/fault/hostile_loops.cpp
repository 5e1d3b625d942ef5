// Servers whose answers make the client ask again, for ever. The client repeats at its own pace, not at the server's.
#include <colock/semaphore.hpp>
#include <colock/shared_mutex.hpp>
#include <colock/single_node_mutex.hpp>
#include <support/hostile_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace colock::test::hostile_loops_test {

using namespace std::chrono_literals;

namespace {

using answer = hostile_server::answer;
using asked = hostile_server::request;
using trick = hostile_server::trick;

constexpr std::int32_t no_node = -101;
constexpr std::int32_t node_exists = -110;
constexpr std::int32_t throttled = -127;

answer refused(const std::string& honest, std::int32_t error)
{
    return framed(honest.substr(4, 12) + number(error));
}

// A transaction of two steps that fails, with the error of each.
answer refused(const std::string& honest, std::int32_t first, std::int32_t second)
{
    std::string errors;
    for (const auto error : {first, second}) {
        errors += number(-1) + '\0' + number(error) + number(error);
    }
    return framed(honest.substr(4, 16) + errors + number(-1) + '\1' + number(-1));
}

// Each node below a path has another name in replies to its create, and in lists: the name, and `more` behind it.
trick renaming(std::string directory, std::string more)
{
    return [directory = std::move(directory), more = std::move(more)](const asked& r,
                                                                      std::string honest) {
        const bool succeeds =
            honest.size() > 24 && jute_reader{honest.substr(16, 4)}.integer() == 0;
        const bool lists = r.kind == opcode::get_children2 && r.path == directory;
        const bool creates = r.kind == opcode::create2 && r.path.starts_with(directory + '/');
        if (!succeeds || (!lists && !creates)) {
            return answer{std::move(honest)};
        }
        jute_reader in{std::string_view{honest}.substr(20)};
        const auto count = lists ? in.integer() : 1;
        auto names = lists ? number(count) : std::string{};
        for (auto i = count; i != 0; --i) {
            names += text(std::string{in.text()} + more);
        }
        return answer{
            framed(honest.substr(4, 16) + names + honest.substr(honest.size() - in.left()))};
    };
}

trick refusing(opcode kind, std::string path, std::int32_t error)
{
    return [=](const asked& r, std::string honest) {
        return r.kind == kind && r.path.starts_with(path) ? refused(honest, error)
                                                          : answer{std::move(honest)};
    };
}

struct scene : hostile_scene {
    scene()
    {
        connect();
        fill();
    }

    void run_for(std::chrono::milliseconds time)
    {
        pulse.becomes_true([] { return false; }, time);
    }

    // The client asks again and again, and leaves time in between: eleven pauses that double fill 250 ms, and one attempt at
    // permits whose lock is lost makes up to eight requests. Without pauses there would be thousands.
    void takes_its_time(std::uint64_t least = 5)
    {
        const auto before = server.requests();
        run_for(250ms);
        BOOST_TEST(server.requests() - before <= 150u);
        BOOST_TEST(pulse.becomes_true([&] { return server.requests() - before >= least; }));
    }

    // Round trips tell whether something comes at once. On a slow machine they take longer, and whatever is waited for does so,
    // too; the pauses do not.
    template <class Condition>
    bool comes_at_once(Condition condition)
    {
        for (int i = 0; i != 50 && !condition(); ++i) {
            const outcome<colock::get_result> marker;
            zk.async_get("/a/x", marker.handler());
            succeeds(marker);
        }
        return condition();
    }

    template <class Outcome>
    void ends(const Outcome& o)
    {
        server.play({});
        BOOST_REQUIRE(pulse.becomes_true([&] { return o.done(); }));
        BOOST_TEST(!o.error(), o.error().message());
    }

    const outcome<colock::unique_lock> locked;
    const outcome<colock::permit> acquired;
    const outcome<> released;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(hostile_loops, scene)

BOOST_AUTO_TEST_CASE(a_directory_is_missing)
{
    server.play([](const asked& r, std::string honest) {
        return r.kind == opcode::create2 && r.path.find("lock-") != std::string::npos
                   ? refused(honest, no_node)
                   : answer{std::move(honest)};
    });
    colock::mutex m{zk, "/elsewhere"};
    m.async_lock(locked.handler());
    takes_its_time();
    BOOST_TEST(!locked.done());
    server.play({}); // it has made the nodes all the while: nobody is granted anything there
    goes_on();
}

// Whatever the name is: it is not the one that was asked for. Each reply costs the connection, and the lists as well where no
// node can have such a name.
BOOST_AUTO_TEST_CASE(every_node_gets_another_name)
{
    for (const auto* more : {"-made-up-lock-0000000000", "\nX=lock-0000000000"}) {
        const auto path = "/elsewhere" + std::to_string(server.connections());
        server.play(renaming(path, more));
        const auto connections = server.connections();
        colock::mutex m{zk, path};
        const outcome<colock::unique_lock> renamed;
        m.async_lock(renamed.handler());
        run_for(1s);
        BOOST_TEST(server.connections() <= connections + 40);
        BOOST_TEST(pulse.becomes_true([&] { return server.connections() >= connections + 2; }));
        BOOST_TEST(!renamed.done());
        BOOST_TEST(logged("another path than the request's"), last_lines());
        log.clear();
    }
    server.play({}); // it has made the nodes all the while: nobody is granted anything there
    goes_on();
}

BOOST_AUTO_TEST_CASE(a_list_never_shows_the_own_node)
{
    server.play([](const asked& r, std::string honest) {
        return r.kind == opcode::get_children2 && r.path == "/elsewhere"
                   ? answer{framed(honest.substr(4, 16) + number(0) + std::string(68, '\0'))}
                   : answer{std::move(honest)};
    });
    colock::mutex m{zk, "/elsewhere"};
    m.async_lock(locked.handler());
    takes_its_time();
    BOOST_TEST(!locked.done());
    server.play({});
    goes_on();
}

BOOST_AUTO_TEST_CASE(a_list_finds_no_directory)
{
    server.play(refusing(opcode::get_children2, "/elsewhere", no_node));
    colock::mutex m{zk, "/elsewhere"};
    m.async_lock(locked.handler());
    takes_its_time();
    BOOST_TEST(!locked.done());
    server.play({});
    goes_on();
}

// A writer that waits for another one lists again when that is gone: it may have become a reader.
BOOST_AUTO_TEST_CASE(a_list_shows_a_node_that_is_not_there)
{
    colock::shared_mutex m{zk, "/elsewhere"};
    m.async_lock(locked.handler()); // has the first number
    BOOST_REQUIRE(pulse.becomes_true([&] { return locked.done(); }));
    locked.value().async_unlock(released.handler());
    BOOST_REQUIRE(pulse.becomes_true([&] { return released.done(); }));
    server.play([](const asked& r, std::string honest) {
        if (r.kind != opcode::get_children2 || r.path != "/elsewhere") {
            return answer{std::move(honest)};
        }
        const auto ghost = text("_c_ffffffff-ffff-ffff-ffff-ffffffffffff-__WRIT__0000000000");
        const auto count = jute_reader{honest.substr(20, 4)}.integer();
        return answer{framed(honest.substr(4, 16) + number(count + 1) + ghost + honest.substr(24))};
    });
    const outcome<colock::unique_lock> again;
    m.async_lock(again.handler());
    takes_its_time();
    BOOST_TEST(!again.done());
    ends(again);
    goes_on();
}

BOOST_AUTO_TEST_CASE(the_only_node_is_there_and_is_not)
{
    server.play([](const asked& r, std::string honest) {
        if (r.path != "/elsewhere") {
            return answer{std::move(honest)};
        }
        return r.kind == opcode::create2    ? refused(honest, node_exists)
               : r.kind == opcode::get_data ? refused(honest, no_node)
                                            : answer{std::move(honest)};
    });
    colock::single_node_mutex m{zk, "/elsewhere"};
    m.async_lock(locked.handler());
    takes_its_time();
    BOOST_TEST(!locked.done());
    server.play({});
    goes_on();
}

BOOST_AUTO_TEST_CASE(the_directory_of_the_only_node_is_missing)
{
    server.play(refusing(opcode::create2, "/a/only", no_node));
    colock::single_node_mutex m{zk, "/a/only"};
    m.async_lock(locked.handler());
    takes_its_time();
    BOOST_TEST(!locked.done());
    server.play({});
    goes_on();
}

BOOST_AUTO_TEST_CASE(the_directory_of_permits_is_missing)
{
    server.play([](const asked& r, std::string honest) {
        return r.kind == opcode::multi && r.path.starts_with("/permits")
                   ? refused(honest, 0, no_node)
                   : answer{std::move(honest)};
    });
    colock::semaphore sem{zk, "/permits", 2};
    sem.async_acquire(1, acquired.handler());
    takes_its_time();
    BOOST_TEST(!acquired.done());
    server.play({});
    goes_on();
}

BOOST_AUTO_TEST_CASE(the_node_before_the_permits_is_missing)
{
    server.play([](const asked& r, std::string honest) {
        return r.kind == opcode::multi && r.path.starts_with("/permits")
                   ? refused(honest, no_node, -2)
                   : answer{std::move(honest)};
    });
    colock::semaphore sem{zk, "/permits", 1'000}; // each try that is refused has taken one in truth
    sem.async_acquire(1, acquired.handler());
    takes_its_time();
    BOOST_TEST(!acquired.done());
    ends(acquired);
    goes_on();
}

BOOST_AUTO_TEST_CASE(the_lock_before_the_permits_is_lost_each_time)
{
    server.play([](const asked& r, std::string honest) {
        if (!r.path.starts_with("/permits")) {
            return answer{std::move(honest)};
        }
        return r.kind == opcode::multi      ? refused(honest, no_node, -2)
               : r.kind == opcode::get_data ? refused(honest, no_node)
                                            : answer{std::move(honest)};
    });
    colock::semaphore sem{zk, "/permits", 2};
    sem.async_acquire(1, acquired.handler());
    takes_its_time();
    BOOST_TEST(!acquired.done());
    server.play({});
    goes_on();
}

BOOST_AUTO_TEST_CASE(creates_are_throttled)
{
    server.play([](const asked& r, std::string honest) {
        return r.kind == opcode::create2 && r.path.find("lock-") != std::string::npos
                   ? refused(honest, throttled)
                   : answer{std::move(honest)};
    });
    colock::mutex m{zk, "/elsewhere"};
    m.async_lock(locked.handler());
    takes_its_time();
    BOOST_TEST(!locked.done());
    server.play({});
    goes_on();
}

BOOST_AUTO_TEST_CASE(lists_are_throttled)
{
    server.play(refusing(opcode::get_children2, "/elsewhere", throttled));
    colock::mutex m{zk, "/elsewhere"};
    m.async_lock(locked.handler());
    takes_its_time();
    BOOST_TEST(!locked.done());
    ends(locked);
    goes_on();
}

BOOST_AUTO_TEST_CASE(removes_are_throttled)
{
    colock::mutex m{zk, "/elsewhere"};
    m.async_lock(locked.handler());
    BOOST_REQUIRE(pulse.becomes_true([&] { return locked.done(); }));
    server.play(refusing(opcode::remove, "/elsewhere", throttled));
    locked.value().async_unlock(released.handler());
    takes_its_time();
    BOOST_TEST(!released.done());
    server.play({}); // it has removed the node long ago
    BOOST_TEST(pulse.becomes_true([&] { return released.done(); }));
    goes_on();
}

BOOST_AUTO_TEST_CASE(permits_are_throttled)
{
    server.play([](const asked& r, std::string honest) {
        return r.kind == opcode::multi && r.path.starts_with("/permits")
                   ? refused(honest, throttled)
                   : answer{std::move(honest)};
    });
    colock::semaphore sem{zk, "/permits", 2};
    sem.async_acquire(1, acquired.handler());
    takes_its_time();
    BOOST_TEST(!acquired.done());
    server.play({});
    goes_on();
}

BOOST_AUTO_TEST_CASE(removes_of_permits_are_throttled)
{
    colock::semaphore sem{zk, "/permits", 2};
    sem.async_acquire(1, acquired.handler());
    BOOST_REQUIRE(pulse.becomes_true([&] { return acquired.done(); }));
    server.play(refusing(opcode::remove, "/permits/leases", throttled));
    acquired.value().async_release(released.handler());
    takes_its_time();
    BOOST_TEST(!released.done());
    server.play({});
    BOOST_REQUIRE(pulse.becomes_true([&] { return released.done(); }));
    // This server carries out what it throttles, as no ZooKeeper does. So the node has gone as if somebody had deleted it.
    BOOST_TEST(released.error() == colock::errc::node_deleted);
    goes_on();
}

BOOST_AUTO_TEST_CASE(reads_of_users_are_throttled)
{
    server.play(refusing(opcode::get_data, "/a", throttled));
    const outcome<colock::get_result> read;
    zk.async_get("/a", read.handler());
    takes_its_time();
    BOOST_TEST(!read.done());
    ends(read);
    goes_on();
}

BOOST_AUTO_TEST_CASE(the_watches_of_users_are_throttled_behind_a_reconnection)
{
    const outcome<colock::watched<colock::get_result>> read;
    zk.async_watch("/a", read.handler());
    BOOST_REQUIRE(pulse.becomes_true([&] { return read.done(); }));
    server.play(refusing(opcode::get_data, "/a", throttled));
    server.push(number(-1));
    BOOST_REQUIRE(pulse.becomes_true([&] { return server.connections() == 2; }));
    takes_its_time();
    server.play({});
    goes_on();
}

BOOST_AUTO_TEST_CASE(the_look_at_a_chroot_is_throttled)
{
    server.play(refusing(opcode::exists, "/a", throttled));
    colock::client_options o;
    o.hosts = front.connect_string();
    o.chroot = "/a";
    colock::client below{io, link_client(o)};
    below.async_connect(released.handler());
    takes_its_time();
    BOOST_TEST(!released.done());
    ends(released);
    goes_on();
}

// ---- what ends a pause

// Once the pauses are much longer than what is measured below.
BOOST_AUTO_TEST_CASE(a_closed_client_does_not_keep_the_context_busy)
{
    server.play([](const asked& r, std::string honest) {
        const bool mine = r.path.starts_with("/elsewhere") || r.path.starts_with("/permits");
        return mine && r.kind == opcode::get_children2 ? refused(honest, throttled)
               : mine && r.kind == opcode::multi       ? refused(honest, throttled)
                                                       : answer{std::move(honest)};
    });
    colock::mutex m{zk, "/elsewhere"};
    colock::semaphore sem{zk, "/permits", 2};
    m.async_lock(locked.handler());
    sem.async_acquire(1, acquired.handler());
    const outcome<colock::children_result> listed;
    zk.async_children("/elsewhere", listed.handler());
    run_for(1s);
    zk.async_close(released.handler());
    wait_for(released);
    // Now there is nothing to wait for. Turns are counted, so that it does not matter how long one takes.
    io.restart();
    for (int turns = 0; turns != 100 && !io.stopped(); ++turns) {
        io.run_for(1ms);
    }
    BOOST_TEST(io.stopped());
    BOOST_REQUIRE((locked.done() && acquired.done() && listed.done()));
    BOOST_TEST(locked.error() == colock::errc::client_closed);
    BOOST_TEST(acquired.error() == colock::errc::client_closed);
    BOOST_TEST(listed.error() == colock::errc::client_closed);
}

BOOST_AUTO_TEST_CASE(a_caller_who_gives_up_does_not_wait_for_the_pause)
{
    server.play(refusing(opcode::get_children2, "/elsewhere", throttled));
    colock::mutex m{zk, "/elsewhere"};
    boost::asio::cancellation_signal cancel;
    m.async_lock(boost::asio::bind_cancellation_slot(cancel.slot(), locked.handler()));
    run_for(1s);
    cancel.emit(boost::asio::cancellation_type::total);
    BOOST_TEST(comes_at_once([&] { return locked.done(); }));
    BOOST_TEST(locked.error() == boost::asio::error::operation_aborted);
    server.play({});
    goes_on();
}

BOOST_AUTO_TEST_CASE(a_loss_of_the_connection_ends_the_pause)
{
    server.play(refusing(opcode::get_children2, "/elsewhere", throttled));
    colock::mutex m{zk, "/elsewhere"};
    m.async_lock(locked.handler());
    const outcome<colock::children_result> listed;
    zk.async_children("/elsewhere", listed.handler());
    run_for(1s);
    server.play({});
    server.push(number(-1));
    BOOST_TEST(comes_at_once([&] { return locked.done() && listed.done(); }));
    BOOST_TEST(!locked.error());
    BOOST_TEST(!listed.error());
    goes_on();
}

BOOST_AUTO_TEST_CASE(a_context_may_be_destroyed_during_a_pause)
{
    server.play([](const asked& r, std::string honest) {
        const bool mine = r.path.starts_with("/elsewhere") || r.path.starts_with("/permits");
        return mine && (r.kind == opcode::get_children2 || r.kind == opcode::multi)
                   ? refused(honest, throttled)
                   : answer{std::move(honest)};
    });
    auto own = std::make_unique<boost::asio::io_context>();
    colock::client_options o;
    o.hosts = front.connect_string();
    colock::client c{*own, link_client(o)};
    c.async_connect(released.handler());
    BOOST_REQUIRE(becomes_true(*own, [&] { return released.done(); }));
    colock::mutex m{c, "/elsewhere"};
    colock::semaphore sem{c, "/permits", 2};
    m.async_lock(locked.handler());
    sem.async_acquire(1, acquired.handler());
    const outcome<colock::children_result> listed;
    c.async_children("/elsewhere", listed.handler());
    becomes_true(
        *own, [] { return false; }, 300ms);
    own.reset();
    BOOST_TEST(!locked.done());
    BOOST_TEST(!acquired.done());
    BOOST_TEST(!listed.done());
    goes_on();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::hostile_loops_test
