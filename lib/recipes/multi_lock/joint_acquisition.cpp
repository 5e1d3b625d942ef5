#include "recipes/multi_lock/joint_acquisition.hpp"

#include <algorithm>

namespace colock::protocol {

using kind = joint_acquisition::command::kind;

joint_acquisition::joint_acquisition(std::size_t locks, bool tries)
    : tries_{tries}, places_(locks, place::none)
{
}

void joint_acquisition::start(commands& out)
{
    for (std::size_t i = 0; i != places_.size(); ++i) {
        join(i, out);
    }
    if (places_.size() == 1 && !tries_) {
        stage_ = one_by_one{0};
    } else if (!tries_) {
        out.push_back({kind::probe});
    }
}

void joint_acquisition::granted(std::size_t lock, const std::optional<loss>& lost, bool time_over,
                                commands& out)
{
    if (is_over()) {
        return;
    }
    const bool given_up = places_[lock] == place::abandoning;
    places_[lock] = place::held;
    if (given_up && !waits_for(lock)) {
        give_up(lock, out);
    } else {
        held(lost, time_over, out);
    }
}

void joint_acquisition::refused(std::size_t lock, const error_code& why, bool time_over,
                                commands& out)
{
    if (is_over()) {
        return;
    }
    if (places_[lock] == place::abandoning) {
        gone(lock, time_over, out);
    } else {
        places_[lock] = place::none;
        end({kind::refuse, lock, why}, out);
    }
}

void joint_acquisition::released(std::size_t lock, bool time_over, commands& out)
{
    if (!is_over()) {
        gone(lock, time_over, out);
    }
}

void joint_acquisition::probed(commands& out)
{
    if (!std::holds_alternative<all_at_once>(stage_)) {
        return;
    }
    const auto missing = std::ranges::find_if(places_, [](place p) { return p != place::held; });
    const auto next = static_cast<std::size_t>(missing - places_.begin());
    stage_ = one_by_one{next};
    give_up_from(next + 1, out);
}

void joint_acquisition::cancel(bool at_once, commands& out)
{
    if (is_over()) {
        return;
    }
    if (at_once) {
        end({kind::abort}, out);
        return;
    }
    stage_ = leaving{};
    give_up_from(0, out);
    end_without_trace(out);
}

std::string joint_acquisition::fingerprint() const
{
    std::string all{static_cast<char>('0' + stage_.index())};
    if (const auto* const waiting = std::get_if<one_by_one>(&stage_)) {
        all += std::to_string(waiting->next);
    }
    for (const auto each : places_) {
        all += static_cast<char>('a' + static_cast<int>(each));
    }
    return all + (tries_ ? "!" : ".");
}

bool joint_acquisition::waits_for(std::size_t lock) const noexcept
{
    const auto* const waiting = std::get_if<one_by_one>(&stage_);
    return waiting != nullptr && waiting->next == lock;
}

// One more lock is held.
void joint_acquisition::held(const std::optional<loss>& lost, bool time_over, commands& out)
{
    auto* const waiting = std::get_if<one_by_one>(&stage_);
    if (waiting == nullptr &&
        !std::ranges::all_of(places_, [](place p) { return p == place::held; })) {
        return; // the probe tells
    }
    // The user may have waited for a long time: a lock that was held need not be held any more.
    if (lost) {
        take_again(*lost, time_over, out);
    } else if (waiting == nullptr || ++waiting->next == places_.size()) {
        end({kind::deliver}, out);
    } else {
        join_next(waiting->next, time_over, out);
    }
}

// The lock has been given up, and nothing of it is under way.
void joint_acquisition::gone(std::size_t lock, bool time_over, commands& out)
{
    places_[lock] = place::none;
    if (std::holds_alternative<leaving>(stage_)) {
        end_without_trace(out);
    } else if (waits_for(lock)) {
        join_next(lock, time_over, out);
    }
}

void joint_acquisition::join(std::size_t lock, commands& out)
{
    places_[lock] = place::joining;
    out.push_back({kind::join, lock});
}

void joint_acquisition::join_next(std::size_t next, bool time_over, commands& out)
{
    const auto at = places_[next];
    if (at == place::abandoning || at == place::releasing) {
        // gone() goes on: the owner of a recursive mutex can wait for it only once.
        out.push_back({kind::hurry, next});
    } else if (time_over) {
        end({kind::time_over}, out);
    } else {
        join(next, out);
    }
}

// A lock is lost. Nothing behind it may be kept while it is waited for.
void joint_acquisition::take_again(const loss& lost, bool time_over, commands& out)
{
    if (tries_ || lost.final) {
        end({kind::refuse, lost.lock, lost.why}, out);
        return;
    }
    stage_ = one_by_one{lost.lock};
    give_up_from(lost.lock, out);
    join_next(lost.lock, time_over, out);
}

void joint_acquisition::give_up(std::size_t lock, commands& out)
{
    if (places_[lock] == place::joining) {
        places_[lock] = place::abandoning;
        out.push_back({kind::abandon, lock});
    } else if (places_[lock] == place::held) {
        places_[lock] = place::releasing;
        out.push_back({kind::release, lock});
    }
}

void joint_acquisition::give_up_from(std::size_t first, commands& out)
{
    for (auto i = first; i < places_.size(); ++i) {
        give_up(i, out);
    }
}

void joint_acquisition::end_without_trace(commands& out)
{
    if (std::ranges::all_of(places_, [](place p) { return p == place::none; })) {
        end({kind::abort}, out);
    }
}

void joint_acquisition::end(const command& last, commands& out)
{
    stage_ = over{};
    out.push_back(last);
}

} // namespace colock::protocol
