#include "place.hpp"

#include "protocol/names/contender_name.hpp"

#include <ostream>
#include <utility>

namespace colock::protocol::queue {

place::place(const context& c, std::string own_name)
    : name{std::move(own_name)}, number{number_of(c.options.layout, name).value_or(-1)}
{
}

bool place::is_late(const context& c) const noexcept
{
    return (c.options.drains && number >= drain_from) || number < 0;
}

std::ostream& operator<<(std::ostream& text, const place& p)
{
    const auto id = p.identity.value_or(node_identity{});
    return text << p.name << ' ' << p.identity.has_value() << id.czxid << ',' << id.owner << ' '
                << p.watch << static_cast<int>(p.is_whose) << p.disposable << p.met_others
                << p.met_siblings << p.counted_siblings << p.long_queue << ' ';
}

} // namespace colock::protocol::queue
