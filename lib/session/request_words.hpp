// What the servers' errors mean, in words.
#pragma once

#include "session/request.hpp"

#include <string>

namespace colock::detail {

// "path /x": what the reply is about.
[[nodiscard]] std::string subject_of(const zk::call& c, const zk::reply& r);

// The error in words. A refusal names the permission that is missing, and the node.
[[nodiscard]] std::string error_words(const zk::call& c, const zk::reply& r);

// A list with too many names for the C client, or too long ones: frame_guard has cut it off.
[[nodiscard]] bool is_cut_off(const request& r, const zk::reply& reply);
[[nodiscard]] std::string too_many_names_words(const request& r);

} // namespace colock::detail
