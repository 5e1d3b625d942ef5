#include "predecessors.hpp"

#include <ostream>
#include <utility>

namespace colock::protocol::queue {

void predecessors::update(const blockers& shown, commands& out)
{
    count_ = shown.count;
    watch(shown.nearest != nullptr ? shown.nearest->name : std::string_view{},
          shown.ahead != nullptr ? shown.ahead->name : std::string_view{}, out);
}

void predecessors::watch_only(const std::string& name, commands& out)
{
    watch(name, {}, out);
}

void predecessors::drop(commands& out)
{
    nearest_.drop(out);
    ahead_.drop(out);
}

void predecessors::watch(std::string_view nearest, std::string_view ahead, commands& out)
{
    // The nearest one may have been the one ahead, or the other way round.
    if (nearest != nearest_.name() && (nearest == ahead_.name() || ahead == nearest_.name())) {
        std::swap(nearest_, ahead_);
    }
    for (const auto& [watched, name] : {std::pair{&nearest_, nearest}, std::pair{&ahead_, ahead}}) {
        if (watched->name() == name) {
            continue;
        }
        watched->drop(out);
        if (!name.empty()) {
            watched->arm(std::string{name}, out);
        }
    }
}

void predecessors::departed(bool was_ahead) noexcept
{
    --count_;
    if (was_ahead) {
        ahead_.forget();
    } else {
        nearest_ = std::exchange(ahead_, {});
    }
}

watched_node* predecessors::find(std::string_view name) noexcept
{
    return nearest_.is(name) ? &nearest_ : ahead_.is(name) ? &ahead_ : nullptr;
}

std::ostream& operator<<(std::ostream& text, const predecessors& p)
{
    return text << p.count_ << ' ' << p.nearest_ << p.ahead_;
}

} // namespace colock::protocol::queue
