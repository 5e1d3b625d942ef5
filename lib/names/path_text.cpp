#include "names/path_text.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace colock::detail {

namespace {

constexpr std::uint64_t each_byte(std::uint64_t value) noexcept
{
    return value * 0x0101'0101'0101'0101U;
}

constexpr std::size_t word = sizeof(std::uint64_t);

// The high bit of a byte is set in the result where one of the eight is not from ' ' to '~'.
std::uint64_t marks_of(std::uint64_t eight) noexcept
{
    const auto below_space = (eight - each_byte(0x20)) & ~eight;
    const auto above_tilde = (eight + each_byte(0x01)) | eight;
    return (below_space | above_tilde) & each_byte(0x80);
}

// Whether all bytes are from ' ' to '~'. Lists of hundreds of thousands of names are looked at while the executor waits.
bool is_ordinary(std::string_view text) noexcept
{
    std::uint64_t eight = each_byte(' ');
    if (text.size() < word) {
        std::ranges::copy(text, reinterpret_cast<char*>(&eight));
        return marks_of(eight) == 0;
    }
    std::uint64_t marks = 0;
    const auto last = text.size() - word;
    for (std::size_t at = 0; at < last; at += word) {
        std::memcpy(&eight, text.data() + at, word);
        marks |= marks_of(eight);
    }
    std::memcpy(&eight, text.data() + last, word);
    return (marks | marks_of(eight)) == 0;
}

const char* fault_of_character(std::uint32_t code) noexcept
{
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) {
        return code == 0 ? "contains a NUL" : "contains a control character";
    }
    return (code >= 0xd800 && code <= 0xf8ff) || code >= 0xfff0
               ? "contains a character that ZooKeeper does not allow"
               : nullptr;
}

// Less than the above: an old server may have let somebody create the others, or they harm nobody.
const char* harm_of_character(std::uint32_t code) noexcept
{
    return code < 0x1f || (code > 0x7f && code < 0x9f) ? "contains a control character" : nullptr;
}

template <class Fault>
const char* fault_of_text(std::string_view text, Fault fault_of) noexcept
{
    if (is_ordinary(text)) {
        return nullptr;
    }
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
    while (!text.empty()) {
        const auto lead = byte(0);
        std::uint32_t code = lead;
        std::size_t bytes = 1;
        if (lead < 0x80) {
            if (const auto some = text.substr(0, word); is_ordinary(some)) {
                text.remove_prefix(some.size());
                continue;
            }
        } else if (lead >= 0xe1 && lead < 0xed && text.size() >= 3 && continues(1) &&
                   continues(2)) {
            bytes = 3; // most of those that there are, and none that is forbidden
        } else {
            const auto next = first_character(text);
            if (next.bytes == 0) {
                return "contains bytes that are no UTF-8";
            }
            code = next.code;
            bytes = next.bytes;
        }
        if (const char* const fault = fault_of(code)) {
            return fault;
        }
        text.remove_prefix(bytes);
    }
    return nullptr;
}

} // namespace

character first_character(std::string_view text) noexcept
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto lead = byte(0);
    const std::size_t bytes = lead < 0x80             ? 1
                              : (lead & 0xe0) == 0xc0 ? 2
                              : (lead & 0xf0) == 0xe0 ? 3
                              : (lead & 0xf8) == 0xf0 ? 4
                                                      : 0;
    if (bytes == 0 || bytes > text.size()) {
        return {};
    }
    std::uint32_t code = bytes == 1 ? lead : lead & (0x7fU >> bytes);
    for (std::size_t i = 1; i != bytes; ++i) {
        if ((byte(i) & 0xc0) != 0x80) {
            return {};
        }
        code = (code << 6) | (byte(i) & 0x3fU);
    }
    constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < least[bytes] || surrogate || code > 0x10ffff ? character{}
                                                               : character{code, bytes};
}

const char* text_fault(std::string_view text) noexcept
{
    return fault_of_text(text, fault_of_character);
}

bool is_node_name(std::string_view name) noexcept
{
    return !name.empty() && name != "." && name != ".." &&
           name.find('/') == std::string_view::npos &&
           fault_of_text(name, harm_of_character) == nullptr;
}

bool is_node_path(std::string_view path) noexcept
{
    if (!path.starts_with('/')) {
        return false;
    }
    if (path.size() == 1) {
        return true;
    }
    for (;;) {
        path.remove_prefix(1);
        const auto slash = path.find('/');
        if (!is_node_name(path.substr(0, slash))) {
            return false;
        }
        if (slash == std::string_view::npos) {
            return true;
        }
        path.remove_prefix(slash);
    }
}

bool is_appended_number(std::string_view text) noexcept
{
    const bool negative = text.starts_with('-');
    return (text.size() == 10 || (negative && text.size() == 11)) &&
           std::ranges::all_of(text.substr(negative ? 1 : 0),
                               [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace colock::detail
