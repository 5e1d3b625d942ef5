// The data of a member's node. Sans-io.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace colock::protocol {

struct member_text {
    std::string data;
    std::uint32_t weight = 1;
};

// The data as they are, unless there is something to say in a first line, or they look as if there were.
[[nodiscard]] std::string text_of(const member_text& member);
[[nodiscard]] member_text member_text_in(std::string_view text);

// "" when a member may have the name, else what is wrong with it.
[[nodiscard]] std::string member_name_fault(std::string_view name);

} // namespace colock::protocol
