#include "verdict.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace demo {

namespace {

std::uint64_t written(const std::vector<turn>& turns)
{
    return static_cast<std::uint64_t>(
        std::count_if(turns.begin(), turns.end(), [](const turn& t) { return t.wrote; }));
}

// Turns that began before the one before them was over.
std::size_t overlaps(std::vector<turn> turns)
{
    // Whoever has noticed the loss of the lock has not written after it.
    std::erase_if(turns, [](const turn& t) { return t.lost && !t.wrote; });
    std::sort(turns.begin(), turns.end(),
              [](const turn& a, const turn& b) { return a.from < b.from; });
    std::size_t number = 0;
    for (std::size_t i = 1; i < turns.size(); ++i) {
        number += turns[i].from < turns[i - 1].to ? 1U : 0U;
    }
    return number;
}

// Turns whose token is not greater than that of the turn before, or that have not found in the file
// what the turn before has left there.
std::size_t out_of_order(std::vector<turn> turns)
{
    std::sort(turns.begin(), turns.end(),
              [](const turn& a, const turn& b) { return a.from < b.from; });
    std::size_t number = 0;
    std::string last_token;
    std::uint64_t expected = 0;
    for (const auto& t : turns) {
        number += t.token <= last_token || t.found != expected ? 1U : 0U;
        last_token = t.token;
        expected += t.wrote ? 1U : 0U;
    }
    return number;
}

} // namespace

std::uint64_t lost_updates(const outcome& o)
{
    return written(o.turns) - std::min(o.count, written(o.turns));
}

bool judge(const outcome& o, const timeline& shown)
{
    bool good = true;
    const auto check = [&](bool passed, const std::string& text) {
        shown.line(passed ? tone::good : tone::bad, (passed ? "  PASS  " : "  FAIL  ") + text);
        good = good && passed;
    };

    const auto unwritten = o.turns.size() - written(o.turns);
    check(o.count == written(o.turns),
          "count: " + counted(o.turns.size(), "turn") + " granted" +
              (unwritten == 0
                   ? ""
                   : ", less " + std::to_string(unwritten) + " that ended before its write, is " +
                         std::to_string(written(o.turns))) +
              "; the file says " + std::to_string(o.count));
    check(
        overlaps(o.turns) == 0,
        "exclusion: " +
            (overlaps(o.turns) == 0 ? std::string{"no turn"} : counted(overlaps(o.turns), "turn")) +
            " began while another one lasted");
    const auto disorder = out_of_order(o.turns);
    check(disorder == 0,
          disorder == 0
              ? "order: each turn has a greater fencing token than the one before, and found its "
                "count"
              : "order: " + counted(disorder, "turn") +
                    " without a greater fencing token than the one before, or not its count");
    check(o.cut, o.cut ? "disturbance: a connection was cut"
                       : "disturbance: there was no occasion to cut a connection");
    check(o.killed && o.taken_over,
          !o.killed       ? "disturbance: there was no occasion to kill a holder"
          : !o.taken_over ? "disturbance: a holder was killed, and nobody took over"
                          : "disturbance: a holder was killed, and the lock taken over " +
                                seconds(*o.taken_over) + " later");
    for (const auto& complaint : o.complaints) {
        check(false, complaint);
    }
    return good;
}

} // namespace demo
