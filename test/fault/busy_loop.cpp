// An executor that is busy when a bound or a deadline passes.
#include <colock/multi_lock.hpp>
#include <support/hostile_scene.hpp>

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <utility>

namespace colock::test::busy_loop_test {

using namespace std::chrono_literals;

namespace {

using answer = hostile_server::answer;
using asked = hostile_server::request;

constexpr std::int32_t bad_arguments = -8;

struct scene : hostile_scene {
    scene() : hostile_scene{2s}
    {
        connect();
        fill();
    }

    std::chrono::steady_clock::time_point bound;
    std::atomic_flag is_busy;
    std::atomic<bool> given_up{false}; // the second lock, while the first is waited for
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(busy_loop, scene)

// Lost is final. The loop goes on with an answer that would move the bound.
BOOST_AUTO_TEST_CASE(G5_a_bound_that_has_passed_does_not_move)
{
    colock::mutex m{zk, "/lock"};
    const outcome<colock::unique_lock> held;
    m.async_lock(held.handler());
    succeeds(held);
    const outcome<colock::error_code> lost;
    held.value().async_wait_lost(lost.handler());
    server.play([this](const asked& r, std::string honest) -> answer {
        if (r.kind == opcode::multi) {
            return framed(honest.substr(4, 12) + number(bad_arguments)); // no proof
        }
        if (r.kind == opcode::set_data) {
            boost::asio::post(io, [this] {
                is_busy.test_and_set();
                is_busy.notify_one();
                std::this_thread::sleep_until(bound + 2ms);
            });
            is_busy.wait(false);
        }
        return honest;
    });
    BOOST_REQUIRE(pulse.becomes_true([&] { return held.value().remaining() < 50ms; }));
    bound = held.value().safe_until();
    const outcome<colock::node_stat> written;
    zk.async_set("/a", "new", colock::any_version, written.handler());
    succeeds(written);
    BOOST_TEST(lost.done());
    BOOST_TEST(held.value().loss_reason() == colock::errc::safe_until_passed);
}

BOOST_AUTO_TEST_CASE(several_locks_that_are_granted_late_are_not_taken)
{
    colock::mutex first{zk, "/a/x"};
    const outcome<colock::unique_lock> held;
    first.async_lock(held.handler());
    succeeds(held);
    colock::multi_lock both{colock::lock_entry{first},
                            colock::lock_entry{colock::mutex{zk, "/a/y"}}};
    server.play([this](const asked& r, std::string honest) -> answer {
        given_up = given_up || (r.kind == opcode::remove && r.path.starts_with("/a/y"));
        return honest;
    });
    const outcome<colock::multi_guard> taken;
    const auto deadline = std::chrono::steady_clock::now() + 2s;
    both.async_try_lock_until(deadline, taken.handler());
    BOOST_REQUIRE(pulse.becomes_true([&] { return given_up.load(); }));
    pulse.becomes_true([&] { return std::chrono::steady_clock::now() > deadline - 100ms; });
    boost::asio::post(io, [&] {
        std::this_thread::sleep_until(deadline);
        held.value() = {};
    });
    wait_for(taken);
    BOOST_TEST(!taken.value());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::busy_loop_test
