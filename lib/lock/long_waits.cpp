#include "lock/long_waits.hpp"

#include "lock/holder_query.hpp"
#include "lock/local_queue.hpp"
#include "report/waiting_report.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace colock::detail {

using protocol::first_waiting_report;

std::weak_ptr<long_waits> long_waits::weak()
{
    return std::shared_ptr<long_waits>{queue_.shared_from_this(), this};
}

std::optional<std::chrono::nanoseconds> long_waits::waits_since()
{
    const auto* const first = queue_.users().first();
    reminded_ = first != nullptr && !queue_.core()->unavailable();
    return reminded_ ? std::optional{std::chrono::nanoseconds{first->tag}} : std::nullopt;
}

void long_waits::ask_for_reminder()
{
    if (!is_due() || !due_.exchange(false)) {
        return;
    }
    try {
        queue_.core()->post([weak = weak()] {
            const auto self = weak.lock();
            if (!self) {
                return;
            }
            const auto since = self->queue_.locked([&] { return self->waits_since(); });
            if (since) {
                self->queue_.core()->remind(weak, *since + first_waiting_report);
            }
        });
    } catch (const std::bad_alloc&) { // the next input asks
        due_ = true;
    }
}

std::optional<std::chrono::nanoseconds> long_waits::remind(std::chrono::nanoseconds now)
{
    std::optional<std::chrono::nanoseconds> next;
    std::optional<std::size_t> asks;
    queue_.locked([&] {
        const auto began = waits_since();
        if (!began) {
            return;
        }
        next = protocol::next_waiting_report(*began, now);
        if (now - *began < first_waiting_report) {
            return;
        }
        // Each waiter of a queue that moves may wait for so long.
        next = std::max(*next, now + first_waiting_report);
        auto& report = queue_.report();
        report.suspect(*began, now);
        asks = report.asks_who_holds(queue_.users().known());
        if (!asks) {
            report.still_waits(*began, now, queue_.users().known());
        } else if (std::exchange(asking_, true)) {
            asks.reset();
        }
    });
    if (asks) {
        ask_for_holder(*asks);
    }
    queue_.report().send();
    return next;
}

void long_waits::ask_for_holder(std::size_t before)
{
    const auto contender = queue_.locked([&] { return queue_.users().contender(); });
    ask_first_in_queue(queue_.core(), queue_.path(), *queue_.options().layout,
                       std::string{contender ? driver_of(contender)->own_name() : ""},
                       [weak = weak(), contender = std::weak_ptr{contender},
                        before](std::optional<asked_holder> found) {
                           const auto self = weak.lock();
                           if (!self) {
                               return;
                           }
                           auto& queue = self->queue_;
                           queue.locked([&] {
                               self->asking_ = false;
                               const auto& users = queue.users();
                               if (users.first() == nullptr) {
                                   return;
                               }
                               // Else the first one may be the waiters' own node by now.
                               if (users.contender() == contender.lock()) {
                                   queue.report().found_holder(before, std::move(found));
                               }
                               queue.report().still_waits(
                                   std::chrono::nanoseconds{users.first()->tag}, boot_clock::now(),
                                   users.known());
                           });
                           queue.report().send();
                       });
}

} // namespace colock::detail
