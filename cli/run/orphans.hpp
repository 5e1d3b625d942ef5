// What guardians that were killed leave: children of this process, beside others that are not to be ended.
#pragma once

#include "run/end_children.hpp"

#include <boost/asio/awaitable.hpp>

#include <sys/types.h>

#include <functional>
#include <vector>

namespace colock::cli {

class orphans {
public:
    // To be made before this process has children of its own making.
    orphans();

    // A process that becomes a child of this one while all guardians live is none of a command: those become children of a
    // guardian. `own`: guardians, and who forks them. `all_live` is asked after the look.
    void note_others(const std::vector<pid_t>& own, const std::function<bool()>& all_live);

    // Once. `own`: guardians that live, and who forks them.
    round_end end_some(const std::vector<pid_t>& own, int& refused) const;
    // Until nothing is left. `own` is asked again and again.
    boost::asio::awaitable<void> end(std::function<std::vector<pid_t>()> own,
                                     std::function<void(int)> refused) const;

private:
    // Children that this process has inherited from the program that became it, orphans of theirs, and session guards.
    std::vector<pid_t> others_;
};

} // namespace colock::cli
