#include "machine.hpp"

#include <utility>

namespace world {

namespace {

constexpr std::int64_t million = 1'000'000;

} // namespace

machine::machine(timeline& time, std::string name, int drift)
    : time_{time}, name_{std::move(name)}, drift_{drift}
{
}

std::chrono::nanoseconds machine::clock() const noexcept
{
    const auto now = time_.now().count();
    // In two parts: the product of a long time and the drift would not fit.
    return std::chrono::nanoseconds{now + now / million * drift_ + now % million * drift_ / million};
}

// The first instant at which the clock shows it.
instant machine::when(std::chrono::nanoseconds clock) const noexcept
{
    const auto shown = clock.count();
    auto at = shown - shown / (million + drift_) * drift_;
    const auto shows = [this](std::int64_t t) {
        return t + t / million * drift_ + t % million * drift_ / million;
    };
    while (shows(at) < shown) {
        ++at;
    }
    while (at > 0 && shows(at - 1) >= shown) {
        --at;
    }
    return instant{at};
}

void machine::go_on()
{
    stopped_ = false;
    while (is_running() && !waiting_.empty()) {
        const auto what = std::move(waiting_.front());
        waiting_.pop_front();
        what();
    }
}

void machine::kill()
{
    if (!alive_) {
        return;
    }
    alive_ = false;
    stopped_ = false;
    ++process_;
    const auto dropped = std::exchange(waiting_, {});
    for (const auto& told : std::exchange(on_kill_, {})) {
        told();
    }
}

void machine::start()
{
    alive_ = true;
    stopped_ = false;
}

void machine::run(std::function<void()> what)
{
    if (!alive_) {
        return;
    }
    if (stopped_ || !waiting_.empty()) {
        waiting_.push_back(std::move(what));
    } else {
        what();
    }
}

timeline::event_id machine::after(std::chrono::nanoseconds delay, std::function<void()> what)
{
    return time_.at(when(clock() + delay), [this, process = process_, what = std::move(what)] {
        if (process == process_) {
            run(what);
        }
    });
}

} // namespace world
