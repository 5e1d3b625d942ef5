#include "context.hpp"

#include "protocol/names/blocking_rule.hpp"
#include "protocol/names/contender_name.hpp"

#include <ostream>

namespace colock::protocol::queue {

bool listing::is_alone(const layout& l) const
{
    return contenders(l, children).size() <= 1;
}

std::string context::name_prefix() const
{
    return protocol::name_prefix(options.layout, own_guid, options.shared);
}

void context::list_to_join(commands& out)
{
    const bool watches = options.lingers && !try_only && !newcomers;
    if (watches) {
        newcomers.ask();
    }
    listings.send(out, watches);
}

std::ostream& operator<<(std::ostream& text, const open_listings& l)
{
    return text << l.open_ << ',' << l.outdated_ << ' ';
}

std::ostream& operator<<(std::ostream& text, const context& c)
{
    return text << c.options.shared << c.connected << c.try_only << c.safe << c.count_refused
                << c.mark_refused << c.newcomers << ' ' << c.session << ' ' << c.own_guid.low << ' '
                << c.listings;
}

} // namespace colock::protocol::queue
