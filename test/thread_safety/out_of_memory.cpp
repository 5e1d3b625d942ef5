// A guard that is destroyed, or given away, where there is no memory: its lock is released all the same.
#include <colock/colock.hpp>
#include <support/get.hpp>
#include <support/run.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t no_end = std::numeric_limits<std::size_t>::max();
thread_local std::size_t allocations_left = no_end;

} // namespace

void* operator new(std::size_t size)
{
    if (allocations_left != 0) {
        allocations_left -= allocations_left != no_end ? 1 : 0;
        if (auto* const memory = std::malloc(size == 0 ? 1 : size)) {
            return memory;
        }
    }
    throw std::bad_alloc{};
}

void operator delete(void* memory) noexcept
{
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept
{
    std::free(memory);
}

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using colock::test::get;

// Two clients that another thread runs.
struct client_thread {
    colock::test::zookeeper_server server;
    asio::io_context io;
    asio::executor_work_guard<asio::io_context::executor_type> busy = asio::make_work_guard(io);
    std::optional<colock::client> zk, other;
    std::thread thread{[this] { io.run(); }};

    client_thread()
    {
        connect(zk);
        connect(other);
    }
    ~client_thread()
    {
        zk.reset();
        other.reset();
        busy.reset();
        io.stop();
        thread.join();
    }

    // `log`: gets all lines.
    void connect(std::optional<colock::client>& c, colock::log_sink log = {})
    {
        c.emplace(io, colock::client_options{.hosts = server.connect_string(),
                                             .session_timeout = 40s,
                                             .log = std::move(log),
                                             .log_threshold = colock::log_level::debug});
        get(c->async_connect(asio::use_future));
    }
    // Destroys the guards where so much can be allocated. Returns what is left of that.
    template <class Guards>
    static std::size_t release(Guards guards, std::size_t allocations = 0)
    {
        allocations_left = allocations;
        guards.clear();
        return std::exchange(allocations_left, no_end);
    }
    // Whether so many allocations are enough to begin it; then it has ended.
    template <class Held, class Leave>
    static bool leaves(Held held, std::size_t allocations, Leave leave)
    {
        std::promise<void> left;
        bool begun = false;
        allocations_left = allocations;
        try {
            leave(held, [&](const colock::error_code&) { left.set_value(); });
            begun = true;
        } catch (const std::bad_alloc&) {
        }
        allocations_left = no_end;
        if (begun) {
            get(left.get_future());
        }
        return begun;
    }
    void expect_no_contenders()
    {
        BOOST_TEST(colock::test::wait_until([&] { return zk->stats().contenders == 0; }, 60s));
        BOOST_TEST(zk->stats().sessions == 1U); // nor by the end of the session
    }
};

BOOST_FIXTURE_TEST_SUITE(out_of_memory_cases, client_thread)

BOOST_AUTO_TEST_CASE(the_last_release_of_a_node_is_not_lost)
{
    std::vector<colock::unique_lock> held;
    for (int i = 0; i != 20; ++i) {
        colock::mutex m{*zk, "/locks/" + std::to_string(i)};
        held.push_back(get(m.async_lock(asio::use_future)));
    }
    auto next = colock::mutex{*other, "/locks/7"}.async_lock(asio::use_future);
    release(std::move(held));
    BOOST_TEST(static_cast<bool>(get(std::move(next))));
    expect_no_contenders();
}

// The destructor is noexcept.
BOOST_AUTO_TEST_CASE(nor_is_that_of_a_guard_whose_lock_is_lost)
{
    colock::mutex m{*zk, "/locks/lost"};
    std::vector<colock::unique_lock> held;
    held.push_back(get(m.async_lock(asio::use_future)));
    get(other->async_remove(held.front().node(), asio::use_future));
    BOOST_TEST(colock::test::wait_until(
        [&] { return held.front().loss_reason() == colock::errc::node_deleted; }, 60s));
    release(std::move(held));
    BOOST_TEST(static_cast<bool>(get(m.async_lock(asio::use_future))));
    expect_no_contenders();
}

BOOST_AUTO_TEST_CASE(nor_is_that_of_readers)
{
    colock::shared_mutex m{*zk, "/locks/shared"};
    std::vector<colock::shared_lock> held;
    for (int i = 0; i != 3; ++i) {
        held.push_back(get(m.async_lock_shared(asio::use_future)));
    }
    release(std::move(held));
    BOOST_TEST(static_cast<bool>(get(m.async_lock(asio::use_future))));
    expect_no_contenders();
}

// Whichever `new` fails: of the line, or of what sends it. Later lines are written. (Asio allocates otherwise, too.)
BOOST_AUTO_TEST_CASE(nor_is_one_that_the_log_would_hear_of)
{
    const auto heard = std::make_shared<std::atomic<bool>>(false);
    connect(zk, [heard](colock::log_level, std::string_view line) {
        *heard = *heard || line.starts_with("released");
    });
    std::size_t left = 0;
    for (std::size_t allocations = 0; left == 0; ++allocations) {
        colock::mutex m{*zk, "/locks/logged/" + std::to_string(allocations)};
        std::vector<colock::unique_lock> held;
        held.push_back(get(m.async_lock(asio::use_future)));
        left = release(std::move(held), allocations);
    }
    BOOST_TEST(colock::test::wait_until([&] { return heard->load(); }, 60s));
    expect_no_contenders();
}

// Whichever of its allocations fails.
BOOST_AUTO_TEST_CASE(nor_that_of_a_guard_that_is_to_be_downgraded)
{
    colock::shared_mutex m{*zk, "/locks/downgraded"};
    for (std::size_t allocations = 0;; ++allocations) {
        auto held = get(m.async_lock(asio::use_future));
        std::promise<colock::shared_lock> reader; // one that is abandoned allocates
        bool begun = false;
        allocations_left = allocations;
        try {
            m.async_downgrade(std::move(held), [&](const colock::error_code&, auto shared) {
                reader.set_value(std::move(shared));
            });
            begun = true;
        } catch (const std::bad_alloc&) {
        }
        allocations_left = no_end;
        if (begun) {
            BOOST_TEST(allocations != 0U);
            BOOST_TEST(static_cast<bool>(get(reader.get_future())));
            break;
        }
    }
    expect_no_contenders();
}

BOOST_AUTO_TEST_CASE(nor_that_of_permits)
{
    colock::semaphore s{*zk, "/locks/permits", 4};
    std::vector<colock::permit> held;
    held.push_back(get(s.async_acquire(4, asio::use_future)));
    held.push_back(held.front().split(1));
    auto next = colock::semaphore{*other, "/locks/permits", 4}.async_acquire(4, asio::use_future);
    release(std::move(held));
    BOOST_TEST(get(std::move(next)).count() == 4U);
    BOOST_TEST(zk->stats().sessions == 1U);
}

BOOST_AUTO_TEST_CASE(nor_that_of_members)
{
    colock::group g{*zk, "/groups/workers"};
    std::vector<colock::membership> here;
    for (int i = 0; i != 3; ++i) {
        here.push_back(get(g.async_join({.name = std::to_string(i)}, asio::use_future)));
    }
    release(std::move(here));
    BOOST_TEST(colock::test::wait_until(
        [&] { return get(g.async_members(asio::use_future)).empty(); }, 60s));
    BOOST_TEST(zk->stats().sessions == 1U);
}

// Whichever of its allocations fails.
BOOST_AUTO_TEST_CASE(nor_that_of_permits_that_are_to_be_released)
{
    colock::semaphore s{*zk, "/locks/released", 1};
    const auto release_one = [&](std::size_t allocations) {
        return leaves(get(s.async_acquire(asio::use_future)), allocations,
                      [](auto& held, auto then) { held.async_release(std::move(then)); });
    };
    for (std::size_t allocations = 0; !release_one(allocations); ++allocations) {
    }
    BOOST_TEST(zk->stats().sessions == 1U);
}

BOOST_AUTO_TEST_CASE(nor_that_of_a_member_that_is_to_leave)
{
    colock::group g{*zk, "/groups/leavers"};
    const auto leave_one = [&](std::size_t allocations) {
        return leaves(get(g.async_join({.name = "one"}, asio::use_future)), allocations,
                      [](auto& here, auto then) { here.async_leave(std::move(then)); });
    };
    for (std::size_t allocations = 0; !leave_one(allocations); ++allocations) {
    }
    BOOST_TEST(zk->stats().sessions == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
