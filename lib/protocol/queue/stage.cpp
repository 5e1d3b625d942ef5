#include "stage.hpp"

#include <ostream>

namespace colock::protocol::queue {

transition finish(const error_code& ec, commands& out)
{
    out.push_back({command::kind::gone, {}, ec});
    return gone{};
}

std::ostream& operator<<(std::ostream& text, const gone&)
{
    return text;
}

} // namespace colock::protocol::queue
