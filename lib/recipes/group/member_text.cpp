#include "recipes/group/member_text.hpp"

#include "names/path.hpp"
#include "names/taken_text.hpp"

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
    auto rest = text;
    if (take(rest, mark)) {
        const auto weight = take_number<std::uint32_t>(rest);
        if (weight && take(rest, "\n")) {
            return {.data = std::string{rest}, .weight = *weight};
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
