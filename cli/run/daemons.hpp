// Daemons that a command starts on purpose, and that outlive it (--leave).
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace colock::cli {

class daemons {
public:
    // Names of processes, and files with the number of one: those with a '/'.
    explicit daemons(std::vector<std::string> names = {}) : names_{std::move(names)} {}

    [[nodiscard]] bool empty() const noexcept { return names_.empty(); }

    // Those below this process. Their own processes belong to them. The command is none.
    [[nodiscard]] std::vector<pid_t> below_this(pid_t command) const;

    // Why --leave has not kept a process, for people: of the first name that cannot have.
    [[nodiscard]] std::string why_not() const;

private:
    std::vector<std::string> names_;
};

} // namespace colock::cli
