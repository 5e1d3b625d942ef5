#include "compare.hpp"

#include "systems/catalogue.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace bench {

void leave_out(report& out, const std::string& where, std::string_view system, std::string_view why)
{
    auto text = where + ": " + std::string{system} + " is left out: " + std::string{why};
    if (std::ranges::find(peers, system, &lock_system::name) != std::end(peers)) {
        out.remark(std::move(text));
    } else {
        out.fail(std::move(text));
    }
}

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
        if (metrics[m].relative_to != all.back().system || !outcomes.back().failure.empty()) {
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
            leave_out(out, text_of(where), all[i].system, outcomes[i].failure);
        }
    }
}

} // namespace bench
