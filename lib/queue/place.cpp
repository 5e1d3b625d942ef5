#include "queue/place.hpp"

#include "names/contender_name.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace colock::protocol::queue {

namespace {

// As a rule one. A queue may be long, and is sorted.
std::span<const entry> with_number(const entries& queue, std::int64_t number)
{
    const auto first = std::ranges::lower_bound(queue, number, {}, &entry::number);
    const auto last = std::ranges::find_if(first, queue.end(),
                                           [&](const entry& e) { return e.number != number; });
    return {first, last};
}

} // namespace

place::place(const context& c, node_name own_name)
    : name{std::move(own_name)}, number{number_of(c.options.layout, name).value_or(-1)}
{
}

error_code place::obstacle(const context& c, const listing& l, const entries& queue) const
{
    if (number < 0 || number >= last_number || (!queue.empty() && queue.front().number < 0)) {
        return errc::sequence_exhausted;
    }
    if (find_in(queue) == queue.end()) {
        return {}; // the own node has gone
    }
    // The contenders with lower numbers go on. Only this one fails.
    if (queue.size() != l.children.size() &&
        is_of_another_kind(c.options.layout, l.children, number)) {
        return errc::conflicting_kind;
    }
    const auto has_this_place = [&](const entry& e) { return e.shared == c.is_reader; };
    return std::ranges::count_if(with_number(queue, number), has_this_place) == 1
               ? error_code{}
               : errc::duplicate_sequence;
}

entries::const_iterator place::find_in(const entries& queue) const
{
    const auto same = with_number(queue, number);
    const auto own = std::ranges::find(same, std::string_view{name}, &entry::name);
    return own != same.end() ? queue.begin() + (&*own - queue.data()) : queue.end();
}

bool place::is_late() const noexcept
{
    return number >= late_from_number || number < 0;
}

} // namespace colock::protocol::queue
