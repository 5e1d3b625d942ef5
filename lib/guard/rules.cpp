#include "guard/rules.hpp"

#include <algorithm>

namespace colock::guard {

namespace {

// From the end of a dying process's channel to its death. What the owner has said last is read by then.
constexpr rules::time longest_death = std::chrono::seconds{1};

} // namespace

rules::decision rules::decide(time now)
{
    decision d;
    if (acted_ || (!channel_ended_ && !died_)) {
        return d;
    }
    std::erase_if(sessions_, [now](const auto& each) {
        return each.second.until && *each.second.until <= now;
    });
    const bool by_exec = died_ && channel_ended_ && *died_ - *channel_ended_ > longest_death;
    if (denied_ || by_exec || (channel_ended_ && sessions_.empty())) {
        d.exit = true;
        return d;
    }
    const auto since = std::min(died_.value_or(time::max()), channel_ended_.value_or(time::max()));
    auto last = since + longest_death;
    for (const auto& [client, session] : sessions_) {
        const auto until = since + session.timeout;
        last = std::max(last, until);
        if (died_ && channel_ended_ && !needs_consent_ && now < until) {
            d.end.emplace_back(client, until);
        }
    }
    acted_ = !d.end.empty();
    d.exit = !acted_ && now >= last;
    if (!acted_ && !d.exit) {
        d.next = last;
    }
    return d;
}

} // namespace colock::guard
