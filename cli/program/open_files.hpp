// The limit of open files.
#pragma once

#include <sys/resource.h>

namespace colock::cli {

// As far as this process may. Not for a command of the user: those that call select() need the low one that is usual.
inline void raise_limit_of_files() noexcept
{
    ::rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

} // namespace colock::cli
