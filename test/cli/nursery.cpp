// The supervisor's end of a real nursery: what many guardians cost, and what becomes of many that are asked for at once.
#include "run/nursery.hpp"

#include "run/boot_time.hpp"
#include "run/inherited_signals.hpp"
#include "run/process_tree.hpp"
#include "run/shared_bound.hpp"

#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>

using namespace colock::cli;
using namespace std::chrono_literals;

namespace {

std::size_t polls = 0;

struct nursery_scene {
    explicit nursery_scene(const std::string& line)
        : task{{"sh", "-c", line}, false, {50ms, 550ms}, signals, {}}
    {
        all.emplace(task);
    }
    void make(std::size_t number)
    {
        for (std::uint32_t shard = 0; shard != number; ++shard) {
            auto& bound = bounds.emplace_back();
            bound.renew(boot_time() + std::chrono::hours{1});
            guardians.push_back(all->make(shard, bound));
        }
    }

    const inherited_signals signals;
    nursery_task task;
    std::optional<nursery> all;
    std::list<shared_bound> bounds;
    std::list<std::unique_ptr<guardian_socket>> guardians;
};

} // namespace

// In place of that of the C library.
extern "C" int poll(::pollfd* of, ::nfds_t number, int limit)
{
    ++polls;
    return static_cast<int>(::syscall(SYS_poll, of, number, limit));
}

BOOST_AUTO_TEST_SUITE(nursery_)

BOOST_AUTO_TEST_CASE(a_round_costs_a_few_calls_for_each_guardian)
{
    constexpr std::size_t number = 50;
    nursery_scene s{"exit 0"};
    s.make(number);
    polls = 0;
    for (const auto& each : s.guardians) {
        each->keep_going();
    }
    s.all->keep_going();
    BOOST_TEST(polls > number);
    BOOST_TEST(polls < 5 * number);
}

BOOST_AUTO_TEST_SUITE_END()
