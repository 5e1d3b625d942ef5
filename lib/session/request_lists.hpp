// The requests of a client that are not answered, by where they are.
#pragma once

#include "report/counters.hpp"
#include "session/request.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <utility>

namespace colock::detail {

// On the strand. It owns the requests, each list in its order.
class request_lists {
public:
    using place = request::place;

    explicit request_lists(counters& count) noexcept : count_{count} {}
    ~request_lists() = default; // empty by then

    [[nodiscard]] request_list& at(place where) noexcept
    {
        return lists_[static_cast<std::size_t>(where)];
    }
    [[nodiscard]] bool has(place where) const noexcept
    {
        return !lists_[static_cast<std::size_t>(where)].empty();
    }

    void put(place where, request_ptr r)
    {
        r->place_ = where;
        at(where).push_back(*r.release());
        note_size(where);
    }
    [[nodiscard]] request_ptr take(request& r)
    {
        auto& list = at(r.place_);
        list.erase(list.iterator_to(r));
        note_size(r.place_);
        return request_ptr{&r};
    }

    // Takes all that are there now, in this order, and passes them on one after the other.
    template <class Pass>
    void take_each(std::initializer_list<place> from, Pass pass)
    {
        request_list all;
        for (const auto where : from) {
            all.splice(all.end(), at(where));
            note_size(where);
        }
        while (!all.empty()) {
            request_ptr r{&all.front()};
            all.pop_front();
            pass(std::move(r));
        }
    }

    // Any thread: when the oldest request was sent that is not answered, by the boot_clock; 0: there is none.
    [[nodiscard]] std::chrono::nanoseconds unanswered_since() const noexcept
    {
        return std::chrono::nanoseconds{unanswered_since_.load(std::memory_order_relaxed)};
    }

private:
    void note_size(place where) noexcept
    {
        const auto& sent = at(place::sent);
        if (where == place::sent) {
            // The servers answer in order.
            const auto since = sent.empty() ? std::chrono::nanoseconds{0} : sent.front().sent_at_;
            unanswered_since_.store(since.count(), std::memory_order_relaxed);
            count_.in_flight.store(sent.size(), std::memory_order_relaxed);
            return;
        }
        std::size_t waiting = 0;
        for (const auto& each : lists_) {
            waiting += each.size();
        }
        count_.waiting.store(waiting - sent.size(), std::memory_order_relaxed);
    }

    counters& count_;
    std::array<request_list, 5> lists_;
    std::atomic<std::chrono::nanoseconds::rep> unanswered_since_{0};
};

} // namespace colock::detail
