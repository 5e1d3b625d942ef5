#include "queues.hpp"

#include "counter.hpp"
#include "names/contender_name.hpp"

#include <algorithm>
#include <iterator>

namespace world::check {

namespace {

constexpr std::size_t digits = 10;

// As colock::revocation_request, whose header needs all of the library.
constexpr std::string_view revocation_request = "__REVOKE__";

// The number at the end of a name, or nothing.
std::optional<std::int64_t> number_of(std::string_view name)
{
    if (name.size() < digits) {
        return std::nullopt;
    }
    std::int64_t number = 0;
    for (const char c : name.substr(name.size() - digits)) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        number = number * 10 + (c - '0');
    }
    return number;
}

} // namespace

std::size_t queues::add(place p)
{
    by_path_.emplace(p.path, places_.size());
    if (!p.counter.empty()) {
        counts_.try_emplace(p.counter);
    }
    if (!p.written.empty()) {
        written_.emplace(p.written, std::string{});
    }
    places_.push_back({std::move(p), {}});
    return places_.size() - 1;
}

std::optional<queues::location> queues::find(std::string_view path) const
{
    if (const auto it = by_path_.find(std::string{path});
        it != by_path_.end() && places_[it->second].what.type == kind::single_node) {
        return location{it->second, 0, false};
    }
    const auto slash = path.rfind('/');
    const auto it = by_path_.find(std::string{path.substr(0, slash)});
    if (it == by_path_.end()) {
        return std::nullopt;
    }
    const auto& p = places_[it->second].what;
    if (p.type == kind::single_node) {
        return std::nullopt;
    }
    const auto name = path.substr(slash + 1);
    const auto number = number_of(name);
    if (!number) {
        return std::nullopt;
    }
    const auto before = name.substr(0, name.size() - digits);
    if (before.ends_with(p.marker)) {
        return location{it->second, *number, false};
    }
    if (!p.shared_marker.empty() && before.ends_with(p.shared_marker)) {
        return location{it->second, *number, true};
    }
    return std::nullopt;
}

void queues::committed(const transaction& t)
{
    if (!t.is_carried_out()) {
        return;
    }
    const bool over = t.what == transaction::kind::close_session;
    if (t.what == transaction::kind::open_session) {
        sessions_.insert(t.session);
        for (auto& p : places_) { // of an old session with the same number
            p.lost.erase({t.session, false});
            p.lost.erase({t.session, true});
        }
        journal_.note(deed::session_opened, ensemble_, t.session);
    } else if (over) {
        sessions_.erase(t.session);
        journal_.note(t.expired ? deed::session_expired : deed::session_closed, ensemble_,
                      t.session);
        if (witness_ != nullptr) {
            witness_->session_over(t.session, t.expired);
        }
    }
    for (const auto& c : t.changes) {
        switch (c.what) {
        case change::kind::create:
            created(c);
            permits_counted(c.path, c.data);
            break;
        case change::kind::remove:
            permits_counted(c.path, {});
            // Only operators have no session here: empty containers are no contenders.
            deleted(c.path, t.session,
                    over             ? cause::session_over
                    : t.session == 0 ? cause::hand
                                     : cause::client);
            break;
        case change::kind::set:
            changed(c, t.session);
            permits_counted(c.path, c.data);
            break;
        case change::kind::set_acl:
        case change::kind::check: break;
        }
    }
}

void queues::created(const change& c)
{
    const auto at = find(c.path);
    if (!at) {
        return;
    }
    journal_.note(deed::node_created, ensemble_, c.owner, [&] { return c.path; });
    auto& p = places_[at->place];
    if (p.contenders.empty()) {
        p.moved = time_.now();
    }
    p.contenders.insert_or_assign(at->number,
                                  contender{c.path, c.owner, at->shared, time_.now(), {}});
}

void queues::deleted(const std::string& path, std::int64_t session, cause why)
{
    const auto at = find(path);
    if (!at) {
        return;
    }
    journal_.note(why == cause::hand ? deed::by_hand : deed::node_deleted, ensemble_, session,
                  [&] { return path; });
    const auto& p = places_[at->place].what;
    auto& all = places_[at->place].contenders;
    auto whose = session;
    // A holder that steps down may have put another node in the place of this one.
    if (const auto it = all.find(at->number); it != all.end() && it->second.path == path) {
        whose = it->second.session;
        // What operators have deleted is not missed by everybody at once: for a while more than two watch a node.
        places_[at->place].tampered |= why == cause::hand;
        if (p.type == kind::queue && !p.has_onlookers && !p.ending && p.shared_marker.empty() &&
            !places_[at->place].tampered) {
            if (gone_.size() == 1000) {
                gone_.pop_front();
            }
            gone_.push_back({path, it->second.session, {}, at->place, time_.now()});
        }
        // A late number is no place: its contender gives it up, and joins again, so that the directory can end.
        if (why == cause::session_over && at->number < colock::protocol::late_from_number) {
            auto& lost = places_[at->place].lost[{it->second.session, it->second.shared}];
            lost = std::max(lost, it->second.since);
        }
        if (it == all.begin()) {
            places_[at->place].moved = time_.now();
        }
        all.erase(it);
    }
    if (witness_ != nullptr) {
        witness_->node_gone(path, why == cause::hand ? whose : session, why);
    }
}

