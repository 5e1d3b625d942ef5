#include "timeline.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulated {

struct timeline::later {
    bool operator()(const entry& a, const entry& b) const noexcept
    {
        return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
};

timeline::event_id timeline::at(instant when, event what)
{
    std::size_t at = slots_.size();
    if (free_.empty()) {
        slots_.emplace_back();
    } else {
        at = free_.back();
        free_.pop_back();
    }
    slots_[at].number = ++planned_;
    slots_[at].what = std::move(what);
    heap_.push_back({std::max(when, now_), planned_, at});
    std::push_heap(heap_.begin(), heap_.end(), later{});
    return {at, planned_};
}

void timeline::cancel(event_id id) noexcept
{
    if (id.number != 0 && slots_[id.slot].number == id.number) {
        slots_[id.slot].number = 0;
        const auto gone = std::move(slots_[id.slot].what);
    }
}

// A cancelled event keeps its slot until its time, so that no other event takes its place in the heap.
void timeline::drop_cancelled()
{
    while (!heap_.empty() && slots_[heap_.front().slot].number != heap_.front().number) {
        free_.push_back(heap_.front().slot);
        std::pop_heap(heap_.begin(), heap_.end(), later{});
        heap_.pop_back();
    }
}

// The first one, which has not been cancelled.
void timeline::happen()
{
    const auto next = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), later{});
    heap_.pop_back();
    now_ = next.when;
    auto what = std::move(slots_[next.slot].what);
    slots_[next.slot].number = 0;
    free_.push_back(next.slot);
    ++happened_;
    what();
}

bool timeline::run_next()
{
    drop_cancelled();
    if (heap_.empty()) {
        return false;
    }
    happen();
    return true;
}

std::optional<instant> timeline::next()
{
    drop_cancelled();
    return heap_.empty() ? std::nullopt : std::optional{heap_.front().when};
}

void timeline::run_until(instant when)
{
    for (drop_cancelled(); !heap_.empty() && heap_.front().when <= when; drop_cancelled()) {
        happen();
    }
    now_ = std::max(now_, when);
}

} // namespace colock::simulated
