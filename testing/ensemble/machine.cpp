#include "machine.hpp"

#include <utility>

namespace colock::simulated {

namespace {

constexpr std::int64_t million = 1'000'000;

// In two parts: the product of a long time and the drift would not fit.
std::int64_t gained(std::int64_t time, std::int64_t drift) noexcept
{
    return time / million * drift + time % million * drift / million;
}

} // namespace

machine::machine(timeline& time, std::string name, int drift, std::chrono::nanoseconds up)
    : time_{time}, name_{std::move(name)}, number_{time.count_machine()}, computer_{number_},
      drift_{drift}, up_{up}
{
}

machine::machine(const machine* beside)
    : time_{beside->time_}, name_{beside->name_}, number_{time_.count_machine()},
      computer_{beside->computer_}, drift_{beside->drift_}, up_{beside->up_}, slept_{beside->slept_}
{
}

std::chrono::nanoseconds machine::clock() const noexcept
{
    // It is looked at several times in an instant.
    if (const auto now = time_.now().count(); now != looked_at_) {
        looked_at_ = now;
        const auto shown = now + gained(now, drift_) + up_.count();
        shown_ = std::chrono::nanoseconds{shown - shown % 1000};
    }
    return shown_;
}

instant machine::when(std::chrono::nanoseconds clock) const noexcept
{
    // Whole microseconds are shown: one that has only begun is not shown yet.
    const auto wanted = (clock.count() + 999) / 1000 * 1000 - up_.count();
    if (drift_ == 0) {
        return instant{wanted};
    }
    const auto second = million + drift_;
    auto at = wanted / second * million + wanted % second * million / second;
    while (at + gained(at, drift_) < wanted) {
        ++at;
    }
    while (at > 0 && at - 1 + gained(at - 1, drift_) >= wanted) {
        --at;
    }
    return instant{at};
}

void machine::suspend() noexcept
{
    stop();
    if (asleep_since_.count() == -1) {
        asleep_since_ = clock();
    }
}

void machine::wake() noexcept
{
    stopped_ = false;
    if (const auto since = std::exchange(asleep_since_, std::chrono::nanoseconds{-1});
        since.count() != -1) {
        slept_ += clock() - since;
    }
}

void machine::go_on()
{
    wake();
    if (waiting_.empty()) {
        return;
    }
    // All of it before the process looks: this is how the kernel shows it.
    auto all = [this] {
        const auto process = process_;
        while (process == process_ && !stopped_ && !waiting_.empty()) {
            auto what = waiting_.pop();
            try {
                what();
            } catch (...) {
                // Else the rest would wait until somebody resumes the process once more.
                time_.at(time_.now(), [this, process] {
                    if (process == process_ && !stopped_) {
                        go_on();
                    }
                });
                throw;
            }
        }
    };
    perform(all);
}

void machine::kill()
{
    if (!alive_) {
        return;
    }
    alive_ = false;
    wake();
    ++process_;
    const auto dropped = std::exchange(waiting_, {});
    for (const auto& told : std::exchange(on_kill_, {})) {
        told();
    }
}

void machine::start()
{
    alive_ = true;
    wake();
}

timeline::event_id machine::after(std::chrono::nanoseconds delay, action what)
{
    return time_.at(when(clock() + delay),
                    [this, process = process_, what = std::move(what)]() mutable {
                        if (process == process_) {
                            run(std::move(what));
                        }
                    });
}

} // namespace colock::simulated
