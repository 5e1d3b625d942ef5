// What a turn taker tells the demo: one line of text for each event on its standard output.
//
//     <microseconds> <what> <coroutine> <token> <count> <text>
//
// The time is the monotonic clock, which all processes of a machine share. What was written before a
// process was killed can still be read.
#ifndef COLOCK_EXAMPLES_DEMO_EVENT_HPP
#define COLOCK_EXAMPLES_DEMO_EVENT_HPP

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>

namespace demo {

using std::chrono::microseconds;

enum class happening {
    waiting,      // a coroutine wants the lock
    holding,      // it has the lock, and has found `count` in the file
    wrote,        // it has written `count` to the file
    releasing,    // it is about to release the lock
    lost,         // it has lost the lock, `text` says why
    disconnected, // the process has no connection
    connected,    // it has one, `text` is the session
    done,         // all its turns are over
};

inline constexpr std::array<const char*, 8> happening_names{
    "waiting", "holding", "wrote", "releasing", "lost", "disconnected", "connected", "done"};

struct event {
    happening what = happening::done;
    int coroutine = 0;       // 0: the whole process
    std::string token = "-"; // in an order of text that is the order of the tokens
    std::uint64_t count = 0;
    std::string text = "-"; // the rest of the line
    microseconds at{0};
};

inline microseconds now()
{
    return std::chrono::duration_cast<microseconds>(
        std::chrono::steady_clock::now().time_since_epoch());
}

inline std::ostream& operator<<(std::ostream& out, const event& e)
{
    return out << e.at.count() << ' ' << happening_names[static_cast<std::size_t>(e.what)] << ' '
               << e.coroutine << ' ' << e.token << ' ' << e.count << ' ' << e.text << '\n';
}

inline std::optional<event> parse_event(const std::string& line)
{
    std::istringstream in{line};
    std::int64_t at = 0;
    std::string what;
    event e;
    if (!(in >> at >> what >> e.coroutine >> e.token >> e.count >> std::ws) ||
        !std::getline(in, e.text)) {
        return std::nullopt;
    }
    const auto name = std::find(happening_names.begin(), happening_names.end(), what);
    if (name == happening_names.end()) {
        return std::nullopt;
    }
    e.what = static_cast<happening>(name - happening_names.begin());
    e.at = microseconds{at};
    return e;
}

} // namespace demo

#endif
