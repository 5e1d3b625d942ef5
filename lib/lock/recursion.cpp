#include "lock/recursion.hpp"

#include <colock/recursive_mutex.hpp>

#include "lock/lock_path.hpp"
#include "queue/contender_driver.hpp"

#include <algorithm>
#include <utility>

namespace colock {

lock_owner::lock_owner() : face_of{std::make_shared<detail::owner_state>()}
{
}

namespace detail {

recursion::recursion(const lock_path& path) : core_{path.core}, path_{path.path()}
{
}

bool recursion::is_of(const lock_path& path) const
{
    return core_ == path.core && path_ == path.path();
}

void recursion::begin(const std::shared_ptr<recursion>& self, grant& held)
{
    held.level = std::make_unique<recursion_level>(recursion_level{self, 0});
    const std::lock_guard lock{self->mutex_};
    self->driver_ = held.driver;
    self->turn_ = held.turn;
    self->levels_ = {true};
}

recursion::entry recursion::enter(const std::shared_ptr<recursion>& self)
{
    const std::lock_guard lock{self->mutex_};
    if (self->over_) {
        return {};
    }
    if (!self->driver_) {
        return {{}, errc::owner_waits};
    }
    if (const auto why = self->driver_->lost()) {
        return {{}, why};
    }
    auto level = std::make_unique<recursion_level>(recursion_level{self, self->levels_.size()});
    self->levels_.push_back(true);
    return {{self->driver_, self->turn_, std::move(level)}, {}};
}

recursion::departure recursion::leave(std::unique_ptr<recursion_level> from) noexcept
{
    recursion& self = *from->recursion;
    const std::lock_guard lock{self.mutex_};
    auto& levels = self.levels_;
    const bool in_order = from->level + 1 == levels.size();
    levels[from->level] = false;
    while (!levels.empty() && !levels.back()) {
        levels.pop_back();
    }
    self.over_ = levels.empty();
    if (self.over_) {
        self.driver_.reset();
    }
    return {in_order, self.over_};
}

std::size_t recursion::depth() const noexcept
{
    const std::lock_guard lock{mutex_};
    return static_cast<std::size_t>(std::ranges::count(levels_, true));
}

bool recursion::is_over() const noexcept
{
    const std::lock_guard lock{mutex_};
    return over_;
}

std::shared_ptr<recursion> owner_state::find(const lock_path& path)
{
    std::erase_if(recursions_, [](const auto& n) { return n.expired(); });
    for (const auto& each : recursions_) {
        if (auto found = each.lock(); found && found->is_of(path) && !found->is_over()) {
            return found;
        }
    }
    return nullptr;
}

std::shared_ptr<recursion> owner_state::add(const lock_path& path)
{
    auto added = std::make_shared<recursion>(path);
    recursions_.push_back(added);
    return added;
}

} // namespace detail

} // namespace colock
