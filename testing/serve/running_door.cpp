#include "running_door.hpp"

#include <utility>

namespace colock::testing {

running_door::running_door(server_settings settings)
    : way_in{context, {boost::asio::ip::address_v4::loopback(), 0}, std::move(settings)},
      hosts{text_of(way_in.address())}, thread_{[this] { context.run(); }}
{
}

running_door::~running_door()
{
    context.stop();
    thread_.join();
}

} // namespace colock::testing
