#include "nest.hpp"

#include "lock_path.hpp"
#include "queue_member.hpp"

#include <algorithm>
#include <utility>

namespace colock::detail {

nest::nest(const lock_path& path) : core_{path.core}, path_{path.path}
{
}

bool nest::is_of(const lock_path& path) const
{
    return core_ == path.core && path_ == path.path;
}

grant nest::begin(grant held)
{
    const std::lock_guard lock{mutex_};
    held_ = held;
    levels_ = {true};
    return held;
}

nest::entry nest::enter(const std::shared_ptr<nest>& self)
{
    const std::lock_guard lock{self->mutex_};
    if (self->over_) {
        return {};
    }
    if (!self->held_.member) {
        return {{}, errc::owner_waits};
    }
    if (const auto why = self->held_.member->lost()) {
        return {{}, why};
    }
    auto held = self->held_;
    held.nest = self;
    held.level = self->levels_.size();
    self->levels_.push_back(true);
    return {std::move(held), {}};
}

nest::departure nest::leave(std::size_t level) noexcept
{
    const std::lock_guard lock{mutex_};
    const bool in_order = level + 1 == levels_.size();
    levels_[level] = false;
    while (!levels_.empty() && !levels_.back()) {
        levels_.pop_back();
    }
    over_ = levels_.empty();
    if (over_) {
        held_.member.reset();
    }
    return {in_order, over_};
}

std::size_t nest::depth() const noexcept
{
    const std::lock_guard lock{mutex_};
    return static_cast<std::size_t>(std::ranges::count(levels_, true));
}

bool nest::is_over() const noexcept
{
    const std::lock_guard lock{mutex_};
    return over_;
}

std::shared_ptr<nest> owner_state::find(const lock_path& path)
{
    std::erase_if(nests_, [](const auto& n) { return n.expired(); });
    for (const auto& each : nests_) {
        if (auto found = each.lock(); found && found->is_of(path) && !found->is_over()) {
            return found;
        }
    }
    return nullptr;
}

std::shared_ptr<nest> owner_state::add(const lock_path& path)
{
    auto added = std::make_shared<nest>(path);
    nests_.push_back(added);
    return added;
}

} // namespace colock::detail
