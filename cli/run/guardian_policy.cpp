#include "run/guardian_policy.hpp"

#include <algorithm>
#include <utility>

namespace colock::cli {

void guardian_policy::end(time now) noexcept
{
    if (std::holds_alternative<running>(stage_)) {
        stage_ = ending{now + terms_.grace};
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
    return std::holds_alternative<killing>(stage_) ? order::kill : order::nothing;
}

guardian_policy::time guardian_policy::next_step(time now, time bound) const noexcept
{
    if (const auto* const e = std::get_if<ending>(&stage_)) {
        return kill_at(*e, bound);
    }
    // A process may have been forked behind the last look.
    constexpr auto between_kills = std::chrono::milliseconds{10};
    return std::holds_alternative<killing>(stage_) ? now + between_kills : bound;
}

} // namespace colock::cli
