// What came of making a lock's directory.
#pragma once

#include <colock/error.hpp>

#include <span>

namespace colock::protocol {

// The directory and its ancestors were to be created one by one, the outermost first. What it comes to: no error when the
// directory is there, or creating them again may help.
[[nodiscard]] error_code outcome_of_making(std::span<const error_code> of_each) noexcept;

} // namespace colock::protocol
