#include "context.hpp"

#include "protocol/names/contender_name.hpp"
#include "protocol/planted.hpp"
#include "protocol/queue/blocking_rule.hpp"

namespace colock::protocol::queue {

bool listing::is_alone(const layout& l) const
{
    return queue(l).size() <= 1;
}

const std::vector<entry>& listing::queue(const layout& l) const
{
    if (!sorted) {
        sorted = contenders(l, children);
    }
    return *sorted;
}

node_name context::name_prefix() const
{
    return protocol::name_prefix(options.layout, own_guid, is_reader);
}

void context::list_to_join(commands& out)
{
    const bool watches =
        options.lingers && !try_only && !newcomers && !planted("lingers without a watch");
    if (watches) {
        newcomers.ask();
    }
    listings.send(out, watches);
}

} // namespace colock::protocol::queue
