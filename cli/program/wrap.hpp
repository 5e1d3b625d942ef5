// Text in lines of a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace colock::cli {

inline constexpr std::size_t line_width = 80;

// Paragraphs, without blank lines between and without their ends of line. Lines that begin with a blank are no part of one:
// each is a text of its own, as it was written.
[[nodiscard]] std::vector<std::string> paragraphs(std::string_view text);

// The words in lines of line_width at most, behind `indent` blanks; the first line has `before` in their place, which is filled up
// with blanks, or has a line of its own when it is too long. Each line ends with '\n'. A longer word is not divided.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t indent = 0,
                                  std::string_view before = {});

} // namespace colock::cli
