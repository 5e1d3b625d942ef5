#include "low_water_mark.hpp"

#include "protocol/names/contender_name.hpp"
#include "protocol/planted.hpp"

#include <utility>

namespace colock::protocol::queue {

namespace {

// True if the mark claims that a node has gone although the node's watch is set and silent.
bool is_false(std::int64_t mark, const context& c, const watched_node& own,
              const watched_node& next_in_line)
{
    const auto covers = [&](const watched_node& w) {
        return w.is_armed() && number_of(c.options.layout, w.name()).value_or(mark + 1) <= mark;
    };
    return mark >= 0 && (covers(own) || covers(next_in_line));
}

} // namespace

bool may_read_mark(const context& c, const place& me)
{
    return me.long_queue &&
           (me.directory_is != place::directory::to_stay || planted("somebody else's directory")) &&
           c.options.layout->shared_marker.empty() && !me.is_late();
}

bool may_write_mark(const context& c, const place& me)
{
    return (me.directory_is == place::directory::ours || planted("somebody else's directory")) &&
           c.directory->is_writable() && may_read_mark(c, me);
}

void mark_query::ask(std::int64_t departed, commands& out)
{
    departed_ = departed;
    out.push_back({command::kind::read_directory});
}

mark_query::answer mark_query::answered(context& c, const place& me,
                                        const watched_node& next_in_line, const error_code& ec,
                                        std::int64_t mark, commands& out)
{
    const auto departed = std::exchange(departed_, std::nullopt);
    const bool refused = !ec && is_false(mark, c, me.watch, next_in_line);
    if (refused && !std::exchange(c.mark_refused, true)) {
        out.push_back({.type = command::kind::mark_refused, .number = mark});
    }
    if (!departed && !refused) {
        return answer::none;
    }
    const bool too_low = planted("any mark will do")    ? mark < 0
                         : planted("no mark, no queue") ? false
                                                        : mark < departed;
    const bool cannot_be_true =
        (c.mark_refused || mark >= me.number) && !planted("false mark trusted");
    return ec || too_low || cannot_be_true ? answer::list : answer::only_next_in_line;
}

} // namespace colock::protocol::queue
