#include "queue/predecessors.hpp"

#include <utility>

namespace colock::protocol::queue {

void predecessors::update(const blockers& shown, commands& out)
{
    count_ = shown.count;
    const auto next_in_line = shown.nearest != nullptr ? shown.nearest->name : std::string_view{};
    const auto look_ahead = shown.ahead != nullptr ? shown.ahead->name : std::string_view{};
    // The next-in-line may have been the look-ahead, or the other way round.
    if (next_in_line != next_in_line_.name() &&
        (next_in_line == look_ahead_.name() || look_ahead == next_in_line_.name())) {
        std::swap(next_in_line_, look_ahead_);
    }
    for (const auto& [watched, name] :
         {std::pair{&next_in_line_, next_in_line}, std::pair{&look_ahead_, look_ahead}}) {
        if (watched->name() == name) {
            continue;
        }
        watched->drop(out);
        if (!name.empty()) {
            watched->arm(name, out);
        }
    }
}

void predecessors::drop(commands& out)
{
    next_in_line_.drop(out);
    look_ahead_.drop(out);
}

void predecessors::departed(const watched_node& gone) noexcept
{
    if (*count_ != 0) { // where two may hold the lock, one of those who do not block may go
        --*count_;
    }
    if (&gone == &look_ahead_) {
        look_ahead_.forget();
    } else {
        next_in_line_ = std::exchange(look_ahead_, {});
    }
}

watched_node* predecessors::find(std::string_view name) noexcept
{
    return next_in_line_.is(name) ? &next_in_line_ : look_ahead_.is(name) ? &look_ahead_ : nullptr;
}

} // namespace colock::protocol::queue
