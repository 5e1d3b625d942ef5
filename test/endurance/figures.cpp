#include "figures.hpp"

#include <malloc.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace endurance {

namespace {

std::int64_t resident_bytes()
{
    std::int64_t size = 0;
    std::int64_t resident = 0;
    std::ifstream{"/proc/self/statm"} >> size >> resident;
    return resident * ::sysconf(_SC_PAGESIZE);
}

// One of them is that of the listing itself.
std::int64_t open_descriptors()
{
    const std::filesystem::directory_iterator all{"/proc/self/fd"};
    return std::distance(begin(all), end(all)) - 1;
}

} // namespace

figures measure(const colock::test::zookeeper_server& server)
{
    const auto answers = server.mntr();
    const auto number = [&](const std::string& name) {
        const auto found = answers.find(name);
        if (found == answers.end()) {
            throw std::runtime_error{"the server does not tell its " + name};
        }
        return static_cast<std::int64_t>(std::stoll(found->second));
    };
    return {.resident = resident_bytes(),
            .heap = static_cast<std::int64_t>(::mallinfo2().uordblks + ::mallinfo2().hblkhd),
            .descriptors = open_descriptors(),
            .connections = static_cast<std::int64_t>(server.connections().size()),
            .watches = number("zk_watch_count"),
            .ephemerals = number("zk_ephemerals_count")};
}

} // namespace endurance
