#include "compare.hpp"

#include <cstddef>

namespace bench {

void compare(report& out, const circumstances& where, const std::vector<contestant>& all,
             const std::vector<metric>& metrics, schedule s)
{
    if (all.empty()) {
        return;
    }
    const auto outcomes = interleave(all, s);
    const auto add = [&](std::size_t i, const metric& m, std::string name, std::string unit,
                         const std::vector<double>& rounds) {
        out.add({where.scenario, all[i].system, m.rtt_ms.value_or(where.rtt_ms), where.clients,
                 where.servers, std::move(name), std::move(unit), rounds, all.size() > 1});
    };
    for (std::size_t m = 0; m != metrics.size(); ++m) {
        for (std::size_t i = 0; i != all.size(); ++i) {
            if (outcomes[i].failure.empty()) {
                add(i, metrics[m], metrics[m].name, metrics[m].unit, outcomes[i].values[m]);
            }
        }
        if (!metrics[m].relative || !outcomes.back().failure.empty()) {
            continue;
        }
        for (std::size_t i = 0; i + 1 != all.size(); ++i) {
            if (outcomes[i].failure.empty()) {
                add(i, metrics[m], metrics[m].name + ", relative to " + all.back().system, "ratio",
                    outcomes[i].relative[m]);
            }
        }
    }
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (!outcomes[i].failure.empty()) {
            out.remark(where.scenario + ", " + std::to_string(where.clients) +
                       " client(s): " + all[i].system + " is left out: " + outcomes[i].failure);
        }
    }
}

} // namespace bench
