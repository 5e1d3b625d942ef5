// Walks through the worlds of a scenario: all of them, or a random path.
#pragma once

#include "world.hpp"

#include <random>

namespace colock::model {

// 128 bits of a state, instead of the state: among ten million states two are mistaken for one with
// a probability below 10^-24.
struct digest {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend bool operator==(const digest&, const digest&) = default;
};

inline digest digest_of(std::string_view bytes)
{
    const auto mix = [](std::uint64_t x) {
        x ^= x >> 32;
        x *= 0xd6e8feb86659fd93;
        x ^= x >> 29;
        x *= 0xff51afd7ed558ccd;
        return x ^ (x >> 32);
    };
    digest d{bytes.size() + 1, ~bytes.size()};
    while (!bytes.empty()) {
        std::uint64_t word = 0;
        const auto count = std::min<std::size_t>(bytes.size(), sizeof word);
        for (std::size_t i = 0; i != count; ++i) {
            word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
        }
        bytes.remove_prefix(count);
        d.high = mix(d.high ^ word) + 0x9e3779b97f4a7c15;
        d.low = mix(d.low + (word ^ 0xc2b2ae3d27d4eb4f)) ^ d.high;
    }
    return d;
}

// An open hash table; std::unordered_set needs three times the memory and time.
class visited_states {
public:
    // False when it is there already.
    bool insert(const digest& d)
    {
        if (4 * (count_ + 1) > 3 * slots_.size()) {
            grow();
        }
        auto& slot = find(d);
        if (slot == d) {
            return false;
        }
        slot = d;
        ++count_;
        return true;
    }

    [[nodiscard]] std::size_t size() const noexcept { return count_; }

private:
    digest& find(const digest& d)
    {
        auto at = d.low & (slots_.size() - 1);
        while (slots_[at] != digest{} && slots_[at] != d) {
            at = (at + 1) & (slots_.size() - 1);
        }
        return slots_[at];
    }

    void grow()
    {
        auto old = std::exchange(slots_, std::vector<digest>(2 * slots_.size()));
        for (const auto& d : old) {
            if (d != digest{}) {
                find(d) = d;
            }
        }
    }

    std::vector<digest> slots_ = std::vector<digest>(1 << 16);
    std::size_t count_ = 0;
};

struct outcome {
    std::size_t states = 0;
    std::size_t transitions = 0;
    std::size_t ends = 0; // states in which nothing can happen any more
    std::size_t depth = 0;
    std::string violated = {}; // what was found, and the way to it; "" when all is well
};

// Depth first through all states that can be reached.
class exhaustive_walk {
public:
    explicit exhaustive_walk(const scenario& s) : lab_{s} {}

    outcome operator()()
    {
        try {
            visit(world{lab_.rules()});
        } catch (const std::exception& found) {
            result_.violated = found.what();
            for (const auto& s : path_) {
                result_.violated += "\n    " + to_string(s);
            }
        }
        result_.states = visited_.size();
        return result_;
    }

private:
    // Every step uses something up: a request, a message, a turn of the user, the adversary's
    // budget.
    static constexpr std::size_t max_depth = 400;

    void visit(const world& from)
    {
        buffer_.clear();
        from.write(buffer_);
        if (!visited_.insert(digest_of(buffer_))) {
            return;
        }
        result_.depth = std::max(result_.depth, path_.size());
        if (path_.size() == max_depth) {
            throw violation{"G4: it does not end"};
        }
        const auto all = from.possible();
        if (std::ranges::all_of(all, &step::is_adverse)) {
            from.check_end(lab_.rules());
        }
        result_.ends += all.empty() ? 1u : 0u;
        for (const auto& s : all) {
            path_.push_back(s);
            ++result_.transitions;
            world to = from;
            to.take(s, lab_);
            visit(to);
            path_.pop_back();
        }
    }

    laboratory lab_;
    visited_states visited_;
    std::vector<step> path_;
    std::string buffer_;
    outcome result_;
};

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
                w.check_end(rules_);
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

} // namespace colock::model
