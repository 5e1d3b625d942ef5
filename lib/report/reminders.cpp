#include "report/reminders.hpp"

#include "report/boot_clock.hpp"

#include <algorithm>
#include <utility>

namespace colock::detail {

namespace {

// Entries that are due at nearly the same time are served together.
constexpr std::chrono::nanoseconds least_pause = std::chrono::milliseconds{250};

} // namespace

void reminders::add(std::weak_ptr<reminded> who, std::chrono::nanoseconds when)
{
    entries_.push_back({when, std::move(who)});
    if (when < set_for_) {
        wait(when);
    }
}

void reminders::end()
{
    timer_.cancel();
    set_for_ = std::chrono::nanoseconds::max();
    for (const auto& each : std::exchange(entries_, {})) {
        if (const auto who = each.who.lock()) {
            static_cast<void>(who->remind(boot_clock::now()));
        }
    }
}

void reminders::wait(std::chrono::nanoseconds until)
{
    set_for_ = until;
    timer_.expires_after(until - boot_clock::now());
    timer_.async_wait([weak = weak_from_this()](const error_code& ec) {
        if (const auto self = weak.lock(); self && !ec) {
            self->due();
        }
    });
}

void reminders::due()
{
    const auto now = boot_clock::now();
    set_for_ = std::chrono::nanoseconds::max();
    auto next = std::chrono::nanoseconds::max();
    for (auto& each : std::exchange(entries_, {})) {
        if (each.when <= now) {
            const auto who = each.who.lock();
            const auto again = who ? who->remind(now) : std::nullopt;
            if (!again) {
                continue;
            }
            each.when = *again;
        }
        next = std::min(next, each.when);
        entries_.push_back(std::move(each));
    }
    if (next < set_for_) {
        wait(std::max(next, now + least_pause));
    }
}

} // namespace colock::detail
