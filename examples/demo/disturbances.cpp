// What is done to the turn takers while they are at it.
#include "race.hpp"
#include "shared_file.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <csignal>

namespace demo {

namespace {

constexpr std::chrono::milliseconds outage{600};
// Somebody who has waited for so long has certainly joined the queue.
constexpr std::chrono::milliseconds settled{100};

} // namespace

// First the connection is cut, when a quarter of all turns is over; then, after half of them, the holder
// is killed.
void race::disturb()
{
    if (!locked() || holder_ == nullptr) {
        return;
    }
    const auto all = takers_.size() * static_cast<std::size_t>(plan_.coroutines * plan_.turns);
    const auto over = outcome_.turns.size();
    auto& proxied = takers_.back();
    if (stage_ == stage::calm && over * 4 >= all && waiting(proxied) == proxied.coroutines.size()) {
        stage_ = stage::cut;
        spawn(interrupt_connection());
    } else if (stage_ == stage::reconnected && over * 2 >= all && holder_ != &proxied) {
        kill_holder();
    }
}

asio::awaitable<void> race::interrupt_connection()
{
    auto& proxied = takers_.back();
    cut_at_ = now();
    for (std::size_t i = 0; i != proxied.coroutines.size(); ++i) {
        const auto& c = proxied.coroutines[i];
        if (c.mark == mark_waiting && c.since < cut_at_ - settled) {
            places_.insert(static_cast<int>(i) + 1);
        }
    }
    plan_.way->cut();
    outcome_.cut = true;
    shown_.note(cut_at_, tone::warning,
                "CUT: the connection of " + proxied.name + ", while " +
                    counted(waiting(proxied), "coroutine") + " of it wait for the lock");

    asio::steady_timer timer{executor_, outage};
    co_await timer.async_wait(asio::as_tuple(asio::deferred));
    plan_.way->mend();
}

void race::kill_holder()
{
    auto& victim = *holder_;
    // It goes on while one looks at it. So it is frozen first, and what it has reported is read.
    if (holding(victim) == nullptr || !victim.running->freeze()) {
        return;
    }
    collect();
    auto* const c = holding(victim);
    if (c == nullptr || holder_ != &victim) {
        victim.running->send(SIGCONT); // too late; the next holder, then
        return;
    }
    killed_at_ = now();
    victim.running->send(SIGKILL);
    victim.dead = true;
    stage_ = stage::killed;
    outcome_.killed = true;
    auto& t = outcome_.turns[c->turn];
    t.to = killed_at_;
    // It may have been about to say so; but the file tells.
    t.wrote = t.wrote || read_record(plan_.file).token == t.token;
    c->mark = mark_absent;
    shown_.note(killed_at_, tone::bad,
                "SIGKILL to " + victim.name + ", which holds the lock: it has read " +
                    std::to_string(t.found) + " and " +
                    (t.wrote ? "written " + std::to_string(t.found + 1) : "not written"));
    shown_.note(killed_at_, tone::plain,
                "nobody else gets the lock before its session has expired, which takes about " +
                    seconds(plan_.session));
    spawn(wait_for_take_over());
}

asio::awaitable<void> race::wait_for_take_over()
{
    for (;;) {
        take_over_.expires_after(std::chrono::seconds{1});
        co_await take_over_.async_wait(asio::as_tuple(asio::deferred));
        if (outcome_.taken_over || all_ended()) {
            co_return;
        }
        std::size_t queue = 0;
        for (const auto& t : takers_) {
            queue += t.dead ? 0 : waiting(t);
        }
        shown_.note(now(), tone::quiet, "... " + counted(queue, "coroutine") + " wait");
    }
}

} // namespace demo