// Without a number there are no permits to be had.
void queues::permits_counted(const std::string& path, std::string_view data)
{
    if (const auto at = counts_.find(path); at != counts_.end()) {
        const auto number = number_in(data).value_or(0);
        journal_.note(deed::node_changed, ensemble_, number, [&] { return path; });
        at->second.push_back({time_.now(), number});
    }
}

std::int64_t queues::most_permits(std::size_t in, instant then) const
{
    const auto& p = places_[in].what;
    if (p.counter.empty()) {
        return p.permits;
    }
    std::int64_t most = 0;
    const auto& all = counts_.at(p.counter);
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
        if (at->since <= then) {
            most = std::max(most, at->permits);
        }
        if (at->since < then) {
            break;
        }
    }
    return most;
}

std::optional<instant> queues::made(const std::string& path) const
{
    const auto at = find(path);
    if (!at) {
        return std::nullopt;
    }
    const auto& all = places_[at->place].contenders;
    const auto it = all.find(at->number);
    return it != all.end() && it->second.path == path ? std::optional{it->second.since}
                                                      : std::nullopt;
}

std::optional<instant> queues::last_lost(std::size_t in, std::int64_t session, bool shared) const
{
    const auto& all = places_[in].lost;
    const auto it = all.find({session, shared});
    return it != all.end() ? std::optional{it->second} : std::nullopt;
}

// Tokens as text have the order of the tokens.
void queues::changed(const change& c, std::int64_t session)
{
    if (c.data == revocation_request) {
        if (const auto at = find(c.path)) {
            const auto found = places_[at->place].contenders.find(at->number);
            if (found != places_[at->place].contenders.end() && found->second.path == c.path &&
                found->second.asked == instant{0}) {
                found->second.asked = time_.now();
            }
        }
        return;
    }
    const auto it = written_.find(c.path);
    if (it == written_.end()) {
        return;
    }
    journal_.note(deed::node_changed, ensemble_, session, [&] { return c.path + " " + c.data; });
    if (c.data < it->second) {
        found_.add("G1 guarded write", c.path + " had " + it->second + ", and is given " + c.data);
    }
    it->second = std::max(it->second, c.data);
}

void queues::woken(std::int64_t session, colock::watch_event_type type, const std::string& path)
{
    if (type != colock::watch_event_type::deleted) {
        return;
    }
    const auto it = std::ranges::find(gone_, path, &gone::path);
    // A client that has left a moment ago has asked the server to forget its watch. The request may be on its way.
    if (it != gone_.end() && session != it->session && !has_just_left(session, it->place) &&
        it->woken.insert(session).second && it->woken.size() > 2) {
        std::string whom;
        for (const auto each : it->woken) {
            whom += (whom.empty() ? "" : ", ") + std::to_string(each);
        }
        found_.add("G7 herd", "the deletion of " + path + " wakes the clients of " +
                                  std::to_string(it->woken.size()) + " sessions: " + whom);
    }
}

bool queues::has_just_left(std::int64_t session, std::size_t in) const
{
    return std::any_of(gone_.rbegin(), gone_.rend(), [&](const gone& g) {
        return g.session == session && g.place == in &&
               time_.now() - g.when < std::chrono::seconds{1};
    });
}

bool queues::exists(const std::string& path) const
{
    const auto at = find(path);
    if (!at) {
        return false;
    }
    const auto& all = places_[at->place].contenders;
    const auto it = all.find(at->number);
    return it != all.end() && it->second.path == path;
}

const queues::contender* queues::blocking(std::size_t in, const std::string& path) const
{
    const auto at = find(path);
    if (!at || places_[in].what.type != kind::queue) {
        return nullptr;
    }
    for (const auto& [number, other] : places_[in].contenders) {
        if (number >= at->number) {
            break;
        }
        if (!at->shared || !other.shared) {
            return &other;
        }
    }
    return nullptr;
}

const queues::contender* queues::waiting_beside(std::size_t in, const std::string& path,
                                                std::int64_t session) const
{
    const auto own = find(path);
    for (const auto& [number, other] : places_[in].contenders) {
        if (own && number > own->number && other.session != session) {
            return &other;
        }
    }
    return nullptr;
}

std::optional<instant> queues::asked(const std::string& path) const
{
    const auto at = find(path);
    if (!at) {
        return std::nullopt;
    }
    const auto& all = places_[at->place].contenders;
    const auto it = all.find(at->number);
    if (it == all.end() || it->second.path != path || it->second.asked == instant{0}) {
        return std::nullopt;
    }
    return it->second.asked;
}

const queues::contender* queues::at(std::size_t in, std::size_t position) const
{
    const auto& all = places_[in].contenders;
    return position < all.size()
               ? &std::next(all.begin(), static_cast<std::ptrdiff_t>(position))->second
               : nullptr;
}

std::size_t queues::left() const
{
    std::size_t count = 0;
    for (const auto& p : places_) {
        count += p.contenders.size();
    }
    return count;
}

void queues::report_left()
{
    for (const auto& p : places_) {
        for (const auto& [number, c] : p.contenders) {
            found_.add("G3 orphan", c.path + " of session " + std::to_string(c.session) +
                                        (lives(c.session) ? ", which lives," : "") +
                                        " is left, since " + text_of(c.since));
        }
    }
}

} // namespace world::check
