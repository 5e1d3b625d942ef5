#include "place.hpp"

#include "protocol/names/contender_name.hpp"
#include "protocol/planted.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace colock::protocol::queue {

namespace {

// As a rule one. A queue may be long, and is sorted.
std::span<const entry> with_number(const std::vector<entry>& queue, std::int64_t number)
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

void place::update(const context& c, const listing& l, const std::vector<entry>& queue)
{
    // The client may remember that the directory is colock's. Somebody may have replaced the data since. Then the directory
    // must not be deleted, so a late contender has read the data itself before it comes here.
    if (directory_is == directory::unknown && c.directory->is_ours(l.directory.czxid)) {
        directory_is = directory::ours;
    }
    disposable = (directory_is == directory::ours && queue.size() == l.children.size()) ||
                 planted("any directory is disposable");
    met_others = queue.size() > 1;
    met_siblings = l.children.size() > 1;
    long_queue = c.options.mark_queues_from != 0 && queue.size() >= c.options.mark_queues_from;
}

error_code place::obstacle(const context& c, const listing& l,
                           const std::vector<entry>& queue) const
{
    if (number < 0 || (number >= last_number && !planted("numbers that repeat")) ||
        (!queue.empty() && queue.front().number < 0)) {
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

std::vector<entry>::const_iterator place::find_in(const std::vector<entry>& queue) const
{
    const auto same = with_number(queue, number);
    const auto own = std::ranges::find(same, std::string_view{name}, &entry::name);
    return own != same.end() ? queue.begin() + (&*own - queue.data()) : queue.end();
}

bool place::is_late() const noexcept
{
    return number >= drain_from_number || number < 0;
}

} // namespace colock::protocol::queue
