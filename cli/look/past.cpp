#include "look/past.hpp"

#include "lib/names/standing.hpp"
#include "names/node_path.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace colock::cli {

using colock::detail::holders_at_front;
using colock::detail::standing;
using colock::detail::standing_of;

std::string past::picture_of(const contender& c) const
{
    constexpr std::int64_t width = 24;
    const auto whole = std::max<std::int64_t>(to - from, 1);
    const auto column = [&](std::int64_t time) {
        const auto since = static_cast<double>(std::clamp(time, from, to) - from);
        return static_cast<std::size_t>(since * (width - 1) / static_cast<double>(whole));
    };
    std::string bar(width, ' ');
    for (auto at = column(c.asked.value_or(c.created)); at <= column(end_of(c)); ++at) {
        bar[at] = c.granted && at >= column(*c.granted) ? '#' : '.';
    }
    return '|' + bar + '|';
}

recorder::recorder(std::string path) : path_{std::move(path)}
{
}

// In the directories of a semaphore.
layout recorder::layout_below(place directory)
{
    return directory == place::leases ? lease_layout() : curator_layout();
}

std::optional<recorder::place> recorder::place_of(std::string_view path) const
{
    if (path == path_) {
        return place::itself;
    }
    const auto above = path_ == "/" ? std::string_view{} : std::string_view{path_};
    if (!path.starts_with(above) || path.substr(above.size(), 1) != "/") {
        return std::nullopt;
    }
    const auto below = path.substr(above.size() + 1);
    const auto slash = below.find('/');
    if (slash == below.npos) {
        return place::queue;
    }
    const auto directory = below.substr(0, slash);
    if (below.find('/', slash + 1) != below.npos) {
        return std::nullopt;
    }
    return directory == kinds::semaphore.child ? std::optional{place::leases}
           : directory == "locks"              ? std::optional{place::locks_of_semaphore}
                                               : std::nullopt;
}

void recorder::come(const std::string& path, const snapshot::node& n, bool is_news)
{
    const auto where = place_of(path);
    const auto name = last_name(path);
    if (!where || (*where == place::itself  ? n.session == 0
                   : *where == place::queue ? !kind_of(name)
                                            : !standing_of(layout_below(*where), name))) {
        return; // no lock's, or a directory
    }
    if (const auto before = there_.find(path); before != there_.end()) {
        go(before->second, departure::unseen);
    }
    contender c;
    c.node.name = name;
    c.node.path = path;
    c.node.data = parse_owner(n.data).host ? n.data : std::string{};
    c.node.czxid = n.zxid;
    c.node.session = n.session;
    c.node.since = std::chrono::system_clock::time_point{std::chrono::milliseconds{n.created}};
    c.created = n.created;
    there_[path] = contenders_.size();
    by_session_.emplace(n.session, contenders_.size());
    events_.push_back({moment_, now_, contenders_.size(), true, is_news});
    contenders_.push_back(std::move(c));
    places_.push_back(*where);
}

void recorder::go(std::size_t who, departure how, std::int64_t by)
{
    auto& c = contenders_[who];
    c.how = how;
    c.gone = std::max(now_, c.created); // the leader's clock of then may have been later
    c.gone_by = by;
    there_.erase(c.node.path);
    by_session_.erase({c.node.session, who});
    events_.push_back({moment_, now_, who, false, how != departure::unseen});
}

// A leader that is cut off logs transactions that are never decided; they end its log before the servers send it a snapshot.
void recorder::take_back_from(std::size_t moment)
{
    for (; !events_.empty() && events_.back().moment >= moment; events_.pop_back()) {
        const auto who = events_.back().who;
        auto& c = contenders_[who];
        if (events_.back().comes) {
            there_.erase(c.node.path);
            by_session_.erase({c.node.session, who});
            contenders_.pop_back(); // they came in the order of these events
            places_.pop_back();
        } else {
            c.how = departure::none;
            there_[c.node.path] = who;
            by_session_.emplace(c.node.session, who);
        }
    }
    now_ = latest_ = *from_; // or somewhat later, which no node of the lock shows
    for (const auto& e : events_) {
        now_ = e.time;
        latest_ = std::max(latest_, now_);
    }
}

