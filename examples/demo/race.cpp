#include "race.hpp"

#include "shared_file.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <stdexcept>
#include <utility>

namespace demo {

namespace {

constexpr std::chrono::seconds patience{60};

} // namespace

race::race(asio::any_io_executor executor, plan p, timeline& shown)
    : executor_{std::move(executor)}, plan_{std::move(p)}, shown_{shown}, end_{executor_},
      take_over_{executor_}
{
}

asio::awaitable<outcome> race::run()
{
    write_record(plan_.file, {});
    shown_.header(plan_.names);
    shown_.begin(now());
    start();

    end_.expires_after(patience);
    if (const auto [cancelled] = co_await end_.async_wait(asio::as_tuple(asio::deferred));
        !cancelled) {
        std::string who;
        for (const auto& t : takers_) {
            who += t.running->at_end() ? "" : ' ' + t.name;
        }
        throw std::runtime_error{"after " + std::to_string(patience.count()) +
                                 " s these processes have not finished:" + who};
    }
    for (auto& t : takers_) {
        check_exit(t);
    }
    outcome_.count = read_record(plan_.file).count;
    co_return std::move(outcome_);
}

void race::start()
{
    takers_.reserve(plan_.names.size()); // their addresses are kept
    for (const auto& name : plan_.names) {
        auto command = plan_.command;
        command.insert(command.end(), {"--name", name, "--turns", std::to_string(plan_.turns)});
        if (locked()) {
            const bool proxied = name == plan_.names.back();
            command.insert(command.end(), {"--hosts", proxied ? plan_.way->hosts() : plan_.hosts});
        } else {
            command.emplace_back("--no-lock");
        }
        takers_.push_back(
            {name,
             std::make_unique<process>(executor_, command,
                                       process::ending{SIGKILL, std::chrono::seconds{5}}),
             std::vector<coroutine_state>(static_cast<std::size_t>(plan_.coroutines))});
    }
    for (auto& t : takers_) {
        spawn(follow(t));
    }
}

void race::spawn(asio::awaitable<void> task)
{
    ++tasks_;
    asio::co_spawn(executor_, std::move(task), [this](std::exception_ptr failure) {
        if (failure) {
            std::rethrow_exception(failure); // out of io_context::run()
        }
        if (--tasks_ == 0) {
            end_.cancel();
        }
    });
}

asio::awaitable<void> race::follow(taker& t)
{
    while (!t.running->at_end()) {
        co_await t.running->wait_readable();
        collect();
        disturb();
    }
    if (all_ended()) {
        take_over_.cancel();
    }
}

bool race::all_ended() const
{
    return std::all_of(takers_.begin(), takers_.end(),
                       [](const taker& t) { return t.running->at_end(); });
}

// Handles what has been reported, in the order in which it happened. What has led to an event was
// written before it, perhaps to a pipe that has just been looked at: so all are looked at once more.
void race::collect()
{
    do {
        drain();
        const auto until = pending_.empty() ? microseconds{0} : pending_.back().what.at;
        drain();
        const auto end = std::find_if(pending_.begin(), pending_.end(),
                                      [&](const pending& p) { return p.what.at > until; });
        const std::vector<pending> now_due(pending_.begin(), end);
        pending_.erase(pending_.begin(), end);
        for (const auto& [from, what] : now_due) {
            handle(*from, what);
        }
    } while (!pending_.empty());
}

void race::drain()
{
    for (auto& t : takers_) {
        for (const auto& line : t.running->read_lines()) {
            const auto e = parse_event(line);
            if (e && e->coroutine >= 0 && e->coroutine <= plan_.coroutines) {
                // Behind all events that are no later.
                const auto place = std::upper_bound(
                    pending_.begin(), pending_.end(), e->at,
                    [](microseconds at, const pending& p) { return at < p.what.at; });
                pending_.insert(place, {&t, *e});
            } else {
                outcome_.complaints.push_back(t.name + " printed a line of no meaning: " + line);
            }
        }
    }
}

void race::handle(taker& t, const event& e)
{
    if (e.coroutine == 0) {
        return e.what == happening::done ? void(t.done = true) : connection_changed(t, e);
    }
    auto& c = t.coroutines[static_cast<std::size_t>(e.coroutine - 1)];
    switch (e.what) {
    case happening::waiting:
        c.mark = mark_waiting;
        c.since = e.at;
        break;
    case happening::holding: granted(t, e); break;
    case happening::wrote: outcome_.turns[c.turn].wrote = true; break;
    case happening::releasing:
        outcome_.turns[c.turn].to = e.at;
        c.mark = mark_absent;
        break;
    case happening::lost:
        outcome_.turns[c.turn].lost = true;
        if (c.mark == mark_holding) { // it is not only the release that has failed
            outcome_.turns[c.turn].to = e.at;
            c.mark = mark_absent;
        }
        shown_.note(e.at, tone::bad, t.name + " has lost the lock: " + e.text);
        break;
    default: break;
    }
}

void race::granted(taker& t, const event& e)
{
    auto& c = t.coroutines[static_cast<std::size_t>(e.coroutine - 1)];
    check_place(t, e);
    c.mark = mark_holding;
    c.since = e.at;
    c.turn = outcome_.turns.size();
    outcome_.turns.push_back({t.name + '/' + std::to_string(e.coroutine), e.token, e.count, e.at});
    holder_ = &t;
    if (killed_at_.count() != 0 && !outcome_.taken_over) {
        outcome_.taken_over = e.at - killed_at_;
        take_over_.cancel();
        shown_.note(e.at, tone::good,
                    "TAKE-OVER: " + t.name + " has the lock, " + seconds(*outcome_.taken_over) +
                        " after its holder was killed");
    }
    if (outcome_.turns.size() <= plan_.lines) {
        shown_.grant(e.at, outcome_.turns.size(), lanes(), e.token, e.count);
    }
}

void race::connection_changed(taker& t, const event& e)
{
    t.connected = e.what == happening::connected;
    if (!t.connected) {
        shown_.note(e.at, tone::warning, t.name + " has lost its connection");
        return;
    }
    if (!t.session.empty()) {
        shown_.note(e.at, tone::good,
                    t.name + " is connected again, " +
                        (t.session == e.text ? "in the same session"
                                             : "in a new session: the old one had expired"));
        if (stage_ == stage::cut) {
            stage_ = stage::reconnected;
        }
    }
    t.session = e.text;
}

// Did anybody who came after the cut get the lock before those who waited when it happened?
void race::check_place(const taker& t, const event& e)
{
    if (places_.empty()) {
        return;
    }
    if (&t != &takers_.back()) {
        const auto since = t.coroutines[static_cast<std::size_t>(e.coroutine - 1)].since;
        overtaken_ += since > cut_at_ ? 1U : 0U;
        return;
    }
    places_.erase(e.coroutine);
    if (!places_.empty()) {
        return;
    }
    shown_.note(e.at, overtaken_ == 0 ? tone::good : tone::warning,
                t.name + "'s places in the queue: " +
                    (overtaken_ == 0
                         ? "kept, nobody who came after the cut went before them"
                         : counted(overtaken_, "turn") + " of later comers went before"));
}

void race::check_exit(taker& t)
{
    if (t.dead) {
        return;
    }
    if (const int status = t.running->exit_status(); status != 0 || !t.done) {
        outcome_.complaints.push_back(t.name + " ended with exit status " + std::to_string(status) +
                                      "; see its message above");
    }
}

race::coroutine_state* race::holding(taker& t)
{
    const auto c = std::find_if(t.coroutines.begin(), t.coroutines.end(),
                                [](const auto& state) { return state.mark == mark_holding; });
    return c == t.coroutines.end() ? nullptr : &*c;
}

std::size_t race::waiting(const taker& t)
{
    return static_cast<std::size_t>(
        std::count_if(t.coroutines.begin(), t.coroutines.end(),
                      [](const auto& state) { return state.mark == mark_waiting; }));
}

std::vector<std::string> race::lanes() const
{
    std::vector<std::string> all;
    for (const auto& t : takers_) {
        std::string lane;
        for (const auto& c : t.coroutines) {
            const bool cut_off = !t.connected && c.mark == mark_waiting;
            lane += t.dead ? mark_dead : cut_off ? mark_disconnected : c.mark;
        }
        all.push_back(lane);
    }
    return all;
}

} // namespace demo
