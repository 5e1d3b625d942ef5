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
    failure(exit_status status, const std::string& what) : failure{status, what, word_for(status)}
    {
    }
    // `reason` is a literal, where the status alone does not tell machines enough.
    failure(exit_status status, const std::string& what, std::string_view reason)
        : std::runtime_error{what}, status_{status}, reason_{reason}
    {
    }

    [[nodiscard]] exit_status status() const noexcept { return status_; }
    [[nodiscard]] std::string_view reason() const noexcept { return reason_; }

private:
    exit_status status_;
    std::string_view reason_;
};

// A text of the library for the users of this program: with the names of options in the place of those in C++.
[[nodiscard]] std::string in_own_words(std::string_view text);

// The failure that an operation of the library has ended with. `detail` are its diagnostics; without them the text of the
// code stands in their place. The line ends with what to do, where that is known.
[[nodiscard]] failure failure_of(const error_code& ec, std::string_view detail = {});

// From now on, what says that no server can be reached says, too, that nobody has named one.
void advise_on_default_servers() noexcept;

// What was thrown, as a failure.
[[nodiscard]] failure failure_of(const std::exception_ptr& thrown);

} // namespace colock::cli
