// What the locks of one path share, by path.
#pragma once

#include <colock/fwd.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace colock::detail {

struct lock_kind; // names/kinds.hpp

class path_entry {
public:
    virtual ~path_entry() = default;
    // Of all those locks. It tells which class the entry has, also to those who compile without run-time type information.
    [[nodiscard]] virtual const lock_kind& kind() const noexcept = 0;
    [[nodiscard]] virtual const lock_options& options() const noexcept = 0;
    // As session_listener::discarded().
    virtual void discarded() noexcept {}
};

// Any thread. Those who use an entry own it.
class path_table {
public:
    using entry = std::shared_ptr<path_entry>;

    // The entry in use at this path, or what `make` returns.
    [[nodiscard]] entry find(const std::string& path, const std::function<entry()>& make)
    {
        const std::lock_guard lock{mutex_};
        auto& known = entries_[path];
        auto found = known.lock();
        if (!found) {
            known = found = make();
        }
        return found;
    }
    // Nobody uses it any more.
    void forget(const std::string& path) noexcept
    {
        const std::lock_guard lock{mutex_};
        const auto at = entries_.find(path);
        if (at != entries_.end() && at->second.expired()) { // not the next one's already
            entries_.erase(at);
        }
    }
    [[nodiscard]] std::vector<entry> all()
    {
        const std::lock_guard lock{mutex_};
        std::vector<entry> used;
        for (const auto& [path, each] : entries_) {
            if (auto found = each.lock()) {
                used.push_back(std::move(found));
            }
        }
        return used;
    }

private:
    std::mutex mutex_;
    std::unordered_map<std::string, std::weak_ptr<path_entry>> entries_;
};

} // namespace colock::detail
