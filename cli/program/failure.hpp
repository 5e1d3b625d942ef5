// Why `colock` cannot do what it was asked for: one line for people, and a status for scripts.
#pragma once

#include <colock/error.hpp>

#include "program/exit_status.hpp"

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace colock::cli {

// The longest line that says so.
inline constexpr std::size_t longest_line = 16'384;

class failure : public std::runtime_error {
public:
    // `what` is one line that says what is wrong and what to do, without the name of the program.
    failure(exit_status status, const std::string& what) : std::runtime_error{what}, status_{status}
    {
    }

    [[nodiscard]] exit_status status() const noexcept { return status_; }

private:
    exit_status status_;
};

// A text of the library for the users of this program: with the names of options in the place of those in C++.
[[nodiscard]] std::string in_own_words(std::string_view text);

// The failure that an operation of the library has ended with. `detail` are its diagnostics; without them the text of the
// code stands in their place. The line ends with what to do, where that is known.
[[nodiscard]] failure failure_of(const error_code& ec, std::string_view detail = {});

// What was thrown, as a failure.
[[nodiscard]] failure failure_of(const std::exception_ptr& thrown);

} // namespace colock::cli
