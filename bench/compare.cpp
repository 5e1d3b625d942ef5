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

namespace {

figure figure_of(const circumstances& where, const std::vector<contestant>& all, std::size_t i,
                 const metric& m, std::string name, std::string unit,
                 const std::vector<double>& rounds)
{
    return {where.scenario,  all[i].system, m.rtt_ms.value_or(where.rtt_ms),
            where.clients,   where.servers, std::move(name),
            std::move(unit), rounds,        all.size() > 1};
}

} // namespace

void compare(report& out, const circumstances& where, const std::vector<contestant>& all,
             const std::vector<metric>& metrics, schedule s)
{
    if (all.empty()) {
        return;
    }
    const auto outcomes = interleave(all, s);
    const auto add = [&](std::size_t i, const metric& m, std::string name, std::string unit,
                         const std::vector<double>& rounds) {
        out.add(figure_of(where, all, i, m, std::move(name), std::move(unit), rounds));
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

void compare_best(report& out, const circumstances& where, const std::vector<contestant>& all,
                  const std::vector<metric>& metrics, schedule s)
{
    if (all.empty()) {
        return;
    }
    const auto outcomes = interleave(all, s);
    const auto& deciding = metrics.front();
    const auto value = [&](std::size_t i) { return median(outcomes[i].values.front()); };
    std::vector<std::size_t> best; // of each system
    for (std::size_t i = 0; i != all.size(); ++i) {
        const auto of_system = std::ranges::find(
            best, all[i].system, [&](std::size_t b) -> auto& { return all[b].system; });
        if (!outcomes[i].failure.empty()) {
            continue;
        }
        if (of_system == best.end()) {
            best.push_back(i);
        } else if (more_is_better(deciding.unit) ? value(i) > value(*of_system)
                                                 : value(i) < value(*of_system)) {
            *of_system = i;
        }
    }
    for (std::size_t m = 0; m != metrics.size(); ++m) {
        for (const auto i : best) {
            out.add(figure_of(where, all, i, metrics[m], metrics[m].name, metrics[m].unit,
                              outcomes[i].values[m]));
        }
    }
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (!outcomes[i].failure.empty()) {
            leave_out(out, text_of(where) + ", " + all[i].arrangement, all[i].system,
                      outcomes[i].failure);
        } else {
            auto own = figure_of(where, all, i, deciding, deciding.name + ", " + all[i].arrangement,
                                 deciding.unit, outcomes[i].values.front());
            own.of_arrangement = true;
            out.add(std::move(own));
        }
    }
}

} // namespace bench
