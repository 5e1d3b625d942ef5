// The bytes of ZooKeeper's frames, and of messages to the session guard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace colock::zk {

inline constexpr std::size_t length_size = 4;         // before each frame
inline constexpr std::size_t header_size = 4 + 8 + 4; // of a reply: xid, zxid, error
inline constexpr std::size_t password_size = 16;      // of a session
// The answer to the handshake: version, time-out, session, password, and whether it is read-only.
inline constexpr std::size_t handshake_size = 4 + 4 + 8 + 4 + password_size + 1;

template <class Integer>
    requires std::is_integral_v<Integer>
void append(std::string& to, Integer number)
{
    for (std::size_t left = sizeof number; left-- != 0;) {
        to += static_cast<char>(static_cast<std::uint64_t>(number) >> 8 * left & 0xff);
    }
}
inline void append(std::string& to, std::string_view counted)
{
    append(to, static_cast<std::int32_t>(counted.size()));
    to += counted;
}

// Reads the fields of a frame in their order. What is not there any more reads as nothing, and leaves the reader cut.
class frame_fields {
public:
    explicit frame_fields(std::string_view bytes) noexcept : rest_{bytes} {}

    std::string_view bytes(std::size_t size) noexcept
    {
        if (size > rest_.size()) {
            cut_ = true;
            rest_ = {};
            return {};
        }
        const auto taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }
    std::int64_t longer() noexcept { return static_cast<std::int64_t>(big_endian<8>()); }
    std::int32_t integer() noexcept { return static_cast<std::int32_t>(big_endian<4>()); }
    bool boolean() noexcept { return big_endian<1>() != 0; }

    // Bytes after their number. A negative number cuts the reader, but for a -1 where that stands for nothing.
    std::string_view counted(bool may_be_nothing = false) noexcept
    {
        const auto size = integer();
        if (size < 0) {
            cut_ = cut_ || !may_be_nothing || size != -1;
            return {};
        }
        return bytes(static_cast<std::size_t>(size));
    }

    [[nodiscard]] bool cut() const noexcept { return cut_; }
    [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

private:
    template <std::size_t size>
    std::uint64_t big_endian() noexcept
    {
        const auto taken = bytes(size);
        if (taken.empty()) {
            return 0;
        }
        std::uint64_t value = 0;
        for (std::size_t i = 0; i != size; ++i) {
            value = value << 8 | static_cast<unsigned char>(taken[i]);
        }
        return value;
    }

    std::string_view rest_;
    bool cut_ = false;
};

} // namespace colock::zk
