#include "run/inherited_signals.hpp"

namespace colock::cli {

inherited_signals::inherited_signals() noexcept
{
    ::sigprocmask(SIG_SETMASK, nullptr, &mask_);
    ::sigemptyset(&ignored_);
    for (int number = 1; number < NSIG; ++number) {
        struct sigaction action {};
        if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
            ::sigaddset(&ignored_, number);
        }
    }
}

bool inherited_signals::ignored(int number) const noexcept
{
    return ::sigismember(&ignored_, number) == 1;
}

void inherited_signals::restore() const noexcept
{
    for (int number = 1; number < NSIG; ++number) {
        ::signal(number, ignored(number) ? SIG_IGN : SIG_DFL);
    }
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

} // namespace colock::cli
