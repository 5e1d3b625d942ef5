#include "members.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace world::check {

namespace {

using namespace std::chrono_literals;

members::words words_in(std::string_view text)
{
    constexpr std::string_view mark = "colock-member weight=";
    if (!text.starts_with(mark)) {
        return {.data = std::string{text}};
    }
    const auto end = std::min(text.find('\n'), text.size() - 1);
    return {.data = std::string{text.substr(end + 1)},
            .weight = static_cast<std::uint32_t>(
                std::stoul(std::string{text.substr(mark.size(), end - mark.size())}))};
}

std::string describe(const members::view& v)
{
    return v.name + " of session " + std::to_string(v.session) + ", with '" + v.said.data +
           "' and the weight " + std::to_string(v.said.weight);
}

} // namespace

// ---- programs

members::number members::joined(journal::actor who, std::shared_ptr<const life> owner, view as)
{
    journal_.note(deed::remark, who, 0, [&] { return "joins as " + as.name; });
    const auto at =
        joined_.emplace(++last_, joining{who, std::move(owner), std::move(as), {}, time_.now()})
            .first;
    look_at_node(at->second, "joins");
    return last_;
}

void members::joined_again(number n, std::int64_t session)
{
    if (const auto at = joined_.find(n); at != joined_.end()) {
        auto& j = at->second;
        journal_.note(deed::remark, j.who, 1, [&] { return "joins again as " + j.is.name; });
        j.is.session = session;
        j.since = time_.now();
        look_at_node(j, "joins again");
    }
}

void members::updates(number n, words said)
{
    if (const auto at = joined_.find(n); at != joined_.end()) {
        journal_.note(deed::remark, at->second.who, 2, [&] {
            return "wants to say '" + said.data + "', with the weight " +
                   std::to_string(said.weight);
        });
        at->second.next.push_back(std::move(said));
    }
}

void members::updated(number n)
{
    if (const auto at = joined_.find(n); at != joined_.end()) {
        auto& j = at->second;
        j.is.said = j.next.back();
        journal_.note(deed::remark, j.who, 3, [&] { return "says '" + j.is.said.data + "'"; });
        j.next.clear();
        const auto node = nodes_.find(j.is.name);
        if (node != nodes_.end() && node->second.session == j.is.session &&
            node->second.said != j.is.said) {
            found_.add("group update",
                       text_of(j) + " has said so, but the servers have " + describe(node->second));
        }
    }
}

void members::left(number n)
{
    joined_.erase(n);
}

void members::has_left(const view& as)
{
    const auto node = nodes_.find(as.name);
    if (node != nodes_.end() && node->second.session == as.session) {
        found_.add("group leave", describe(node->second) + " has left, and its node is there");
    }
}

void members::process_over(const life& of)
{
    std::erase_if(joined_, [&](const auto& each) { return each.second.owner.get() == &of; });
    std::erase_if(waiting_, [&](const auto& each) { return each.second.owner.get() == &of; });
}

// At this instant nobody else can have the name, because the node has it. Its session may be over without the client's
// knowledge, and somebody may have deleted its node.
void members::look_at_node(const joining& j, const char* what)
{
    const auto node = nodes_.find(j.is.name);
    const auto removed = removed_.find(j.is.name);
    if ((node == nodes_.end() || node->second.session != j.is.session) &&
        queues_.lives(j.is.session) &&
        (removed == removed_.end() || removed->second != j.is.session)) {
        found_.add("group node",
                   text_of(j) + " " + what + ", but " +
                       (node == nodes_.end()
                            ? "no node has the name"
                            : "session " + std::to_string(node->second.session) + " has it"));
    }
}

