// Chance, drawn from the seed alone: the same in each build.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace colock::simulated {

// splitmix64. The distributions are ours, too: those of the standard library differ between implementations.
class random {
public:
    explicit random(std::uint64_t seed) noexcept : state_{seed} {}

    std::uint64_t operator()() noexcept
    {
        state_ += 0x9e3779b97f4a7c15u;
        auto z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    // 0 to n - 1.
    [[nodiscard]] std::size_t below(std::size_t n) noexcept
    {
        return static_cast<std::size_t>((*this)() % n);
    }

    // Both ends can be drawn.
    [[nodiscard]] std::int64_t between(std::int64_t least, std::int64_t most) noexcept
    {
        return least + static_cast<std::int64_t>((*this)() %
                                                 (static_cast<std::uint64_t>(most - least) + 1));
    }
    [[nodiscard]] std::chrono::nanoseconds between(std::chrono::nanoseconds least,
                                                   std::chrono::nanoseconds most) noexcept
    {
        return std::chrono::nanoseconds{between(least.count(), most.count())};
    }

    // True so many times in a thousand.
    [[nodiscard]] bool per_mille(unsigned chance) noexcept { return below(1000) < chance; }

    template <class Sequence>
    [[nodiscard]] auto& pick(Sequence& from) noexcept
    {
        return from[below(from.size())];
    }

    // An independent source, so that one part of the world does not change what another part draws.
    [[nodiscard]] random branch() noexcept { return random{(*this)()}; }

private:
    std::uint64_t state_;
};

} // namespace colock::simulated
