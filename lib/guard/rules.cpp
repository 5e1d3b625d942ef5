#include "guard/rules.hpp"

#include <algorithm>

namespace colock::guard {

namespace {

// From the end of a dying process's channel to its death. What the owner has said last is read by then.
constexpr rules::time longest_death = std::chrono::seconds{1};

// In each time-out, whether the owner lives.
constexpr int looks = 4;

} // namespace

rules::decision rules::decide(time now)
{
    decision d;
    std::erase_if(sessions_, [now](const auto& each) {
        return each.second.until && *each.second.until <= now;
    });
    if (acted_) {
        return d;
    }
    if (!channel_ended_ && !died_) {
        for (const auto& [client, session] : sessions_) {
            d.next = std::min(d.next.value_or(time::max()), now + session.timeout / looks);
        }
        return d;
    }
    const bool by_exec = died_ && channel_ended_ && *died_ - *channel_ended_ > longest_death;
    if (denied_ || by_exec || (channel_ended_ && sessions_.empty())) {
        d.exit = true;
        return d;
    }
    const auto heard = std::min(died_.value_or(time::max()), channel_ended_.value_or(time::max()));
    const auto since = std::min(heard, lived_.value_or(heard));
    auto last = heard + longest_death;
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
