#include "watches.hpp"

#include <utility>

namespace world::check {

std::uint64_t watches::begun(watch w)
{
    const auto n = ++last_;
    journal_.note(deed::remark, w.who, static_cast<std::int64_t>(n),
                  [&] { return "watches " + w.path; });
    active_.emplace(n, active{std::move(w), {}});
    return n;
}

void watches::fired(std::uint64_t number)
{
    const auto it = active_.find(number);
    if (it == active_.end()) {
        return;
    }
    const auto& w = it->second.what;
    journal_.note(deed::remark, w.who, static_cast<std::int64_t>(number),
                  [&] { return "hears of " + w.path; });
    // A node that was not there, and is not there, may have been there meanwhile.
    if (w.seen && !is_outdated(w)) {
        found_.add("watch", text_of(w) + " hears of a change, and there was none");
    }
    active_.erase(it);
}

void watches::look(std::chrono::nanoseconds limit)
{
    for (auto& [n, each] : active_) {
        if (each.what.owner->over || !is_outdated(each.what)) {
            continue;
        }
        if (!each.outdated) {
            each.outdated = time_.now();
        } else if (time_.now() - *each.outdated >= limit) {
            found_.add("watch", text_of(each.what) + " has not heard of a change");
            each.outdated = time_.now(); // tell it seldom
        }
    }
}

bool watches::is_outdated(const watch& w) const
{
    const auto* const now = servers_.decided().find(w.path);
    if (now == nullptr || !w.seen) {
        return (now != nullptr) != w.seen.has_value();
    }
    const auto stat = now->stat();
    return stat.czxid != w.seen->czxid ||
           (w.of == kind::children ? stat.pzxid != w.seen->pzxid : stat.mzxid != w.seen->mzxid);
}

std::string watches::text_of(const watch& w) const
{
    constexpr const char* kinds[] = {"the data", "the existence", "the children"};
    return journal_.name_of(w.who) + ", which watches " + kinds[static_cast<int>(w.of)] + " of " +
           w.path + ",";
}

} // namespace world::check
