#include "rendezvous.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace world::check {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view phase_mark = "phase-";
constexpr std::string_view waiting_mark = "arrival-";
constexpr std::string_view counted_mark = "counted-";

// In the calm something is done about it sooner.
constexpr auto bound = 3s;

std::uint64_t number_after(std::string_view mark, std::string_view name)
{
    std::uint64_t n = 0;
    std::from_chars(name.data() + mark.size(), name.data() + name.size(), n);
    return n;
}

// True when it has been so for long, once.
bool lasts(std::optional<instant>& since, bool is, instant now)
{
    if (!is) {
        since.reset();
        return false;
    }
    if (!since) {
        since = now;
    }
    const bool long_enough = now - *since > bound;
    if (long_enough) {
        since = now;
    }
    return long_enough;
}

} // namespace

// ---- programs

std::string rendezvous::present_latch() const
{
    for (std::size_t i = 0;; ++i) {
        auto path = what_.latches + "/" + std::to_string(i);
        const auto at = places_.find(path);
        if (at == places_.end() || at->second.phase.value_or(0) == 0) {
            return path;
        }
    }
}

bool rendezvous::has_begun() const
{
    const auto at = places_.find(what_.barrier);
    return at != places_.end() && at->second.has_begun;
}

rendezvous::number rendezvous::begins(part p)
{
    journal_.note(deed::remark, p.who, 0, [&] {
        return (p.what == role::wait         ? "waits at "
                : p.what == role::count_down ? "counts down at "
                                             : "arrives at ") +
               p.at;
    });
    if (p.what == role::count_down) {
        ++places_[p.at].begun;
    }
    taking_part added{std::move(p)};
    added.sessions.insert(added.session());
    parts_.emplace(++last_, std::move(added));
    return last_;
}

void rendezvous::passes(number n, std::uint64_t phase)
{
    const auto at = parts_.find(n);
    if (at == parts_.end()) {
        return;
    }
    const auto& p = at->second;
    auto& d = places_[p.at];
    journal_.note(deed::remark, p.who, static_cast<std::int64_t>(phase),
                  [&] { return "goes on from " + p.at + ", phase " + std::to_string(phase); });
    if (p.what == role::count_down) {
        ++d.done;
        const auto counted = std::ranges::count_if(
            d.arrivals, [](const auto& each) { return each.second.session == 0; });
        if (d.phase.value_or(0) == 0 && static_cast<std::size_t>(counted) + d.taken_out < d.done) {
            found_.add("rendezvous counted", journal_.name_of(p.who) + " has counted down at " +
                                                 p.at + ", but the servers have " +
                                                 std::to_string(counted) + " of " +
                                                 std::to_string(d.done));
        }
    } else if (d.phase.value_or(0) <= phase) {
        found_.add("rendezvous early", journal_.name_of(p.who) + " goes on from " + p.at +
                                           " before phase " + std::to_string(phase) + " is over");
    }
    parts_.erase(at);
}

void rendezvous::ends(number n)
{
    if (const auto at = parts_.find(n); at != parts_.end()) {
        journal_.note(deed::remark, at->second.who, 1,
                      [&] { return "leaves " + at->second.at + " before"; });
        end(at->second);
    }
}

// Its node may still come, for the phase that is under way now at the latest.
void rendezvous::end(taking_part& p)
{
    p.sessions.insert(p.session());
    p.until = places_[p.at].phase.value_or(0);
    p.session = nullptr;
}

void rendezvous::process_over(const life& of)
{
    for (auto& [n, p] : parts_) {
        if (p.owner.get() == &of) {
            if (p.is_under_way()) {
                end(p);
            }
            p.is_dead = true;
        }
    }
}

void rendezvous::told_open(journal::actor who, const std::string& latch)
{
    if (places_[latch].phase.value_or(0) == 0) {
        found_.add("rendezvous early",
                   journal_.name_of(who) + " is told that " + latch + " is open");
    }
}

void rendezvous::told_phase(journal::actor who, std::uint64_t phase)
{
    if (places_[what_.barrier].phase.value_or(0) < phase) {
        found_.add("rendezvous early",
                   journal_.name_of(who) + " is told of phase " + std::to_string(phase));
    }
}

// ---- the ensemble

void rendezvous::committed(const transaction& t)
{
    if (what_.latches.empty() || !t.is_carried_out()) {
        return;
    }
    std::map<std::string, arrivals> removed; // by this transaction
    for (const auto& c : t.changes) {
        const auto slash = c.path.rfind('/');
        const auto path = c.path.substr(0, slash);
        if (path != what_.barrier && !path.starts_with(what_.latches + "/")) {
            continue;
        }
        const auto name = c.path.substr(slash + 1);
        if (c.what == change::kind::create) {
            created(path, name, c, removed[path]);
        } else if (c.what == change::kind::remove) {
            auto& d = places_[path];
            if (const auto at = d.arrivals.find(name); at != d.arrivals.end()) {
                removed[path].push_back(at->second);
                d.arrivals.erase(at);
            }
        }
    }
    for (auto& [path, gone] : removed) {
        auto& d = places_[path];
        d.taken_out += static_cast<std::size_t>(std::ranges::count_if(
            gone, [&](const auto& each) { return each.session == 0 && each.phase == d.phase; }));
    }
}

