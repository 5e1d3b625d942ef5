#include "guards.hpp"

#include <algorithm>
#include <string>
#include <variant>

namespace world::check {

using namespace std::chrono_literals;

void guards::sent(const stream& by, const message& m)
{
    if (const auto* reply = std::get_if<connect_reply>(&m)) {
        const auto at = lives_.find(&by.there());
        if (at == lives_.end() || !by.has_listener() || reply->session.id == 0) {
            return;
        }
        auto& s = sessions_[reply->session.id];
        if (s.owner != at->second) {
            s = {at->second, {}, time_.now()};
        }
        s.timeout = std::max(s.timeout, reply->timeout);
        return;
    }
    const auto* asked = std::get_if<connect_request>(&m);
    if (asked == nullptr && !std::holds_alternative<close_request>(m)) {
        return;
    }
    if (const auto at = guards_.find(&by.here()); at != guards_.end()) {
        if (asked != nullptr) {
            resumed_[&by] = asked->session.id;
        }
        look(at->second, resumed_[&by], asked == nullptr);
    }
}

void guards::look(const guard& g, std::int64_t number, bool ends)
{
    const auto seen = journal_.name_of(g.who) + (ends ? " ends session " : " resumes session ") +
                      std::to_string(number);
    const auto at = sessions_.find(number);
    if (at == sessions_.end() || at->second.owner != g.owner) {
        found_.add("guard wrong session", seen + ", which its owner has not");
    } else if (!g.owner->over) {
        found_.add("guard too early", seen + ", whose owner lives");
    } else if (const auto since = time_.now() - g.owner->ended;
               // By its clock.
               since > at->second.timeout * 101 / 100 && (ends || g.resumed != time_.now())) {
        found_.add("guard after T", seen + ", " +
                                        std::to_string(since / std::chrono::milliseconds{1}) +
                                        " ms after the death of its owner");
    }
}

// Not of a session that the process has hardly had.
void guards::look_whether_ended(const life& of)
{
    for (const auto& [number, s] : sessions_) {
        if (s.owner.get() == &of && of.ended - s.since > 500ms && queues_.lives(number)) {
            found_.add("guard never", "session " + std::to_string(number) +
                                          " of a dead process lives, though its guard is well");
        }
    }
}

std::int64_t guards::take_old(std::size_t server, std::chrono::nanoseconds age,
                              const std::function<bool(std::int64_t)>& is_known)
{
    const auto at = std::ranges::find_if(over_, [&](const auto& each) {
        const auto& [number, when] = each;
        const auto s = sessions_.find(number);
        return number >> 56 == static_cast<std::int64_t>(server) + 1 && time_.now() - when > age &&
               !is_known(number) && s != sessions_.end() &&
               (!s->second.owner->over || time_.now() - s->second.owner->ended > age);
    });
    if (at == over_.end()) {
        return 0;
    }
    const auto number = at->first;
    over_.erase(at);
    return number;
}

} // namespace world::check
