// What the fuzzer gives, read piece by piece. At its end everything reads as zero, or as empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colock::fuzz {

class input {
public:
    input(const std::uint8_t* data, std::size_t size)
        : rest_{reinterpret_cast<const char*>(data), size}
    {
    }

    [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

    std::uint8_t byte()
    {
        if (rest_.empty()) {
            return 0;
        }
        const auto value = static_cast<std::uint8_t>(rest_.front());
        rest_.remove_prefix(1);
        return value;
    }
    bool flag() { return (byte() & 1) != 0; }

    std::int64_t number()
    {
        std::uint64_t value = 0;
        for (int i = 0; i != 8; ++i) {
            value = value << 8 | byte();
        }
        return static_cast<std::int64_t>(value);
    }

    // Its length comes first, in one byte.
    std::string text()
    {
        const std::size_t size = byte();
        return std::string{take(size)};
    }
    std::string_view take(std::size_t size)
    {
        const auto taken = rest_.substr(0, std::min(size, rest_.size()));
        rest_.remove_prefix(taken.size());
        return taken;
    }
    std::string_view rest() { return take(rest_.size()); }

private:
    std::string_view rest_;
};

// A property that does not hold. The fuzzer keeps the input.
inline void require(bool holds)
{
    if (!holds) {
        __builtin_trap();
    }
}

} // namespace colock::fuzz
