#include "run/guardian_policy.hpp"

#include <algorithm>
#include <utility>

namespace colock::cli {

namespace {

// A process may have been forked after the last look. What is still there after a second cannot be killed, such as a process
// of another user; a look at all processes of a large machine takes as long as the short pauses.
constexpr auto between_kills = std::chrono::milliseconds{10};
constexpr auto quick_for = std::chrono::seconds{1};
constexpr auto between_late_kills = std::chrono::milliseconds{250};

} // namespace

void guardian_policy::end(time now) noexcept
{
    if (std::holds_alternative<running>(stage_)) {
        stage_ = ending{now + terms_.grace};
    }
}

void guardian_policy::lost() noexcept
{
    if (!std::holds_alternative<killing>(stage_)) {
        stage_ = killing{};
    }
}

guardian_policy::time guardian_policy::kill_at(const ending& e, time bound) const noexcept
{
    return std::min(e.kill_at, bound + terms_.margin - ending_terms::for_sigkill);
}

guardian_policy::order guardian_policy::step(time now, time bound) noexcept
{
    if (now >= bound) {
        end(now);
    }
    if (auto* const e = std::get_if<ending>(&stage_)) {
        if (now < kill_at(*e, bound)) {
            return std::exchange(e->terminated, true) ? order::nothing : order::terminate;
        }
        stage_ = killing{};
    }
    if (auto* const k = std::get_if<killing>(&stage_)) {
        k->since = k->since.value_or(now);
        return order::kill;
    }
    return order::nothing;
}

guardian_policy::time guardian_policy::next_step(time now, time bound) const noexcept
{
    if (const auto* const e = std::get_if<ending>(&stage_)) {
        return kill_at(*e, bound);
    }
    if (const auto* const k = std::get_if<killing>(&stage_)) {
        return now +
               (now < k->since.value_or(now) + quick_for ? between_kills : between_late_kills);
    }
    return bound;
}

} // namespace colock::cli
