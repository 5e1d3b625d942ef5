// journal_writer JOURNAL RUN MILLISECONDS [stubborn] [family] [forking]: notes every two milliseconds that it is alive.
//
// A stubborn one ignores SIGTERM. One with a family has two processes more: one in a session of its own, and one whose parent
// has ended. Beside one that is forking there is one that notes it once, forks another one like it in a session of its own, and
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
    bool forks = false;
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
        } else if (word == "forking") {
            forks = ::fork() == 0;
        }
    }
    do {
        char line[200];
        const int size =
            std::snprintf(line, sizeof line, "%s %d %lld\n", argv[2], ::getpid(), now());
        if (::write(journal, line, static_cast<std::size_t>(size)) != size) {
            return 3;
        }
        if (!forks) {
            ::usleep(2'000);
        } else if (const auto child = ::fork(); child > 0) {
            return 0;
        } else if (child == 0) {
            ::setsid();
        }
    } while (now() < end);
    return 0;
}
