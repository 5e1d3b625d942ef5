#include "shards.hpp"

#include "recipes/shards/assignment.hpp"

#include <algorithm>
#include <string_view>

namespace world::check {

namespace {

using namespace std::chrono_literals;

// A leader that has just heard of something is on its way to write what it has decided before.
constexpr auto news = 500ms;

std::string_view name_in(std::string_view path, std::string_view directory)
{
    return path.size() > directory.size() + 1 && path.starts_with(directory) &&
                   path[directory.size()] == '/'
               ? path.substr(directory.size() + 1)
               : std::string_view{};
}

} // namespace

void shards::add(place p)
{
    what_ = std::move(p);
    unowned_.resize(what_.locks.size());
    unassigned_.resize(what_.locks.size());
    assigned_.resize(what_.locks.size());
    table_.resize(what_.locks.size());
}

// ---- programs

shards::number shards::runs(run r)
{
    journal_.note(deed::remark, r.who, 0, [&] { return "takes part as " + r.name; });
    runs_.emplace(++last_, running{std::move(r), time_.now()});
    return last_;
}

void shards::leaves(number n)
{
    if (const auto at = runs_.find(n); at != runs_.end()) {
        journal_.note(deed::remark, at->second.who, 1,
                      [] { return std::string{"takes its leave"}; });
        at->second.leaves = true;
    }
}

void shards::over(number n)
{
    const auto at = runs_.find(n);
    if (at == runs_.end()) {
        return;
    }
    journal_.note(deed::remark, at->second.who, 2,
                  [] { return std::string{"takes part no more"}; });
    for (const auto& [other, b] : bodies_) {
        if (b.of == n) {
            found_.add("shards one body", at->second.name +
                                              " takes part no more, but its body of shard " +
                                              std::to_string(b.shard) + " goes on");
        }
    }
    runs_.erase(at);
}

shards::number shards::began(body b)
{
    const auto at = runs_.find(b.of);
    if (at == runs_.end()) {
        found_.add("shards one body", "a body of shard " + std::to_string(b.shard) +
                                          " begins when its member takes part no more");
        return 0;
    }
    const running& own = at->second;
    const auto seen = [&](const working& o) {
        return own.name + " begins the body of shard " + std::to_string(b.shard) + ", which " +
               o.name + " runs since " + text_of(o.since);
    };
    for (const auto& [other, o] : bodies_) {
        if (o.shard != b.shard) {
            continue;
        }
        if (o.of == b.of) {
            found_.add("shards one body", seen(o));
        } else if (queues_.lives(o.session) && !removed_.contains(o.node) && !o.is_lost()) {
            found_.add("shards exclusion", seen(o));
        }
    }
    journal_.note(deed::remark, own.who, b.shard,
                  [&] { return "begins the body of shard " + std::to_string(b.shard); });
    ++changes_;
    bodies_.emplace(++last_, working{std::move(b), own.name, own.who, own.owner, time_.now()});
    return last_;
}

void shards::ended(number n)
{
    const auto at = bodies_.find(n);
    if (at == bodies_.end()) {
        return;
    }
    const auto shard = at->second.shard;
    const auto& b = at->second;
    journal_.note(deed::remark, b.who, shard,
                  [&] { return "ends the body of shard " + std::to_string(shard); });
    const auto of = runs_.find(b.of);
    if (ended_ && !what_.bodies_end && of != runs_.end() && !of->second.leaves &&
        table_[shard] == b.name && time_.now() - std::max(assigned_[shard], calm_) > 1s &&
        queues_.lives(b.session) && !removed_.contains(b.node) && !b.is_lost()) {
        found_.add("shards given up", b.name + " gives up shard " + std::to_string(shard) +
                                          ", which is its own since " + text_of(assigned_[shard]));
    }
    bodies_.erase(at);
    ++changes_;
    unowned_[shard] = time_.now();
}

void shards::ended_alone(number n)
{
    const auto at = runs_.find(n);
    if (at != runs_.end() && !at->second.leaves && !what_.bodies_end) {
        found_.add("shards member", at->second.name + " takes part no more, without a reason");
    }
}

void shards::process_over(const life& of)
{
    for (const auto& [n, b] : bodies_) {
        if (b.owner.get() == &of) {
            dead_.insert(b.session);
            unowned_[b.shard] = time_.now();
        }
    }
    std::erase_if(bodies_, [&](const auto& each) { return each.second.owner.get() == &of; });
    std::erase_if(runs_, [&](const auto& each) { return each.second.owner.get() == &of; });
}

void shards::seen(journal::actor by, const std::vector<owner>& all)
{
    if (!is_stable() || what_.bodies_end) {
        return;
    }
    for (const auto& [n, b] : bodies_) {
        const auto& name = b.name;
        const auto& [holder, assigned] = all.at(b.shard);
        // It may have moved a moment ago.
        if (time_.now() - b.since > 1s && (holder != name || assigned != name)) {
            found_.add("shards owners",
                       journal_.name_of(by) + " is told that shard " + std::to_string(b.shard) +
                           " is " + holder.value_or("nobody's") + " and assigned to " +
                           assigned.value_or("nobody") + ", but " + name + " owns it");
        }
    }
}

// ---- the ensemble

void shards::committed(const transaction& t)
{
    if (what_.path.empty() || !t.is_carried_out()) {
        return;
    }
    for (const auto& c : t.changes) {
        const auto inner = name_in(c.path, what_.path);
        if (inner.empty() || c.what == change::kind::check || c.what == change::kind::set_acl) {
            continue;
        }
        if (inner == "assignment") {
            if (c.what != change::kind::remove) {
                written(c.data, t.session);
            }
        } else if (const auto name = std::string{name_in(inner, "members")}; !name.empty()) {
            if (c.what == change::kind::remove) {
                members_.erase(name);
            } else {
                auto& m = members_[name];
                if (c.what == change::kind::create) {
                    m = {.session = c.owner, .since = time_.now()};
                }
                member_written(name, c.data);
            }
            members_changed();
        } else if (c.what == change::kind::remove && t.session == 0) {
            removed_.insert(c.path);
        }
    }
}

void shards::member_written(const std::string& name, const std::string& data)
{
    constexpr std::string_view mark = "colock-member weight=";
    auto& m = members_[name];
    m.weight = 1;
    std::string_view text = data;
    if (text.starts_with(mark)) {
        m.weight = static_cast<std::uint32_t>(std::stoul(data.substr(mark.size())));
        text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    }
    m.refuses = !text.empty();
}

void shards::members_changed()
{
    changed_ = time_.now();
    moved_ = 0;
    allowed_ = least_moves();
}

// A shard that has an owner, who is still a member, goes to another one.
std::size_t shards::moves(const owners& from, const owners& to) const
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
        count += from[i] != to[i] && members_.contains(from[i]) ? 1 : 0;
    }
    return count;
}

