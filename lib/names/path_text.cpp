#include "names/path_text.hpp"

#include <algorithm>
#include <array>

namespace colock::detail {

namespace {

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
    // As a rule all of it.
    const auto* const odd =
        std::ranges::find_if_not(text, [](char c) { return c >= ' ' && c <= '~'; });
    text.remove_prefix(static_cast<std::size_t>(odd - text.begin()));
    while (!text.empty()) {
        const auto next = first_character(text);
        if (next.bytes == 0) {
            return "contains bytes that are no UTF-8";
        }
        if (const char* const fault = fault_of(next.code)) {
            return fault;
        }
        text.remove_prefix(next.bytes);
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

const char* fault_of_names(std::string_view path, bool sequential) noexcept
{
    const auto has = [&](std::string_view part) { return path.find(part) != path.npos; };
    if (has("//")) {
        return "contains \"//\"";
    }
    if (sequential) { // digits follow the last name: it is neither empty nor "."
        path = path.substr(0, path.rfind('/'));
    } else if (path.ends_with('/')) {
        return "ends in '/'";
    }
    return has("/../") || path.ends_with("/..") ? "contains \"..\" as a name"
           : has("/./") || path.ends_with("/.") ? "contains \".\" as a name"
                                                : nullptr;
}

bool is_node_path(std::string_view path) noexcept
{
    return path == "/" || (path.starts_with('/') && fault_of_names(path, false) == nullptr &&
                           fault_of_text(path, harm_of_character) == nullptr);
}

bool is_appended_number(std::string_view text) noexcept
{
    const bool negative = text.starts_with('-');
    return (text.size() == 10 || (negative && text.size() == 11)) &&
           std::ranges::all_of(text.substr(negative ? 1 : 0),
                               [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace colock::detail
