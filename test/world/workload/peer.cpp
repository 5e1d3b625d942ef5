#include "held.hpp"
#include "workloads.hpp"
#include "world/curator_mutex.hpp"

namespace world::workload {

using namespace std::chrono_literals;

asio::awaitable<void> peer(customer::ptr me, std::size_t place, random chance)
{
    if (me->at(place).kind != lock_kind::mutex) {
        co_return;
    }
    colock::simulated::curator_mutex<customer::ptr, canceller> recipe{
        me, me->path(me->at(place).path), chance};
    while (!me->is_over()) {
        co_await me->pause(0ns, 500ms);
        if (me->is_over()) {
            break;
        }
        const auto node = co_await recipe.acquire();
        if (node.empty()) {
            co_await me->pause(1ms, 50ms);
            continue;
        }
        me->remark(node);
        co_await me->pause(0ns, some_time(chance, 300ms));
        co_await recipe.remove(node);
    }
}

} // namespace world::workload
