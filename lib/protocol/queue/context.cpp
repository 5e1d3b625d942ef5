#include "context.hpp"

#include "protocol/names/contender_name.hpp"

#include <ostream>

namespace colock::protocol::queue {

std::string context::name_prefix() const
{
    return protocol::name_prefix(options.layout, own_guid, options.shared);
}

std::ostream& operator<<(std::ostream& text, const open_listings& l)
{
    return text << l.open_ << ',' << l.outdated_ << ' ';
}

std::ostream& operator<<(std::ostream& text, const context& c)
{
    return text << c.options.shared << c.connected << c.try_only << c.safe << c.expects_nobody
                << c.count_refused << c.mark_refused << c.met_siblings << ' ' << c.session << ' '
                << c.own_guid.low << ' ' << c.listings;
}

} // namespace colock::protocol::queue
