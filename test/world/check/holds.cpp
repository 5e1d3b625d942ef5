#include "holds.hpp"

#include <algorithm>

namespace world::check {

namespace {

using namespace std::chrono_literals;

bool conflict(mode a, mode b) noexcept
{
    return a == mode::exclusive || b == mode::exclusive;
}

std::string time_of(std::chrono::nanoseconds time)
{
    return std::to_string(std::chrono::duration<double, std::milli>{time}.count()) + " ms";
}

} // namespace

holds::number holds::granted(grant g)
{
    const auto n = ++last_;
    auto& h = active_.emplace_hint(active_.end(), n, hold{std::move(g)})->second;
    h.since = time_.now();
    if (h.g.how == mode::permits) {
        h.made = queues_.made(h.g.nodes.front()).value_or(time_.now());
    }
    journal_.note(deed::granted, h.g.who, static_cast<std::int64_t>(n), [&] {
        return queues_.of(h.g.place).path + " " + to_string(h.g.token) +
               (h.g.nodes.empty() ? std::string{} : " by " + h.g.nodes.front());
    });
    if (h.g.remaining() > 0ns) {
        check_node(n, h);
        check_exclusion(n, h);
        check_token(h);
        check_bounds(n, h);
    }
    by_place_[h.g.place].push_back(n);
    return n;
}

void holds::check_node(number n, hold& h)
{
    for (const auto& node : h.g.nodes) {
        if (queues_.exists(node)) {
            continue;
        }
        if (deleted_by_hand_.contains(node) || (!queues_.lives(h.g.session) && has_shrunk(h))) {
            h.robbed = true;
            h.robbed_at = time_.now();
        } else {
            found_.add(queues_.lives(h.g.session) ? "G1 no node" : "G5 bound",
                       text_of(n, h) + " is granted by " + node + ", which is not there" +
                           (queues_.lives(h.g.session) ? "" : ": its session is over"));
        }
    }
}

void holds::check_exclusion(number n, const hold& h)
{
    if (h.robbed) {
        return;
    }
    std::vector<std::pair<instant, std::int64_t>> made; // the permits that are held, by when
    const auto count = [&](const hold& of) {
        made.emplace_back(of.made, static_cast<std::int64_t>(of.g.nodes.size()));
    };
    count(h);
    for (const auto other : by_place_[h.g.place]) {
        const auto& o = active_.at(other);
        if (o.robbed || o.g.remaining() <= 0ns) {
            continue; // deleted by hand: not promised
        }
        if (h.g.how == mode::permits) {
            count(o);
        } else if (conflict(h.g.how, o.g.how)) {
            found_.add("G1 exclusion", text_of(n, h) + " is granted, but " + text_of(other, o) +
                                           " is safe for " + time_of(o.g.remaining()));
        }
    }
    // A number that falls takes no permit away, but nobody gets one that was not there when it was created. Its grant may
    // come later, when there are more.
    if (h.g.how == mode::permits) {
        std::ranges::sort(made);
        std::int64_t permits = 0;
        for (const auto& [when, more] : made) {
            permits += more;
            if (permits > queues_.most_permits(h.g.place, when)) {
                found_.add("G1 permits", text_of(n, h) + " is granted, and " +
                                             std::to_string(permits) + " permits are held then");
                break;
            }
        }
    }
    for (const auto& node : h.g.nodes) {
        if (const auto* const before = queues_.blocking(h.g.place, node)) {
            found_.add("G2 order", text_of(n, h) + " is granted by " + node + ", but " +
                                       before->path + " stands before it");
        }
    }
}

void holds::check_token(const hold& h)
{
    if (h.g.how == mode::permits || h.robbed) {
        return;
    }
    auto& s = stores_[h.g.place];
    const auto& before = h.g.how == mode::exclusive ? s.any : s.exclusive;
    // A reader that was the writer has its token.
    if (h.g.how == mode::exclusive ? h.g.token <= before : h.g.token < before) {
        found_.add("G1 token", text_of(last_, h) + " has the token " + to_string(h.g.token) +
                                   ", behind " + to_string(before));
    }
    s.any = std::max(s.any, h.g.token);
    if (h.g.how == mode::exclusive) {
        s.exclusive = std::max(s.exclusive, h.g.token);
    }
}

// In the calm a client hears of somebody who waits within a few round trips.
void holds::check_bounds(number n, const hold& h)
{
    const auto& p = queues_.of(h.g.place);
    if (!calm_ || h.robbed || h.g.how != mode::exclusive || p.type != queues::kind::queue) {
        return;
    }
    const auto* const other = queues_.waiting_beside(h.g.place, h.g.nodes.front(), h.g.session);
    auto& r = runs_[h.g.place];
    if (other == nullptr || time_.now() - other->since < 100ms) {
        r = {};
        return;
    }
    if (r.node != h.g.nodes.front()) {
        r = {h.g.nodes.front(), 0, time_.now()};
    }
    // A server that throttles the client tells it late that it has the lock.
    const auto known = std::max({other->since + 100ms, queues_.moved(h.g.place), r.since});
    if (++r.grants > h.g.local_grants + 1 ||
        (r.grants > 1 && time_.now() - known > h.g.local_time + 10ms)) {
        found_.add("G2 local bounds", text_of(n, h) + " is granted, the " +
                                          std::to_string(r.grants) + "th one on its node in " +
                                          time_of(time_.now() - known) + " while " + other->path +
                                          " waits");
    }
}

void holds::let_go(number n)
{
    const auto it = active_.find(n);
    if (it == active_.end()) {
        return;
    }
    auto& h = it->second;
    journal_.note(deed::let_go, h.g.who, static_cast<std::int64_t>(n));
    if (calm_ && h.waits_for_request && !h.is_asked && !h.robbed) {
        const auto since = queues_.asked(h.g.nodes.front());
        // A waiter may have been asked, which held the lock, or waited for the request, only for a moment then.
        if (since && h.g.remaining() > 0ns &&
            time_.now() - std::max({*since, h.since, *h.waits_for_request}) > 300ms) {
            found_.add("revocation", text_of(n, h) + " was asked to let go at " +
                                         check::text_of(*since) + ", and has not been told");
        }
    }
    std::erase(by_place_[it->second.g.place], n);
    active_.erase(it);
}

void holds::watched(number n)
{
    if (const auto it = active_.find(n); it != active_.end()) {
        it->second.watched = true;
    }
}

void holds::told(number n, colock::error_code why)
{
    const auto it = active_.find(n);
    if (it == active_.end()) {
        return;
    }
    auto& h = it->second;
    h.is_told = true;
    h.told_at = time_.now();
    h.why = why;
    journal_.note(deed::lost, h.g.who, static_cast<std::int64_t>(n), [&] { return why.message(); });
    if (calm_ && ((why == colock::errc::safe_until_passed && !refused_) ||
                  why == colock::errc::session_expired)) {
        found_.add("G5 calm", text_of(n, h) + " is lost without any trouble: " + why.message());
    }
}

void holds::waits_for_request(number n)
{
    if (const auto it = active_.find(n); it != active_.end()) {
        it->second.waits_for_request = time_.now();
    }
}

void holds::asked(number n)
{
    if (const auto it = active_.find(n); it != active_.end()) {
        auto& h = it->second;
        h.is_asked = true;
        const auto& node = h.g.nodes.front();
        if (queues_.exists(node) && !queues_.asked(node)) {
            found_.add("revocation",
                       text_of(n, h) + " is told to let go of " + node + ", and nobody has asked");
        }
    }
}

bool holds::write(number n)
{
    const auto it = active_.find(n);
    if (it == active_.end() || it->second.g.how == mode::permits) {
        return false;
    }
    auto& h = it->second;
    auto& written = stores_[h.g.place].written;
    const bool accepted = h.g.token >= written;
    const bool safe = h.g.remaining() > 0ns && !h.robbed;
    journal_.note(deed::wrote, h.g.who, static_cast<std::int64_t>(n),
                  [&] { return std::string{accepted ? "accepted" : "refused"}; });
    if (safe && !accepted && h.g.how == mode::exclusive) {
        found_.add("G1 fenced store",
                   text_of(n, h) + " is safe, but its token is behind " + to_string(written));
    }
    if (accepted) {
        written = h.g.token;
    }
    return accepted;
}

void holds::stepping_down(number n)
{
    if (const auto it = active_.find(n); it != active_.end()) {
        it->second.stepping_down = true;
    }
}

void holds::process_over(const life& of)
{
    for (auto it = active_.begin(); it != active_.end();) {
        if (it->second.g.owner.get() == &of) {
            std::erase(by_place_[it->second.g.place], it->first);
            it = active_.erase(it);
        } else {
            ++it;
        }
    }
}

bool holds::is_held(const std::string& node) const
{
    return std::ranges::any_of(active_, [&](const auto& each) {
        return std::ranges::find(each.second.g.nodes, node) != each.second.g.nodes.end();
    });
}

// Only guards of which something is to be expected: whoever looks at a guard makes it see its loss.
void holds::look(std::chrono::nanoseconds limit)
{
    for (auto& [n, h] : active_) {
        // To look is enough to make a loss final, and whoever waits for it is told then: it is too late for that.
        if (h.watched && !h.is_told && !h.robbed && !h.stepping_down && !h.is_over &&
            h.g.where->is_running() && h.g.where->stops() == h.g.stops && h.g.remaining() <= 0ns) {
            found_.add("G5 told", text_of(n, h) + " is lost, and has not been told");
        }
        look_whether_told(n, h);
        const bool robbed =
            h.robbed && !h.stepping_down && time_.now() - h.robbed_at > limit &&
            std::ranges::any_of(h.g.nodes, [&](const auto& node) { return !queues_.exists(node); });
        if (robbed && h.g.remaining() > 0ns) {
            found_.add("G5 silent loss", text_of(n, h) +
                                             " counts as held, but its node was deleted at " +
                                             check::text_of(h.robbed_at));
        } else if (robbed && h.watched && !h.is_told && h.g.where->is_running()) {
            found_.add("G5 told", text_of(n, h) +
                                      " has not been told that its node was deleted at " +
                                      check::text_of(h.robbed_at));
        }
    }
}

// The client knows that the node is gone, and has had a turn of its program since.
void holds::look_whether_told(number n, hold& h)
{
    if (!h.robbed || !h.watched || h.is_told || h.stepping_down || !h.g.where->is_running() ||
        h.g.remaining() > 0ns) {
        return;
    }
    if (h.known_lost && h.known_lost_stops == h.g.where->stops()) {
        found_.add("G5 told",
                   text_of(n, h) + " is lost since its node was deleted, and has not been told");
    }
    h.known_lost = true;
    h.known_lost_stops = h.g.where->stops();
}

void holds::node_gone(const std::string& path, std::int64_t session, queues::cause why)
{
    if (why == queues::cause::session_over) {
        return; // session_over() looks
    }
    if (why == queues::cause::hand) {
        deleted_by_hand_[path] = session;
    }
    for (auto& [n, h] : active_) {
        if (h.stepping_down || h.is_over || std::ranges::find(h.g.nodes, path) == h.g.nodes.end()) {
            continue;
        }
        if (why == queues::cause::hand || is_late_release(path, session, h)) {
            h.robbed = true;
            h.robbed_at = time_.now();
        } else if (!h.robbed) {
            found_.add(h.g.session == session ? "G1 own node" : "G1 foreign node",
                       "session " + std::to_string(session) + " deletes " + path + " of " +
                           text_of(n, h) + ", whose guard is still there");
        }
    }
}

// A node without a queue has the same path as the one before. The release of whoever had that one may have been under way when
// an operator deleted it. It deletes this one: that is a limit.
bool holds::is_late_release(const std::string& path, std::int64_t session, const hold& h) const
{
    const auto at = deleted_by_hand_.find(path);
    return at != deleted_by_hand_.end() && at->second == session && h.g.session != session &&
           queues_.of(h.g.place).type == queues::kind::single_node;
}

void holds::counted(std::int64_t session, std::chrono::milliseconds timeout)
{
    auto& smallest = timeouts_.try_emplace(session, timeout).first->second;
    smallest = std::min(smallest, timeout);
}

// A server that grants less than the others has told the leader, and its answer was lost. No client can know that, and
// nothing is promised.
bool holds::has_shrunk(const hold& h) const
{
    const auto at = timeouts_.find(h.g.session);
    return h.g.timeout && at != timeouts_.end() && at->second < h.g.timeout();
}

// From now on the ensemble may let somebody else in.
void holds::session_over(std::int64_t session, bool expired)
{
    for (auto& [n, h] : active_) {
        if (h.g.session != session || h.is_over) {
            continue;
        }
        h.is_over = true;
        if (has_shrunk(h)) {
            h.robbed = true;
            h.robbed_at = time_.now();
            continue;
        }
        if (const auto left = h.g.remaining(); left > 0ns) {
            found_.add("G5 bound", "session " + std::to_string(session) +
                                       (expired ? " expires" : " is closed") + ", but " +
                                       text_of(n, h) + " is safe for " + time_of(left));
        }
        const auto resumed = resumed_.find(h.g.where);
        const bool paused = resumed != resumed_.end() &&
                            (h.is_told ? h.told_at : time_.now()) - resumed->second < 1ms;
        if (!expired || !h.watched || h.robbed || paused) {
            continue;
        }
        if (!h.is_told) {
            if (h.g.where->is_running()) {
                found_.add("G5 told", "session " + std::to_string(session) + " expires, and " +
                                          text_of(n, h) + " has not been told");
            }
        } else if (h.why == colock::errc::safe_until_passed &&
                   time_.now() - h.told_at < h.g.lead * 98 / 100) {
            found_.add("G5 lead", "session " + std::to_string(session) + " expires " +
                                      time_of(time_.now() - h.told_at) + " after " + text_of(n, h) +
                                      " was told");
        }
    }
}

std::string holds::text_of(number n, const hold& h) const
{
    return "hold #" + std::to_string(n) + " of " + journal_.name_of(h.g.who) + " on " +
           queues_.of(h.g.place).path;
}

} // namespace world::check
