// Walks through the worlds of a scenario: all of them, or a random path.
#pragma once

#include "explore.hpp"
#include "world.hpp"

#include <random>

namespace colock::model {

using exhaustive_walk = depth_first_walk<world, laboratory>;

// One path after the other, for worlds that are too large to be walked through. Not proof, but
// reaches what the bounds of the exhaustive walks leave out.
class random_walk {
public:
    random_walk(const scenario& s, std::uint64_t seed) : rules_{s}, random_{seed} {}

    outcome operator()(std::size_t paths)
    {
        std::optional<laboratory> lab;
        for (std::size_t i = 0; i != paths; ++i) {
            if (i % 256 == 0) {
                lab.emplace(rules_); // or its tables grow for ever
            }
            try {
                follow(*lab);
            } catch (const std::exception& found) {
                result_.violated = found.what();
                for (const auto& s : path_) {
                    result_.violated += "\n    " + to_string(s);
                }
                break;
            }
        }
        return result_;
    }

private:
    void follow(laboratory& lab)
    {
        path_.clear();
        world w{rules_};
        for (auto all = w.possible(); !all.empty(); all = w.possible()) {
            if (std::ranges::all_of(all, &step::is_adverse)) {
                w.check_end(lab);
            }
            auto s = all[random_() % all.size()];
            if (s.is_adverse() && random_() % 4 != 0) {
                s = all[random_() % all.size()]; // seldom, or it is all over at the beginning
            }
            path_.push_back(s);
            ++result_.transitions;
            w.take(s, lab);
        }
        ++result_.ends;
        result_.depth = std::max(result_.depth, path_.size());
    }

    scenario rules_;
    std::mt19937_64 random_;
    std::vector<step> path_;
    outcome result_;
};

inline void explore(const scenario& s, std::size_t floor)
{
    explore_by<exhaustive_walk>(s, floor);
}

// Many paths through a walk that is too large to be walked through.
inline void explore_at_random(const scenario& s, std::uint64_t seed)
{
    const auto since = std::chrono::steady_clock::now();
    const auto paths = std::min<std::size_t>(largest_walk() / 100, 20'000);
    const auto o = random_walk{s, seed}(paths);
    report(o, since);
    BOOST_TEST(o.ends == paths);
}

} // namespace colock::model
