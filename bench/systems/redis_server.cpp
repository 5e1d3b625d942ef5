#include "systems/redis_server.hpp"

#include <support/wait_until.hpp>

#include <chrono>
#include <stdexcept>

namespace bench {

redis_server::redis_server(const std::string& log)
    : process_{{"redis-server", "--port", std::to_string(port_.number()), "--bind", "127.0.0.1",
                "--save", "", "--dir", data_.path()},
               {.output_file = log}}
{
    if (!colock::test::wait_until([&] { return port_.occupied(); }, std::chrono::seconds{10})) {
        throw std::runtime_error{"redis-server does not serve; see " + log};
    }
}

} // namespace bench