// What members have above their parts, which are rounded up where that moves less.
std::size_t shards::least_moves() const
{
    std::uint64_t weights = 0;
    for (const auto& [name, m] : members_) {
        weights += m.weight;
    }
    const auto all = table_.size();
    std::size_t over = 0;   // the parts that are rounded down
    std::size_t keep = 0;   // one more each, at most
    std::size_t left = all; // to round up with
    for (const auto& [name, m] : members_) {
        const auto has = static_cast<std::size_t>(std::ranges::count(table_, name));
        const auto part = weights == 0 ? 0 : static_cast<std::size_t>(all * m.weight / weights);
        const bool has_rest = weights != 0 && all * m.weight % weights != 0;
        left -= part;
        over += has > part ? has - part : 0;
        keep += has > part && has_rest ? 1 : 0;
    }
    return over - std::min(weights == 0 ? 0 : left, keep);
}

bool shards::all_take_part() const
{
    return std::ranges::all_of(members_, [&](const auto& each) {
        return std::ranges::any_of(runs_,
                                   [&](const auto& r) { return r.second.name == each.first; });
    });
}

bool shards::anybody_refuses() const
{
    return std::ranges::any_of(members_, [](const auto& each) { return each.second.refuses; });
}

void shards::written(const std::string& data, std::int64_t session)
{
    journal_.note(deed::node_changed, 0, session, [&] { return "assignment: " + data; });
    const auto* const leader = queues_.at(what_.leader, 0);
    if (session != 0 && (leader == nullptr || leader->session != session)) {
        found_.add("shards leader", "session " + std::to_string(session) +
                                        " writes the assignment, and is not the leader");
    }
    const auto table = colock::protocol::shard_table_in(data);
    if (!table || table->owners.size() != table_.size()) {
        found_.add("shards leader",
                   "session " + std::to_string(session) + " writes what is no assignment: " + data);
        return;
    }
    const auto moved = moves(table_, table->owners);
    const auto before = std::exchange(table_, table->owners);
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i] != table_[i]) {
            assigned_[i] = time_.now();
        }
    }
    if (!ended_ || anybody_refuses()) {
        return;
    }
    const auto since = time_.now() - std::max(changed_, calm_);
    // It may be what was decided before. A dead member does not take its shards, and loses them to others.
    if (since < news || !all_take_part()) {
        allowed_ = moved_ + least_moves();
        return;
    }
    moved_ += moved;
    if (moved_ > allowed_) {
        found_.add("shards moves", "since " + text_of(std::max(changed_, calm_)) + " " +
                                       std::to_string(moved_) +
                                       " shards have moved from members that stay, and " +
                                       std::to_string(allowed_) + " would do: " + data);
    }
    if (moved > what_.moves_at_a_time) {
        found_.add("shards moves", std::to_string(moved) + " shards move at once: " + data);
    }
    std::size_t balancing = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
        const auto at = members_.find(before[i]);
        balancing += before[i] != table_[i] && at != members_.end() && at->second.weight != 0;
    }
    if (balancing != 0 && time_.now() - changed_ < what_.settle * 97 / 100) {
        found_.add("shards settle", "shards move " + text_of(time_.now() - changed_) +
                                        " s after the members have changed: " + data);
    }
}

// ---- the calm

