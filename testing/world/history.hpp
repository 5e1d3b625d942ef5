// What happens in a world: a hash of all of it, and the last lines, for people.
#pragma once

#include "ensemble/network.hpp"
#include "ensemble/timeline.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iosfwd>
#include <string>
#include <string_view>

namespace colock::simulated {

class history {
public:
    explicit history(std::size_t lines) : most_{lines} {}

    void note(instant when, std::string_view who, std::string_view what);
    void sent(instant when, const stream& by, const message& m);

    [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
    // Instants are shown since `began`.
    void print(std::ostream& to, instant began) const;

private:
    struct line {
        instant when;
        std::string who;
        std::string what;
    };

    void mix(std::uint64_t value) noexcept;
    void mix(std::string_view text) noexcept;
    void keep(instant when, std::string who, std::string what);

    std::size_t most_;
    std::deque<line> lines_;
    std::uint64_t hash_ = 0xcbf29ce484222325u; // as FNV-1a begins
};

} // namespace colock::simulated
