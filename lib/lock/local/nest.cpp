#include "lock/local/nest.hpp"

#include "lock/driver/queue_member.hpp"
#include "lock/local/lock_path.hpp"

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

void nest::begin(const std::shared_ptr<nest>& self, grant& held)
{
    held.nested = std::make_unique<nest_level>(nest_level{self, 0});
    const std::lock_guard lock{self->mutex_};
    self->member_ = held.member;
    self->turn_ = held.turn;
    self->levels_ = {true};
}

nest::entry nest::enter(const std::shared_ptr<nest>& self)
{
    const std::lock_guard lock{self->mutex_};
    if (self->over_) {
        return {};
    }
    if (!self->member_) {
        return {{}, errc::owner_waits};
    }
    if (const auto why = self->member_->lost()) {
        return {{}, why};
    }
    auto level = std::make_unique<nest_level>(nest_level{self, self->levels_.size()});
    self->levels_.push_back(true);
    return {{self->member_, self->turn_, std::move(level)}, {}};
}

nest::departure nest::leave(std::unique_ptr<nest_level> from) noexcept
{
    nest& self = *from->nest;
    const std::lock_guard lock{self.mutex_};
    auto& levels = self.levels_;
    const bool in_order = from->level + 1 == levels.size();
    levels[from->level] = false;
    while (!levels.empty() && !levels.back()) {
        levels.pop_back();
    }
    self.over_ = levels.empty();
    if (self.over_) {
        self.member_.reset();
    }
    return {in_order, self.over_};
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
