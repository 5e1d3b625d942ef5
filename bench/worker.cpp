#include "worker.hpp"

#include "system.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <stdexcept>

namespace bench {

void contend(const std::string& hosts, const std::string& path, int milliseconds)
{
    const auto client = make_colock_client(hosts, path);
    std::puts("ready");
    std::fflush(stdout);
    std::string go;
    std::getline(std::cin, go);
    const auto end = clock::now() + std::chrono::milliseconds{milliseconds};
    int turns = 0;
    for (auto begin = clock::now(); begin < end; begin = clock::now()) {
        // The last turn of each process lies behind the end, and would count too much.
        const auto granted = begin + client->cycles(1).front().lock;
        turns += granted < end ? 1 : 0;
    }
    std::printf("%d\n", turns);
}

void repeat(const std::string& system, const std::string& hosts, int cycles)
{
    const auto* known = std::ranges::find(systems, system, &lock_system::name);
    if (known == std::end(systems)) {
        throw std::runtime_error{"there is no system \"" + system + '"'};
    }
    const auto client = known->connect(hosts, "/bench/" + system);
    std::vector<double> times;
    for (const auto& t : client->cycles(cycles)) {
        times.push_back(std::chrono::duration<double, std::micro>{t.cycle}.count());
    }
    std::ranges::sort(times);
    std::printf("%s: %d cycles, median %.1f us\n", system.c_str(), cycles, times[times.size() / 2]);
}

} // namespace bench
