// What the servers' answers tell of a lock's directory.
#pragma once

#include <colock/error.hpp>

#include <cstdint>
#include <span>

namespace colock::protocol {

// Metadata of the directory, as an answer tells them.
struct directory_state {
    std::int64_t czxid = 0; // the transaction that created it
    std::int32_t version = 0;
    std::int32_t children = 0;

    friend bool operator==(const directory_state&, const directory_state&) = default;
};

// The result of the step of a transaction that writes to the directory.
struct directory_write {
    error_code error = {};
    directory_state now = {}; // without an error
};

// The directory and its ancestors were to be created one by one, the outermost first. What it comes to: no error when the
// directory is there, or creating them again may help.
[[nodiscard]] error_code outcome_of_making(std::span<const error_code> of_each) noexcept;

} // namespace colock::protocol
