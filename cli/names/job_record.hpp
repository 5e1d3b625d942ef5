// The node beside a lock that remembers the runs of a job (`colock run --once-per`).
#pragma once

#include <string>
#include <string_view>

namespace colock::cli {

// Of the lock at this path.
[[nodiscard]] inline std::string job_record_of(const std::string& path)
{
    return path + ".runs";
}

// What its data begin with.
inline constexpr std::string_view job_record_words = "colock job";

[[nodiscard]] inline bool is_job_record(std::string_view data) noexcept
{
    return data.starts_with(job_record_words) &&
           (data.size() == job_record_words.size() || data[job_record_words.size()] == ' ');
}

} // namespace colock::cli
