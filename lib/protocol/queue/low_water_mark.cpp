#include "low_water_mark.hpp"

#include "protocol/names/contender_name.hpp"
#include "protocol/planted.hpp"

namespace colock::protocol::queue {

bool may_read_mark(const context& c, const place& me)
{
    return me.long_queue &&
           (me.is_whose != place::directory::to_stay || planted("somebody else's directory")) &&
           c.options.layout.shared_marker.empty() && !me.is_late(c);
}

bool may_write_mark(const context& c, const place& me)
{
    return (me.is_whose == place::directory::ours || planted("somebody else's directory")) &&
           c.directory.may_write_mark() && may_read_mark(c, me);
}

bool is_false(std::int64_t mark, const context& c, const watched_node& own,
              const watched_node& next_in_line)
{
    const auto covers = [&](const watched_node& w) {
        return w.is_armed() && number_of(c.options.layout, w.name()).value_or(mark + 1) <= mark;
    };
    return mark >= 0 && (covers(own) || covers(next_in_line));
}

} // namespace colock::protocol::queue
