// journal_writer JOURNAL RUN MILLISECONDS [stubborn] [family]: notes every two milliseconds that it is alive.
//
// A stubborn one ignores SIGTERM. One with a family has two processes more: one in a session of its own, and one whose parent
// has ended.
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

long long now()
{
    ::timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 4) {
        std::fputs("usage: journal_writer JOURNAL RUN MILLISECONDS [stubborn] [family]\n", stderr);
        return 2;
    }
    const int journal = ::open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const auto end = now() + std::atoll(argv[3]) * 1'000'000;
    for (int i = 4; i < argc; ++i) {
        const std::string_view word{argv[i]};
        if (word == "stubborn") {
            ::signal(SIGTERM, SIG_IGN);
        } else if (word == "family") {
            if (::fork() == 0) {
                ::setsid();
            } else if (::fork() == 0) {
                if (::fork() != 0) {
                    ::_exit(0);
                }
                ::setpgid(0, 0);
            }
        }
    }
    do {
        char line[200];
        const int size =
            std::snprintf(line, sizeof line, "%s %d %lld\n", argv[2], ::getpid(), now());
        if (::write(journal, line, static_cast<std::size_t>(size)) != size) {
            return 3;
        }
        ::usleep(2'000);
    } while (now() < end);
    return 0;
}
