#include "runner.hpp"

#include "interruption.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>

namespace bench {

double median(std::vector<double> values)
{
    std::ranges::sort(values);
    const auto middle = values.size() / 2;
    return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

namespace {

using table = std::vector<std::vector<double>>; // [metric][slice]

void append(table& to, const std::vector<double>& row)
{
    to.resize(row.size());
    for (std::size_t metric = 0; metric != row.size(); ++metric) {
        to[metric].push_back(row[metric]);
    }
}

std::vector<double> quotients(const std::vector<double>& a, const std::vector<double>& b)
{
    std::vector<double> all;
    std::ranges::transform(a, b, std::back_inserter(all), [](double x, double y) { return x / y; });
    return all;
}

// One more round.
void add(outcome& to, const table& own, const table* reference)
{
    to.values.resize(own.size());
    to.relative.resize(own.size());
    for (std::size_t metric = 0; metric != own.size(); ++metric) {
        to.values[metric].push_back(median(own[metric]));
        if (reference != nullptr) {
            to.relative[metric].push_back(median(quotients(own[metric], (*reference)[metric])));
        }
    }
}

void take_slice(const contestant& one, outcome& its, table& slices)
{
    if (!its.failure.empty()) {
        return;
    }
    try {
        append(slices, one.slice());
    } catch (const std::exception& e) {
        its.failure = e.what();
    }
}

} // namespace

std::vector<outcome> interleave(const std::vector<contestant>& all, schedule s)
{
    std::vector<outcome> outcomes(all.size());
    for (int round = 0; round != s.rounds; ++round) {
        std::vector<table> slices(all.size());
        for (int slice = 0; slice != s.slices; ++slice) {
            for (std::size_t i = 0; i != all.size(); ++i) {
                check_interruption();
                // Nobody always comes behind the same one.
                const auto turn = (round + slice) % 2 == 0 ? i : all.size() - 1 - i;
                take_slice(all[turn], outcomes[turn], slices[turn]);
            }
        }
        for (std::size_t i = 0; i != all.size(); ++i) {
            if (outcomes[i].failure.empty()) {
                add(outcomes[i], slices[i],
                    outcomes.back().failure.empty() ? &slices.back() : nullptr);
            }
        }
    }
    return outcomes;
}

} // namespace bench
