// Numbers and texts one after the other in a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace colock::guard {

class field_writer {
public:
    explicit field_writer(std::string& to) noexcept : to_{to} {}

    template <class Number>
        requires std::is_arithmetic_v<Number>
    void add(Number n)
    {
        char bytes[sizeof n];
        std::memcpy(bytes, &n, sizeof n);
        to_.append(bytes, sizeof n);
    }
    void add(std::string_view text)
    {
        add(std::uint64_t{text.size()});
        to_.append(text);
    }

private:
    std::string& to_;
};

// A field that is missing reads as 0 or "", and is_whole() is false from then on.
class field_reader {
public:
    explicit field_reader(std::string_view from) noexcept : from_{from} {}

    template <class Number>
    [[nodiscard]] Number number()
    {
        Number n{};
        if (const auto bytes = take(sizeof n); !bytes.empty()) {
            std::memcpy(&n, bytes.data(), sizeof n);
        }
        return n;
    }
    // A part of what is read.
    [[nodiscard]] std::string_view text() { return take(number<std::uint64_t>()); }

    // All fields were there.
    [[nodiscard]] bool is_whole() const noexcept { return whole_; }
    // ... and nothing else.
    [[nodiscard]] bool is_at_end() const noexcept { return whole_ && from_.empty(); }

private:
    std::string_view take(std::uint64_t size)
    {
        whole_ = whole_ && size <= from_.size();
        if (!whole_) {
            return {};
        }
        const auto taken = from_.substr(0, static_cast<std::size_t>(size));
        from_.remove_prefix(static_cast<std::size_t>(size));
        return taken;
    }

    std::string_view from_;
    bool whole_ = true;
};

} // namespace colock::guard
