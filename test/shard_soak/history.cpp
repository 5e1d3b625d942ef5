#include "history.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace soak {

std::vector<turn> read_turns(const std::string& file)
{
    std::vector<turn> all;
    std::ifstream in{file};
    for (std::string line; std::getline(in, line);) {
        std::istringstream words{line};
        nanoseconds at = 0;
        std::string what;
        turn t;
        words >> at >> what >> t.shard >> t.token;
        if (words && what == "began") {
            t.began = at;
            all.push_back(std::move(t));
            continue;
        }
        const auto open = std::find_if(all.rbegin(), all.rend(), [&](const turn& each) {
            return each.shard == t.shard && each.token == t.token && !each.ended;
        });
        if (!words || (what != "ended" && what != "lost") || open == all.rend()) {
            throw std::runtime_error{"no line of a journal, in " + file + ": " + line};
        }
        open->ended = at;
        open->lost = what == "lost";
    }
    return all;
}

} // namespace soak