void recorder::state(const snapshot& s, bool is_news)
{
    std::map<std::string_view, const snapshot::node*> found;
    for (const auto& n : s.nodes) {
        found.emplace(n.path, &n);
    }
    const auto has = [&](const contender& c) {
        const auto at = found.find(c.node.path);
        return at != found.end() && at->second->zxid == c.node.czxid;
    };
    // What deletes a node that is there still was never decided, and neither was what follows it.
    const auto wrong =
        std::ranges::find_if(events_, [&](auto& e) { return !e.comes && has(contenders_[e.who]); });
    if (wrong != events_.end()) {
        take_back_from(wrong->moment);
    } else if (!is_news) {
        return;
    }
    ++moment_;
    const auto before = now_;
    now_ = s.oldest_news ? s.newest : std::max(now_, s.newest);
    latest_ = std::max(latest_, now_);
    if (from_) {
        gaps_.emplace_back(std::min(before, s.oldest_news.value_or(before)), now_);
    }
    from_ = from_.value_or(now_);
    after_state_ = true;
    std::vector<std::size_t> gone;
    for (const auto& [path, who] : there_) {
        if (!has(contenders_[who])) {
            gone.push_back(who);
        }
    }
    for (const auto who : gone) {
        go(who, departure::unseen);
    }
    for (const auto& [path, n] : found) {
        if (!there_.contains(path)) {
            come(n->path, *n, false);
        }
    }
}

void recorder::happened(const transaction& t)
{
    ++moment_;
    now_ = t.time;
    latest_ = std::max(latest_, now_);
    if (std::exchange(after_state_, false)) {
        (gaps_.empty() ? *from_ : gaps_.back().second) = now_;
    }
    from_ = from_.value_or(now_);
    if (t.ends_session) {
        for (auto at = by_session_.lower_bound({t.session, 0});
             t.session != 0 && at != by_session_.end() && at->first == t.session;
             at = by_session_.lower_bound({t.session, 0})) {
            go(at->second, t.by_servers ? departure::session_expired : departure::session_closed);
        }
        return; // what the log lists has been its own
    }
    for (const auto& change : t.changes) {
        if (change.what == node_change::kind::created) {
            come(change.path,
                 {.path = {},
                  .data = change.data,
                  .zxid = t.zxid,
                  .created = t.time,
                  .session = change.ephemeral ? t.session : 0},
                 true);
        } else if (const auto at = there_.find(change.path); at != there_.end()) {
            const bool is_own = contenders_[at->second].node.session == t.session;
            go(at->second,
               change.what == node_change::kind::removed_by_servers ? departure::removed
               : is_own                                             ? departure::released
                                                                    : departure::deleted,
               is_own ? 0 : t.session);
        }
    }
}

// Finds who held the lock at which time, by the order of its queue.
class retelling {
public:
    retelling(const recorder& r, past& into) : recorder_{r}, past_{into}, all_{r.contenders_} {}

    void tell()
    {
        std::vector<std::string> names;
        for (std::size_t i = 0; i != all_.size(); ++i) {
            if (recorder_.places_[i] == place::queue) {
                names.push_back(all_[i].node.name);
            } else if (recorder_.places_[i] == place::leases) {
                names.emplace_back(kinds::semaphore.child);
            }
        }
        auto found = kinds_among(names);
        if (!found.empty()) {
            past_.what = found.front().what;
            names_ = found.front().names;
            found.erase(found.begin());
            past_.others = std::move(found);
        } else if (std::ranges::find(recorder_.places_, place::itself) != recorder_.places_.end()) {
            past_.what = &kinds::single_node_mutex;
        }
        follow();
        for (std::size_t i = 0; i != all_.size(); ++i) {
            if (is_of_this_lock(i)) {
                past_.contenders.push_back(std::move(all_[i]));
            }
        }
    }

private:
    using place = recorder::place;
    using event = recorder::event;

