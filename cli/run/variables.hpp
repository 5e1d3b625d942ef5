// What the command finds in its environment beside what colock itself has found there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::cli {

struct variable {
    std::string name;
    std::optional<std::string> value; // none: the command must not find the variable

    friend bool operator==(const variable&, const variable&) = default;
};

// Each as NAME=VALUE, or NAME of one that the command must not find, and a NUL, which no value has: so none can pass for the
// next variable. Throws std::invalid_argument for what no environment can have.
[[nodiscard]] std::string packed(const std::vector<variable>& all);
// What was packed; empty when anything else is in it.
[[nodiscard]] std::optional<std::vector<variable>> unpacked(std::string_view text);

} // namespace colock::cli
