// A server in memory that is there, with a thread of its own, as long as this object.
#pragma once

#include "door.hpp"

#include <boost/asio/io_context.hpp>

#include <string>
#include <thread>

namespace colock::testing {

// At a free port of the loopback interface.
struct running_door {
    explicit running_door(server_settings settings);
    running_door(const running_door&) = delete;
    running_door& operator=(const running_door&) = delete;
    ~running_door();

    boost::asio::io_context context{1};
    door way_in; // on that thread, once it runs
    const std::string hosts;

private:
    std::thread thread_;
};

} // namespace colock::testing
