// What a request came to: one of ZooKeeper's errors, or none.
#pragma once

#include <colock/error.hpp>

namespace colock::simulated {

// The library's status needs the library.
class status {
public:
    constexpr status() noexcept = default;
    constexpr status(colock::zookeeper_errc e) noexcept : code_{e} {}

    [[nodiscard]] constexpr explicit operator bool() const noexcept { return value() != 0; }
    [[nodiscard]] constexpr int value() const noexcept { return static_cast<int>(code_); }

    friend constexpr bool operator==(status, status) noexcept = default;

private:
    colock::zookeeper_errc code_{};
};

} // namespace colock::simulated