void rendezvous::created(const std::string& path, std::string_view name, const change& c,
                         const arrivals& removed)
{
    auto& d = places_[path];
    const bool waits = name.starts_with(waiting_mark);
    if (name.starts_with(phase_mark)) {
        phase_begins(path, number_after(phase_mark, name), removed);
    } else if (waits || name.starts_with(counted_mark)) {
        d.arrivals[std::string{name}] = {number_after(waits ? waiting_mark : counted_mark, name),
                                         c.owner};
        for (auto& [n, p] : parts_) {
            if (waits && p.is_under_way() && p.at == path && p.session() == c.owner) {
                p.sessions.insert(c.owner);
            }
        }
        const auto counted = static_cast<std::size_t>(std::ranges::count_if(
            d.arrivals, [](const auto& each) { return each.second.session == 0; }));
        if (counted > d.begun) {
            found_.add("rendezvous counted", path + " has " + std::to_string(counted) +
                                                 " that are counted, of " +
                                                 std::to_string(d.begun));
        }
    } else {
        d.has_begun = true;
    }
}

void rendezvous::phase_begins(const std::string& path, std::uint64_t phase, const arrivals& removed)
{
    auto& d = places_[path];
    const auto before = std::exchange(d.phase, phase);
    journal_.note(deed::node_changed, 0, static_cast<std::int64_t>(phase),
                  [&] { return path + " begins phase " + std::to_string(phase); });
    if (before ? phase != *before + 1 : phase != 0) {
        found_.add("rendezvous count", path + " begins phase " + std::to_string(phase) + " after " +
                                           (before ? std::to_string(*before) : "none"));
        return;
    }
    if (!before) {
        return;
    }
    std::map<std::int64_t, std::size_t> by_session;
    std::size_t there = 0;
    for (const auto& each : removed) {
        if (each.phase == *before) {
            ++there;
            ++by_session[each.session];
        }
    }
    if (there < what_.count) {
        found_.add("rendezvous count", "phase " + std::to_string(*before) + " of " + path +
                                           " ends with " + std::to_string(there) + " of " +
                                           std::to_string(what_.count));
    }
    for (const auto& [session, count] : by_session) {
        if (session != 0 && count > makers_of(session, path, *before)) {
            found_.add("rendezvous count", "phase " + std::to_string(*before) + " of " + path +
                                               " ends with " + std::to_string(count) +
                                               " arrivals of session " + std::to_string(session) +
                                               ", in which fewer have arrived");
        }
    }
}

// Those who may have made an arrival in this phase.
std::size_t rendezvous::makers_of(std::int64_t session, const std::string& path,
                                  std::uint64_t phase) const
{
    return static_cast<std::size_t>(std::ranges::count_if(parts_, [&](const auto& each) {
        const auto& p = each.second;
        return p.at == path && p.sessions.contains(session) && p.until.value_or(phase) >= phase;
    }));
}

// ---- the calm

void rendezvous::look()
{
    if (what_.latches.empty() || !calm_) {
        return;
    }
    for (auto& [path, d] : places_) {
        look_at_directory(path, d);
    }
    for (auto& [n, p] : parts_) {
        if (p.is_under_way()) {
            look_at_part(p);
        }
    }
}

void rendezvous::look_at_directory(const std::string& path, directory& d)
{
    const auto now = time_.now();
    const auto there = std::ranges::count_if(
        d.arrivals, [&](const auto& each) { return each.second.phase == d.phase; });
    if (lasts(d.full, static_cast<std::size_t>(there) >= what_.count, now)) {
        found_.add("rendezvous late", "phase " + std::to_string(d.phase.value_or(0)) + " of " +
                                          path + " does not end, though all have arrived");
    }
    for (auto& [name, made] : d.arrivals) {
        // Who was killed counts until its session expires.
        const bool is_known =
            made.session == 0 || std::ranges::any_of(parts_, [&, &a = made](const auto& each) {
                const auto& p = each.second;
                return p.at == path && p.sessions.contains(a.session) &&
                       (p.is_dead || (p.is_under_way() && a.phase == d.phase));
            });
        if (lasts(made.lonely, !is_known, now)) {
            found_.add("rendezvous left", path + "/" + name + " of session " +
                                              std::to_string(made.session) +
                                              " is there, and nobody waits");
        }
    }
}

void rendezvous::look_at_part(taking_part& p)
{
    const auto& d = places_[p.at];
    const auto session = p.session();
    const bool has_node = std::ranges::any_of(d.arrivals, [&](const auto& each) {
        return each.second.session == session && each.second.phase == d.phase;
    });
    const bool is_late = p.what == role::wait ? d.phase.value_or(0) > 0 : session != 0 && !has_node;
    if (lasts(p.late, is_late, time_.now())) {
        found_.add("rendezvous late",
                   journal_.name_of(p.who) + (p.what == role::wait ? " waits at " : " is at ") +
                       p.at + ", phase " + std::to_string(d.phase.value_or(0)) +
                       (p.what == role::wait ? ", which is open"
                                             : ", and neither goes on nor has a node there"));
    }
}

} // namespace world::check
