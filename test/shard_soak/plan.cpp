#include "plan.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

namespace soak {

namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

struct row {
    soak::kind kind;
    std::string_view name;
    int weight;
    milliseconds shortest, longest;
};

constexpr std::array<row, 4> rows{{
    {kind::kill, "kill -9", 8, 1s, 6s},
    {kind::stop, "SIGSTOP", 5, 200ms, 14s},
    {kind::leave, "SIGTERM", 8, 500ms, 5s},
    {kind::restart, "the server is restarted", 1, 500ms, 3s},
}};

} // namespace

std::string name_of(kind k)
{
    return std::string{std::ranges::find(rows, k, &row::kind)->name};
}

std::vector<fault> plan(std::uint64_t seed, milliseconds time, double faults_a_minute,
                        std::size_t processes)
{
    std::mt19937_64 random{seed};
    const auto draw = [&](std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>{least, most}(random);
    };
    const auto number = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(faults_a_minute * static_cast<double>(time / 1s) / 60));
    std::vector<fault> faults;
    for (std::int64_t i = 0; i != number; ++i) {
        auto chosen = draw(1, 22);
        const auto* r = rows.begin();
        while (chosen > r->weight) {
            chosen -= r->weight;
            ++r;
        }
        if (i == number / 2) {
            r = std::ranges::find(rows, kind::restart, &row::kind);
        }
        fault f{.kind = r->kind};
        // Every sixth one comes together with the one before.
        const bool combined = !faults.empty() && draw(1, 6) == 1;
        const auto own = time * i / number + milliseconds{draw(0, time.count() / number)};
        f.at = combined ? faults.back().at : own;
        f.lasts = r->shortest + milliseconds{draw(0, (r->longest - r->shortest).count())};
        f.place = static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(processes) - 1));
        faults.push_back(f);
    }
    std::ranges::stable_sort(faults, {}, &fault::at);
    return faults;
}

} // namespace soak
