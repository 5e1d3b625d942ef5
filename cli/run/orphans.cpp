#include "run/orphans.hpp"

#include "connect/awaiting.hpp"
#include "run/process_tree.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace colock::cli {

namespace asio = boost::asio;

namespace {

// A look at all processes costs more than most commands.
bool has_children()
{
    ::siginfo_t ignored{};
    return ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 ||
           errno != ECHILD;
}

} // namespace

orphans::orphans() : others_{has_children() ? children_of(::getpid()) : std::vector<pid_t>{}}
{
}

void orphans::note_others(const std::vector<pid_t>& own, const std::function<bool()>& all_live)
{
    auto children = some_own_children();
    if (all_live()) {
        std::erase_if(children, [&](pid_t child) {
            return contains(own, child) || contains(others_, child);
        });
        others_.insert(others_.end(), children.begin(), children.end());
    }
    // Nobody else does: a session guard that was replaced is one.
    std::erase_if(others_, [](pid_t child) { return ::waitpid(child, nullptr, WNOHANG) == child; });
}

round_end orphans::end_some(const std::vector<pid_t>& own, int& refused) const
{
    auto spared = others_;
    spared.insert(spared.end(), own.begin(), own.end());
    return end_children(
        {.none = [] { return !has_children(); },
         .look =
             [&] {
                 auto left = own_children();
                 std::erase_if(left, [&](pid_t child) { return contains(spared, child); });
                 return left;
             },
         .reap = [](pid_t child) { return ::waitpid(child, nullptr, WNOHANG) == child; },
         .kill =
             [&] {
                 const auto reap = [&] {
                     for (const auto child : some_own_children()) {
                         if (!contains(spared, child)) {
                             ::waitpid(child, nullptr, WNOHANG);
                         }
                     }
                 };
                 refused = signal_all_below_this(SIGKILL, reap, spared);
             },
         .spares = !spared.empty()});
}

asio::awaitable<void> orphans::end(std::function<std::vector<pid_t>()> own,
                                   std::function<void(int)> refused) const
{
    using namespace std::chrono_literals;
    for (auto wait = 5ms;;) {
        int number = 0;
        const auto round = end_some(own(), number);
        if (round == round_end::over) {
            co_return;
        }
        if (number != 0) {
            refused(number);
        }
        const bool has_reaped = round == round_end::reaped;
        co_await pause(has_reaped ? 0ms : wait);
        wait = has_reaped ? 5ms : std::min<std::chrono::milliseconds>(2 * wait, 250ms);
    }
}

} // namespace colock::cli
