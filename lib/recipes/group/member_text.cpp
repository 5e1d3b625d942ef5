#include "recipes/group/member_text.hpp"

#include "names/path.hpp"

#include <charconv>

namespace colock::protocol {

namespace {

constexpr std::string_view mark = "colock-member weight=";

} // namespace

std::string text_of(const member_text& member)
{
    if (member.weight == 1 && !member.data.starts_with(mark)) {
        return member.data;
    }
    return std::string{mark} + std::to_string(member.weight) + "\n" + member.data;
}

member_text member_text_in(std::string_view text)
{
    if (text.starts_with(mark)) {
        const auto* const begin = text.data() + mark.size();
        const auto* const end = text.data() + text.size();
        std::uint32_t weight = 0;
        const auto [after, ec] = std::from_chars(begin, end, weight);
        if (ec == std::errc{} && after != end && *after == '\n') {
            return {.data = std::string{after + 1, end}, .weight = weight};
        }
    }
    return {.data = std::string{text}};
}

std::string member_name_fault(std::string_view name)
{
    if (name.empty()) {
        return "the name is empty";
    }
    if (name.size() > 255) {
        return "the name is longer than 255 bytes";
    }
    if (name.find('/') != std::string_view::npos) {
        return "the name contains '/'";
    }
    return path_fault("/" + std::string{name});
}

} // namespace colock::protocol