    [[nodiscard]] bool is_permit(std::size_t who) const
    {
        return recorder_.places_[who] == place::leases;
    }
    [[nodiscard]] bool is_of_this_lock(std::size_t who) const
    {
        const auto where = recorder_.places_[who];
        if (past_.what == &kinds::semaphore) {
            return where == place::leases || where == place::locks_of_semaphore;
        }
        if (past_.what == &kinds::single_node_mutex) {
            return where == place::itself;
        }
        return where == place::queue && standing_of(names_, all_[who].node.name);
    }

    void follow()
    {
        const auto& events = recorder_.events_;
        for (auto at = events.begin(); at != events.end();) {
            const auto begin = at;
            for (; at != events.end() && at->moment == begin->moment; ++at) {
                if (is_of_this_lock(at->who)) {
                    at->comes ? come(*at) : go(*at);
                }
            }
            grant(*begin);
        }
        if (const auto next = std::ranges::find_if(
                queue_, [&](auto& each) { return !all_[each.second].granted; });
            next != queue_.end()) {
            waited(next->second, past_.to, holding_);
        }
    }

    void come(const event& e)
    {
        auto& c = all_[e.who];
        if (past_.what == &kinds::single_node_mutex || is_permit(e.who)) {
            c.granted = c.created;
            if (is_permit(e.who)) {
                queueing_of(c);
            }
            return;
        }
        const auto& layout = past_.what == &kinds::semaphore ? queue_of_semaphore_ : names_;
        const auto at = standing_of(layout, c.node.name).value_or(standing{});
        c.node.number = at.number;
        c.node.shared = at.shared;
        queue_.emplace(at, e.who);
        came_.push_back(e.who);
    }

    void go(const event& e)
    {
        const auto& c = all_[e.who];
        const auto [first, last] = queue_.equal_range({c.node.number, c.node.shared});
        const auto at = std::find_if(first, last, [&](auto& each) { return each.second == e.who; });
        if (at != last) {
            queue_.erase(at);
        }
        if (c.granted) {
            std::erase(holding_, e.who);
            ended_.push_back(e.who);
        } else {
            waited(e.who, e.time, holding_);
        }
    }

    // The front of the queue, after all of one moment.
    void grant(const event& e)
    {
        const bool is_queue = past_.what != &kinds::semaphore;
        const auto held =
            is_queue ? holders_at_front(queue_, [](auto& each) { return each.first.shared; }) : 0;
        const auto old = holding_.size();
        auto next = queue_.begin();
        for (std::size_t i = 0; i != held; ++i, ++next) {
            auto& c = all_[next->second];
            if (!c.granted) {
                c.granted = e.time;
                c.granted_before = !e.is_news;
                waited(next->second, e.time, ended_);
                holding_.push_back(next->second);
            }
        }
        if (is_queue && next != queue_.end()) {
            waited(next->second, e.time, ended_);
        }
        const auto new_waiters = static_cast<std::size_t>(
            std::ranges::count_if(came_, [&](auto who) { return !all_[who].granted; }));
        for (std::size_t i = 0; i != holding_.size(); ++i) {
            all_[holding_[i]].waiters += i < old ? new_waiters : queue_.size() - held;
        }
        ended_.clear();
        came_.clear();
    }

    void waited(std::size_t who, std::int64_t until, const std::vector<std::size_t>& holders)
    {
        for (const auto holder : holders) {
            auto& h = all_[holder];
            h.longest_wait =
                std::max(h.longest_wait, until - std::max(all_[who].created, *h.granted));
        }
    }

    // A client has one place in the queue, which it leaves when it has its permits.
    void queueing_of(contender& permit)
    {
        for (const auto& [at, who] : queue_) {
            if (all_[who].node.session == permit.node.session) {
                permit.asked = all_[who].created;
                all_[who].has_permits = true;
                return;
            }
        }
    }

    const recorder& recorder_;
    past& past_;
    std::vector<contender> all_;
    layout names_;
    const layout queue_of_semaphore_ = curator_layout();
    std::multimap<standing, std::size_t> queue_;
    std::vector<std::size_t> holding_;      // of a queue
    std::vector<std::size_t> came_, ended_; // at this moment
};

past recorder::tell() const
{
    past p;
    p.from = from_.value_or(0);
    p.to = latest_;
    p.gaps = gaps_;
    retelling{*this, p}.tell();
    return p;
}

} // namespace colock::cli
