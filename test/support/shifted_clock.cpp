// Preloaded into a program, sets its clock: by as many seconds as the file has that COLOCK_TEST_CLOCK names. Other clocks go
// on as they do.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

long shift() noexcept
{
    static const volatile long* const at = [] {
        static const long none = 0;
        const char* const name = std::getenv("COLOCK_TEST_CLOCK");
        const int file = name ? ::open(name, O_RDONLY | O_CLOEXEC) : -1;
        void* const map =
            file < 0 ? MAP_FAILED : ::mmap(nullptr, sizeof none, PROT_READ, MAP_SHARED, file, 0);
        ::close(file);
        return map == MAP_FAILED ? &none : static_cast<const long*>(map);
    }();
    return *at;
}

} // namespace

extern "C" {

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): those of the C library are reserved
int clock_gettime(clockid_t clock, timespec* now) noexcept
{
    const auto result = ::syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += shift();
    }
    return static_cast<int>(result);
}

int gettimeofday(timeval* now, void* /*zone*/) noexcept
{
    timespec t{};
    ::clock_gettime(CLOCK_REALTIME, &t);
    *now = {t.tv_sec, t.tv_nsec / 1000};
    return 0;
}

time_t time(time_t* now) noexcept
{
    timespec t{};
    ::clock_gettime(CLOCK_REALTIME, &t);
    if (now) {
        *now = t.tv_sec;
    }
    return t.tv_sec;
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
}
