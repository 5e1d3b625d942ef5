// What the data of a node say of a request to release it. Sans-io.
#pragma once

#include <string>
#include <string_view>

namespace colock::protocol {

// The request, as Apache Curator writes it and compares with it. colock::revocation_request is the same, beside what knows Asio.
inline constexpr std::string_view revocation_request = "__REVOKE__";

// The owner that has read the request writes its own data back, followed by this line: whoever looks then learns who it is,
// and that it was asked. Readers that do not know the line show it, as a part of the program's name at the most; to Curator it is
// no request.
inline constexpr std::string_view mark_of_request = "\n__REVOKE__";

[[nodiscard]] inline bool is_marked(std::string_view data) noexcept
{
    return data.ends_with(mark_of_request);
}

// Whether somebody has asked for the node.
[[nodiscard]] inline bool was_asked_for(std::string_view data) noexcept
{
    return data == revocation_request || is_marked(data);
}

[[nodiscard]] inline std::string marked(std::string_view data)
{
    return std::string{data} + std::string{mark_of_request};
}

// What the owner has written itself.
[[nodiscard]] inline std::string_view without_mark(std::string_view data) noexcept
{
    if (is_marked(data)) {
        data.remove_suffix(mark_of_request.size());
    }
    return data;
}

// The same, of any node: nothing until the owner has read a request.
[[nodiscard]] inline std::string said_by_owner(std::string_view data)
{
    return data == revocation_request ? std::string{} : std::string{without_mark(data)};
}

} // namespace colock::protocol
