#include "worker.hpp"

#include "system.hpp"

#include <cstdio>
#include <iostream>

namespace bench {

int work(const std::string& hosts, const std::string& path, int milliseconds)
{
    const auto client = make_colock_client(hosts, path);
    std::puts("ready");
    std::fflush(stdout);
    std::string go;
    std::getline(std::cin, go);
    const auto end = clock::now() + std::chrono::milliseconds{milliseconds};
    int turns = 0;
    while (clock::now() < end) {
        client->cycles(1);
        ++turns;
    }
    std::printf("%d\n", turns);
    return 0;
}

} // namespace bench