void members::listed(journal::actor by, instant asked, const std::vector<view>& all)
{
    if (!calm_ || asked - *calm_ < 1s) {
        return;
    }
    const auto from = asked - 500ms; // servers may lag a little
    for (const auto& v : all) {
        if (std::ranges::none_of(history_,
                                 [&](const known& h) { return h.is == v && h.until >= from; })) {
            found_.add("group listed", journal_.name_of(by) + " is told of the member " +
                                           describe(v) + ", whom nobody knows");
        }
    }
    for (const auto& h : history_) {
        if (h.from < from && h.until == instant::max() &&
            std::ranges::find(all, h.is) == all.end()) {
            found_.add("group listed", journal_.name_of(by) + " is not told of the member " +
                                           describe(h.is) + ", who is there since " +
                                           check::text_of(h.from));
        }
    }
    if (!std::ranges::is_sorted(all, {}, &view::name)) {
        found_.add("group listed", journal_.name_of(by) + " gets a list without order");
    }
}

members::number members::waits(journal::actor who, std::shared_ptr<const life> owner,
                               std::vector<view> seen)
{
    waiting_.emplace(++last_, waiter{who, std::move(owner), std::move(seen)});
    return last_;
}

// ---- the ensemble

void members::committed(const transaction& t)
{
    if (path_.empty() || !t.is_carried_out()) {
        return;
    }
    for (const auto& c : t.changes) {
        if (c.path.size() <= path_.size() + 1 || !c.path.starts_with(path_) ||
            c.path[path_.size()] != '/') {
            continue;
        }
        const auto name = c.path.substr(path_.size() + 1);
        const auto before = nodes_.find(name);
        if (c.what != change::kind::create && before == nodes_.end()) {
            continue;
        }
        if (c.what == change::kind::check || c.what == change::kind::set_acl) {
            continue;
        }
        auto session = c.owner;
        if (before != nodes_.end()) {
            const auto at = std::ranges::find_if(history_, [&](const known& h) {
                return h.is.name == name && h.until == instant::max();
            });
            at->until = time_.now();
            session = before->second.session;
        }
        journal_.note(deed::node_changed, 0, t.session, [&] {
            return c.path + (c.what == change::kind::remove ? " is removed" : ": " + c.data);
        });
        if (c.what == change::kind::remove) {
            if (t.session != session || taken_out_.contains(name)) {
                removed_[name] = session;
            }
            nodes_.erase(before);
            continue;
        }
        view is{.name = name, .said = words_in(c.data), .session = session};
        nodes_.insert_or_assign(name, is);
        for (auto& [n, j] : joined_) {
            if (j.is.name == name) {
                j.missing.reset();
            }
        }
        history_.push_back({std::move(is), time_.now()});
    }
}

// ---- the calm

std::vector<members::view> members::now() const
{
    std::vector<view> all;
    for (const auto& [name, is] : nodes_) {
        all.push_back(is);
    }
    return all;
}

// A member whose node is gone joins again, unless another one has the name by now.
void members::look_at_member(joining& j)
{
    const auto node = nodes_.find(j.is.name);
    if (node == nodes_.end()) {
        if (!j.missing) {
            j.missing = time_.now();
        } else if (time_.now() - *j.missing > 3s) {
            found_.add("group node", text_of(j) + " has no node since " +
                                         check::text_of(*j.missing) + ", and does not join again");
            j.missing = time_.now(); // tell it once
        }
    } else if (node->second.session == j.is.session && node->second != j.is && j.next.empty() &&
               time_.now() - std::max(j.since, *calm_) > 3s) {
        found_.add("group node", text_of(j) + " is a member since " + check::text_of(j.since) +
                                     ", but the servers have " + describe(node->second));
        j.since = time_.now();
    }
}

void members::look()
{
    if (path_.empty() || !calm_) {
        return;
    }
    for (auto& [n, j] : joined_) {
        look_at_member(j);
    }
    const auto present = now();
    for (auto& [n, w] : waiting_) {
        if (w.seen == present) {
            w.differs.reset();
        } else if (!w.differs) {
            w.differs = time_.now();
        } else if (time_.now() - *w.differs > 3s) {
            found_.add("group change", journal_.name_of(w.who) + " waits for a change since " +
                                           check::text_of(*w.differs) + ", when there was one");
            w.differs = time_.now();
        }
    }
}

std::string members::text_of(const joining& j) const
{
    return journal_.name_of(j.who) + " as " + describe(j.is);
}

} // namespace world::check
