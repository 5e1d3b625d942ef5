#include "access_changes.hpp"

#include <colock/client_options.hpp>

#include <algorithm>

namespace world {

using namespace std::chrono_literals;
using namespace colock;

void access_changes::begin()
{
    plan_next();
}

void access_changes::plan_next()
{
    time_.after(random_.between(50ms, 1s), [this] {
        for (const auto& each : directories_) {
            look(each);
        }
        plan_next();
    });
}

void access_changes::look(const directory& d)
{
    const auto* const now = servers_.decided().find(d.path);
    if (now == nullptr) {
        return;
    }
    if (*now->acl != open_acl()) {
        if (over_ || random_.per_mille(300)) {
            set(d, open_acl());
        }
    } else if (!over_ && random_.per_mille(100)) {
        set(d, some_list(d.watched));
    }
}

void access_changes::set(const directory& d, const access_control_list& acl)
{
    journal_.note(check::deed::by_hand, name_, acl.front().permissions,
                  [&] { return "the access control list of " + d.path; });
    servers_.set_acl_by_hand(d.path, acl);
}

access_control_list access_changes::some_list(bool watched)
{
    std::vector<access_control_list> lists{
        {{permission_all & ~permission_create, "world", "anyone"}},
        {{permission_all & ~permission_write, "world", "anyone"}},
        {{permission_all & ~(permission_create | permission_write), "world", "anyone"}},
    };
    if (!watched) {
        lists.push_back({{permission_all & ~permission_read, "world", "anyone"}});
    }
    if (takes_delete_) {
        lists.push_back({{permission_all & ~permission_delete, "world", "anyone"}});
        lists.push_back({{permission_read, "world", "anyone"}});
        if (!watched) {
            lists.push_back({{permission_all, "digest", "operator:x"}});
        }
    }
    return random_.pick(lists);
}

bool access_changes::tidy(std::chrono::nanoseconds limit, const std::set<std::int64_t>& of_sessions)
{
    bool removed = false;
    const auto look = [&](const check::queues::contender& c, instant since) {
        if (of_sessions.contains(c.session) && time_.now() - since >= limit &&
            !holds_.is_held(c.path)) {
            servers_.remove_by_hand(c.path);
            removed = true;
        }
    };
    for (std::size_t i = 0; i != queues_.size(); ++i) {
        if (queues_.of(i).type == check::queues::kind::leases) {
            for (std::size_t k = 0; k != queues_.count(i); ++k) {
                look(*queues_.at(i, k), queues_.at(i, k)->since);
            }
        } else if (const auto* const first = queues_.at(i, 0)) {
            look(*first, queues_.moved(i));
        }
    }
    return removed;
}

} // namespace world
