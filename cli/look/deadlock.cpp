#include "look/deadlock.hpp"

#include <colock/log.hpp>

#include "look/words.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <span>

namespace colock::cli {

namespace {

struct contender_node {
    contender_ref ref;
    owner_info owner;
    std::vector<std::size_t> waits_for; // indices
};

bool same_process(const contender_node& a, const contender_node& b)
{
    if (has_session(*a.ref.entry) && a.ref.entry->session == b.ref.entry->session) {
        return true;
    }
    return a.owner.host && a.owner.host == b.owner.host && a.owner.pid == b.owner.pid;
}

bool waits_for(const contender_node& a, const contender_node& b)
{
    const auto& x = *a.ref.entry;
    const auto& y = *b.ref.entry;
    if (&x == &y) {
        return false;
    }
    if (!x.holds) {
        // The entries of a queue are in their order, in one block of memory.
        const bool before = a.ref.lock == b.ref.lock && &y < &x;
        return before && !(x.shared && y.shared) &&
               (a.ref.lock->what != &kinds::semaphore || a.ref.lock->queue.holders().size() == 1);
    }
    if (b.owner.under && *b.owner.under == x.path) {
        return true;
    }
    return !y.holds && a.ref.lock != b.ref.lock && same_process(a, b);
}

// The queue in `locks` below a semaphore: its contenders are waiters of the semaphore, too.
bool is_part_of_semaphore(const seen_lock& lock, const std::vector<seen_lock>& all)
{
    return std::ranges::any_of(all, [&](const seen_lock& other) {
        return other.what == &kinds::semaphore && lock.path == child_of(other.path, "locks");
    });
}

// A waiter of a semaphore that several hold: each of them may let it in.
bool has_a_choice(const contender_node& a)
{
    const auto& lock = *a.ref.lock;
    return !a.ref.entry->holds && lock.what == &kinds::semaphore && lock.queue.holders().size() > 1;
}

// Indices; empty when one of the holders is not known, or not all permits are held.
std::vector<std::size_t> all_holders(const std::vector<contender_node>& all, const seen_lock& lock)
{
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (all[i].ref.lock == &lock && all[i].ref.entry->holds) {
            found.push_back(i);
        }
    }
    const auto held = lock.queue.holders().size();
    const bool is_full = !lock.permits || static_cast<std::int64_t>(held) >= *lock.permits;
    return is_full && found.size() == held ? found : std::vector<std::size_t>{};
}

// Who has a choice waits for the holders only when none of them can ever go on.
void add_choices(std::vector<contender_node>& all)
{
    std::vector<bool> goes_on(all.size());
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t i = 0; i != all.size(); ++i) {
            if (goes_on[i]) {
                continue;
            }
            const auto does = [&](std::size_t other) { return goes_on[other]; };
            if (has_a_choice(all[i])) {
                const auto holders = all_holders(all, *all[i].ref.lock);
                goes_on[i] = holders.empty() || std::ranges::any_of(holders, does);
            } else {
                goes_on[i] = std::ranges::all_of(all[i].waits_for, does);
            }
            changed = changed || goes_on[i];
        }
    }
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (has_a_choice(all[i]) && !goes_on[i]) {
            all[i].waits_for = all_holders(all, *all[i].ref.lock);
        }
    }
}

std::vector<contender_node> graph_of(const std::vector<seen_lock>& locks)
{
    std::vector<contender_node> all;
    for (const auto& lock : locks) {
        if (is_part_of_semaphore(lock, locks)) {
            continue;
        }
        for (const auto& entry : lock.queue.entries) {
            if (!entry.unread && !entry.unreadable) {
                all.push_back({{&lock, &entry}, entry.owner(), {}});
            }
        }
    }
    for (auto& a : all) {
        for (std::size_t i = 0; i != all.size(); ++i) {
            if (waits_for(a, all[i])) {
                a.waits_for.push_back(i);
            }
        }
    }
    add_choices(all);
    return all;
}

// The shortest way from the start back to it.
std::vector<std::size_t> circle_from(const std::vector<contender_node>& all, std::size_t start)
{
    std::vector<std::optional<std::size_t>> reached_from(all.size());
    std::deque<std::size_t> next{start};
    while (!next.empty()) {
        const auto at = next.front();
        next.pop_front();
        for (const auto to : all[at].waits_for) {
            if (to == start) {
                std::vector<std::size_t> way{at};
                while (way.back() != start) {
                    way.push_back(*reached_from[way.back()]);
                }
                std::ranges::reverse(way);
                return way;
            }
            if (!reached_from[to]) {
                reached_from[to] = at;
                next.push_back(to);
            }
        }
    }
    return {};
}

// For whom contenders of these locks wait, themselves included.
std::vector<bool> reached_from_locks(const std::vector<contender_node>& all,
                                     std::span<const seen_lock> locks)
{
    std::vector<bool> reached(all.size());
    std::deque<std::size_t> next;
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (std::ranges::any_of(locks, [&](const seen_lock& l) { return &l == all[i].ref.lock; })) {
            reached[i] = true;
            next.push_back(i);
        }
    }
    for (; !next.empty(); next.pop_front()) {
        for (const auto to : all[next.front()].waits_for) {
            if (!reached[to]) {
                reached[to] = true;
                next.push_back(to);
            }
        }
    }
    return reached;
}

} // namespace

std::vector<contender_ref> find_deadlock(const std::vector<seen_lock>& locks, std::size_t asked_for)
{
    const auto all = graph_of(locks);
    const auto concerned = reached_from_locks(all, {locks.data(), asked_for});
    std::vector<std::size_t> best;
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (!concerned[i] || !all[i].ref.entry->holds) {
            continue; // every circle has a holder, with whom its words begin
        }
        const auto circle = circle_from(all, i);
        if (!circle.empty() && (best.empty() || circle.size() < best.size())) {
            best = circle;
        }
    }
    std::vector<contender_ref> found;
    for (const auto i : best) {
        found.push_back(all[i].ref);
    }
    return found;
}

std::string deadlock_words(const std::vector<contender_ref>& circle)
{
    std::string text;
    for (std::size_t i = 0; i != circle.size(); ++i) {
        const auto& [lock, entry] = circle[i];
        const auto path = printable(lock->path);
        const auto& before = circle[(i + circle.size() - 1) % circle.size()];
        const bool began = i != 0 && before.entry->holds && lock != before.lock;
        const bool started = entry->owner().under == before.entry->path && before.entry->holds;
        if (entry->holds) {
            text += (i == 0    ? ""
                     : started ? " and has started "
                               : "; ") +
                    who(*entry) + " holds " + path;
        } else if (started && i != 0) {
            text += " and has started " + who(*entry) + ", which waits for " + path;
        } else if (began) {
            text += " and waits for " + path;
        } else {
            text += "; " + who(*entry) + " waits for " + path + " before it";
        }
    }
    return text;
}

} // namespace colock::cli
