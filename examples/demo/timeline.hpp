// What the demo shows while it runs: a lane for each process, a line for each grant.
#ifndef COLOCK_EXAMPLES_DEMO_TIMELINE_HPP
#define COLOCK_EXAMPLES_DEMO_TIMELINE_HPP

#include "event.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace demo {

// How a coroutine stands. A lane of the chart is a string of these, one for each coroutine.
enum lane_mark : char {
    mark_absent = ' ',
    mark_holding = '#',
    mark_waiting = '.',
    mark_disconnected = '~',
    mark_dead = 'x',
};

enum class tone { plain, quiet, good, warning, bad };

class timeline {
public:
    // Colours only on a terminal, and not when NO_COLOR is set.
    timeline();

    // Throws when nobody reads the output any more.
    void line(tone t, const std::string& text) const;

    // Times are shown relative to this instant from now on.
    void begin(microseconds at) { origin_ = at; }

    void header(const std::vector<std::string>& names);
    void grant(microseconds at, std::size_t turn, const std::vector<std::string>& lanes,
               const std::string& token, std::uint64_t found) const;
    // Something that happened between two grants.
    void note(microseconds at, tone t, const std::string& text) const;

private:
    [[nodiscard]] std::string clock(microseconds at) const;
    [[nodiscard]] std::string coloured(tone t, const std::string& text) const;

    bool colours_;
    microseconds origin_{0};
    std::vector<std::size_t> widths_; // of the lanes
};

// Without the leading zeros of its two halves: "4a", or "4a:1" when the second is not zero.
std::string short_token(const std::string& token);

// "1.23 s"
std::string seconds(microseconds duration);

// "1 turn", "2 turns"
std::string counted(std::size_t number, const std::string& noun);

} // namespace demo

#endif