void shards::calm(instant trouble_ended)
{
    ended_ = trouble_ended;
    calm_ = time_.now();
    moved_ = 0;
    allowed_ = least_moves();
    for (auto* all : {&unowned_, &unassigned_}) {
        for (auto& each : *all) {
            each = std::max(each, calm_);
        }
    }
}

void shards::look()
{
    if (what_.path.empty()) {
        return;
    }
    look_at_members();
    look_whether_assigned();
    look_whether_owned();
    look_whether_even();
}

// Whoever takes part for long is a member, and nobody else is.
void shards::look_at_members()
{
    for (const auto& [n, r] : runs_) {
        if (!r.leaves && time_.now() - std::max(r.since, calm_) > 8s &&
            !members_.contains(r.name)) {
            found_.add("shards member",
                       r.name + " takes part since " + text_of(r.since) + ", and is no member");
        }
    }
    for (const auto& [name, m] : members_) {
        const bool takes_part = std::ranges::any_of(
            runs_, [&, &who = name](const auto& r) { return r.second.name == who; });
        if (!takes_part && time_.now() - std::max({m.since, changed_, calm_}) > 8s) {
            found_.add("shards member",
                       name + " is a member since " + text_of(m.since) + ", and takes no part");
        }
    }
}

// No shard without an owner waits until the group has settled.
void shards::look_whether_assigned()
{
    constexpr auto limit = 2s;
    const auto* const leader = queues_.at(what_.leader, 0);
    const bool excused =
        anybody_refuses() || !is_nobody_late() || leader == nullptr ||
        dead_.contains(leader->session) || time_.now() - queues_.moved(what_.leader) < limit ||
        std::ranges::none_of(members_, [&](const auto& each) {
            return each.second.weight != 0 && time_.now() - each.second.since > limit;
        });
    for (std::size_t i = 0; i < unassigned_.size(); ++i) {
        if (excused || members_.contains(table_[i])) {
            unassigned_[i] = time_.now();
        } else if (time_.now() - unassigned_[i] > limit) {
            found_.add("shards assigned", "shard " + std::to_string(i) + " is assigned to '" +
                                              table_[i] + "', who is not there, since " +
                                              text_of(unassigned_[i]));
            unassigned_[i] = time_.now(); // tell it once
        }
    }
}

void shards::look_whether_owned()
{
    const auto limit = 2 * (what_.prepare + what_.take) + 3s;
    const bool somebody = std::ranges::any_of(members_, [&](const auto& each) {
        return each.second.weight != 0 && time_.now() - each.second.since > limit;
    });
    for (std::size_t i = 0; i < unowned_.size(); ++i) {
        const auto* const first = queues_.at(what_.locks[i], 0);
        const bool excused =
            what_.bodies_end || anybody_refuses() || !somebody ||
            (first != nullptr && dead_.contains(first->session)) ||
            std::ranges::any_of(bodies_, [&](const auto& each) { return each.second.shard == i; });
        if (excused) {
            unowned_[i] = time_.now();
        } else if (time_.now() - unowned_[i] > limit) {
            found_.add("shards owned", "nobody has owned shard " + std::to_string(i) + " since " +
                                           text_of(unowned_[i]) + "; it is assigned to '" +
                                           table_[i] + "'");
            unowned_[i] = time_.now(); // tell it once
        }
    }
}

// A leader remembers for a while who was too late.
bool shards::is_nobody_late() const
{
    return ended_ &&
           (changed_ > *ended_ || time_.now() - *ended_ > 11 * (what_.prepare + what_.take));
}

// Everything had the time to come to rest.
bool shards::is_stable() const
{
    if (!ended_ || what_.path.empty() || anybody_refuses()) {
        return false;
    }
    const auto steps = static_cast<std::int64_t>((table_.size() + what_.moves_at_a_time - 1) /
                                                 what_.moves_at_a_time);
    const auto rest = what_.settle + steps * (what_.prepare + 500ms) + 2s;
    return is_nobody_late() && time_.now() - std::max(changed_, calm_) > rest &&
           members_.size() == runs_.size() && std::ranges::all_of(runs_, [&](const auto& r) {
               return !r.second.leaves && members_.contains(r.second.name);
           });
}

void shards::look_whether_even()
{
    if (!is_stable() || what_.bodies_end) {
        return;
    }
    std::uint64_t weights = 0;
    for (const auto& [name, m] : members_) {
        weights += m.weight;
    }
    for (const auto& [n, r] : runs_) {
        const auto weight = members_.at(r.name).weight;
        const auto has = static_cast<std::uint64_t>(std::ranges::count_if(
            bodies_, [&, of = n](const auto& b) { return b.second.of == of; }));
        const auto whole = table_.size() * weight;
        if (weight != r.weight || has < whole / weights || has > (whole + weights - 1) / weights) {
            found_.add("shards even", r.name + " runs " + std::to_string(has) + " of " +
                                          std::to_string(table_.size()) +
                                          " shards, with the weight " + std::to_string(weight) +
                                          " of " + std::to_string(weights));
        }
    }
}

} // namespace world::check
