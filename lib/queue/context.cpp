#include "queue/context.hpp"

#include <algorithm>

namespace colock::protocol::queue {

bool listing::is_alone(const layout& l) const
{
    return std::ranges::count_if(
               children, [&](const auto& name) { return number_of(l, name).has_value(); }) <= 1;
}

node_name context::name_prefix() const
{
    return protocol::name_prefix(options.layout, own_guid, is_reader);
}

void context::list_to_join(commands& out)
{
    const bool watches = options.lingers && !try_only && !newcomers;
    if (watches) {
        newcomers.ask();
    }
    listings.send(out, watches ? command::kind::list_and_watch : command::kind::list);
}

} // namespace colock::protocol::queue
