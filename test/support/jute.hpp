#ifndef COLOCK_TEST_SUPPORT_JUTE_HPP
#define COLOCK_TEST_SUPPORT_JUTE_HPP

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace colock::test {

/// Appends values in ZooKeeper's encoding: big-endian integers, strings after their length.
class jute_writer {
public:
    jute_writer& integer(std::int32_t value)
    {
        return big_endian(static_cast<std::uint32_t>(value), 4);
    }
    jute_writer& longer(std::int64_t value)
    {
        return big_endian(static_cast<std::uint64_t>(value), 8);
    }
    jute_writer& boolean(bool value)
    {
        bytes_.push_back(value ? '\1' : '\0');
        return *this;
    }
    jute_writer& text(std::string_view value)
    {
        integer(static_cast<std::int32_t>(value.size()));
        bytes_.append(value);
        return *this;
    }

    std::string const& bytes() const noexcept { return bytes_; }

private:
    jute_writer& big_endian(std::uint64_t value, int size)
    {
        for (int shift = 8 * (size - 1); shift >= 0; shift -= 8)
            bytes_.push_back(static_cast<char>(value >> shift & 0xff));
        return *this;
    }

    std::string bytes_;
};

/// Reads values in ZooKeeper's encoding from bytes that it does not own.
/** Reading beyond the end throws `std::runtime_error`. */
class jute_reader {
public:
    explicit jute_reader(std::string_view bytes) : rest_(bytes) {}

    std::int32_t integer() { return static_cast<std::int32_t>(big_endian(4)); }
    std::int64_t longer() { return static_cast<std::int64_t>(big_endian(8)); }
    bool boolean() { return take(1)[0] != '\0'; }

    /// A length of -1 (Java's null) reads as the empty string.
    std::string_view text()
    {
        auto const size = integer();
        return take(size < 0 ? 0 : static_cast<std::size_t>(size));
    }
    void skip(std::size_t size) { take(size); }
    std::string_view raw(std::size_t size) { return take(size); }
    bool at_end() const noexcept { return rest_.empty(); }
    std::size_t left() const noexcept { return rest_.size(); }

private:
    std::string_view take(std::size_t size)
    {
        if (size > rest_.size())
            throw std::runtime_error("a ZooKeeper frame is shorter than its content");
        auto const taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }
    std::uint64_t big_endian(std::size_t size)
    {
        std::uint64_t value = 0;
        for (char const c : take(size))
            value = value << 8 | static_cast<unsigned char>(c);
        return value;
    }

    std::string_view rest_;
};

} // namespace colock::test

#endif
