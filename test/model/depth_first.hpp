// Walks depth first through all states of a world.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// What a walk has found.
struct violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct outcome {
    std::size_t states = 0;
    std::size_t transitions = 0;
    std::size_t ends = 0; // states in which nothing can happen any more
    std::size_t depth = 0;
    std::string violated = {}; // what was found, and the way to it; "" when all is well
};

// A World begins from a Laboratory, tells its possible() steps, can take() one, write() itself, and check_end(). A step
// says whether it is_adverse(), and has a to_string().
template <class World, class Laboratory>
class depth_first_walk {
public:
    template <class Scenario>
    explicit depth_first_walk(const Scenario& s) : lab_{s}
    {
    }

    outcome operator()()
    {
        try {
            visit(World{lab_});
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
    using steps = decltype(std::declval<const World&>().possible());

    // Every step uses something up: a request, a message, a turn of the user, the adversary's
    // budget.
    static constexpr std::size_t max_depth = 400;

    void visit(const World& from)
    {
        buffer_.clear();
        from.write(buffer_);
        if (!visited_.insert(digest_of(buffer_))) {
            return;
        }
        result_.depth = std::max(result_.depth, path_.size());
        if (path_.size() == max_depth) {
            throw std::runtime_error{"G4: it does not end"};
        }
        const auto all = from.possible();
        if (std::ranges::all_of(all, [](const auto& s) { return s.is_adverse(); })) {
            from.check_end(lab_);
        }
        result_.ends += all.empty() ? 1u : 0u;
        for (const auto& s : all) {
            path_.push_back(s);
            ++result_.transitions;
            World to = from;
            to.take(s, lab_);
            visit(to);
            path_.pop_back();
        }
    }

    Laboratory lab_;
    visited_states visited_;
    std::vector<typename steps::value_type> path_;
    std::string buffer_;
    outcome result_;
};

} // namespace colock::model
