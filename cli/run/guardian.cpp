#include "run/guardian.hpp"

#include "run/boot_time.hpp"
#include "run/guardian_messages.hpp"
#include "run/process_tree.hpp"
#include "run/variables.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::cli {

namespace {

// Milliseconds: many commands are over by then.
constexpr int a_moment = 50;

// A command that was started, from then on until none of its processes is left.
struct guarded_run {
    pid_t command;
    guardian_policy policy;
    std::optional<int> status = {}; // of the command, when it has ended
    bool behind_bound = false;
    std::optional<std::chrono::nanoseconds> ended_at =
        {}; // the command, while daemons take their names
    bool told_left = false;
    std::chrono::nanoseconds began = boot_time();
    bool refused = false; // some processes cannot be ended, and the supervisor was told
};

// Where it may: the guardian has to react while the machine is short of memory. Not the libraries that speak to servers: they are
// most of the memory, and the guardian calls none of them.
void lock_memory()
{
    std::ifstream maps{"/proc/self/maps"};
    std::vector<std::pair<std::uintptr_t, std::size_t>> all;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0, end = 0;
        const auto* const past = line.data() + line.size();
        const auto [dash, first] = std::from_chars(line.data(), past, begin, 16);
        const auto [blank, second] = std::from_chars(std::min(dash + 1, past), past, end, 16);
        const bool is_for_servers = line.find("/libcrypto.") != line.npos ||
                                    line.find("/libssl.") != line.npos ||
                                    line.find("/libzookeeper") != line.npos;
        if (first == std::errc{} && second == std::errc{} && !is_for_servers) {
            all.emplace_back(begin, end - begin);
        }
    }
    for (const auto& [begin, size] : all) {
        ::mlock(reinterpret_cast<const void*>(begin), size); // NOLINT(performance-no-int-to-ptr)
    }
}

class guardian {
public:
    guardian(int supervisor, int consent, const guardian_task& task)
        : supervisor_{supervisor}, consent_{consent}, task_{task}
    {
    }

    [[noreturn]] void serve()
    {
        prepare();
        task_.bound.set_guardian(::getpid());
        for (;;) {
            if (!run_ && !supervisor_there_) {
                static_cast<void>(::write(consent_, "", 1)); // nobody may be there to read it
                ::_exit(0);
            }
            wait();
            hear_supervisor();
            reap();
            look_for_daemons();
            act();
        }
    }

private:
    void prepare()
    {
        children_ = stand_apart();
        timer_ = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        const int error = children_ < 0 || timer_ < 0 ? errno : 0;
        adopt_orphans();
        show_as("lock-guardian", task_.shown);
        if (error != 0) { // it would sleep through the bound
            refuse_start(supervisor_, consent_, error);
        }
    }

    void wait()
    {
        ::itimerspec at{};
        if (run_) {
            const auto now = boot_time();
            const auto step = run_->policy.next_step(now, task_.bound.until());
            const auto next = (run_->ended_at ? std::min(step, now + between_looks) : step).count();
            at.it_value.tv_sec = next / 1'000'000'000;
            at.it_value.tv_nsec = std::max(next % 1'000'000'000, std::int64_t{1}); // 0 is "never"
        }
        ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
        ::pollfd of[]{{children_, POLLIN, 0},
                      {timer_, POLLIN, 0},
                      {supervisor_there_ ? supervisor_ : -1, POLLIN, 0}};
        const bool is_moment_over = ::poll(of, 3, run_ && !locked_ ? a_moment : -1) == 0;
        if (run_ && !locked_ &&
            (is_moment_over || boot_time() - run_->began >= std::chrono::milliseconds{a_moment})) {
            locked_ = true;
            lock_memory();
        }
        ::signalfd_siginfo ignored;
        while (::read(children_, &ignored, sizeof ignored) > 0) {
        }
    }

    void hear_supervisor()
    {
        message m{};
        while (supervisor_there_) {
            switch (receive(supervisor_, m)) {
            case received::nothing: return;
            case received::end:
                supervisor_there_ = false;
                if (run_) {
                    run_->policy.supervisor_gone(boot_time());
                }
                return;
            case received::message: obey(m);
            }
        }
    }

    void obey(const message& m)
    {
        if (m.kind == message_kind::start && !run_) {
            start(m.text);
        } else if (m.kind == message_kind::pass_on && run_ && !run_->status) {
            ::kill(-run_->command, m.value);
            if (asks_to_end(m.value)) {
                ::kill(-run_->command, SIGCONT); // a stopped command would not hear of it
            }
        } else if (m.kind == message_kind::end && run_) {
            run_->policy.asked_to_end(boot_time());
        } else if (m.kind == message_kind::kill && run_) {
            run_->policy.lost();
        }
    }

    void start(const std::string& text)
    {
        const auto environment = unpacked(text);
        if (!environment) {
            send(supervisor_, {message_kind::cannot_start, EBADMSG});
            return;
        }
        const auto started =
            start_command(task_.command, *environment, task_.signals, task_.tty, task_.bound);
        if (started.id < 0) {
            send(supervisor_, {message_kind::cannot_start, started.error});
            return;
        }
        run_.emplace(guarded_run{started.id, guardian_policy{task_.terms}});
        send(supervisor_, {message_kind::started, started.id});
    }

    // Children, and orphans that have become children.
    void reap()
    {
        int status = 0;
        pid_t ended = 0;
        while ((ended = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
            if (!run_ || ended != run_->command) {
                continue;
            }
            if (WIFSTOPPED(status)) {
                // A stopped supervisor reads nothing; this process has a bound to watch.
                send_or_drop(supervisor_, {message_kind::stopped, WSTOPSIG(status)});
                continue;
            }
            run_->status = status;
            if (task_.left.empty()) {
                run_->policy.command_ended(boot_time());
            } else {
                run_->ended_at = boot_time();
            }
            send_or_drop(supervisor_, {message_kind::ended});
        }
        // Each process that is left has an ancestor here.
        if (run_ && ended < 0 && errno == ECHILD) {
            conclude();
        }
    }

    void conclude()
    {
        task_.bound.count_work(); // the supervisor may have been stopped, and hears of it now
        send(supervisor_,
             {message_kind::over, run_->status.value_or(0), run_->behind_bound ? "late" : ""});
        run_.reset();
    }

    // A process that has just been forked has the name of its parent: so what is left gets a moment before it is ended.
    void look_for_daemons()
    {
        if (!run_ || !run_->status || task_.left.empty()) {
            return;
        }
        const auto spared = task_.left.below_this(run_->command);
        const auto children = own_children();
        // None: /proc cannot be read. Where there is none, reap() has concluded.
        if (!children.empty() &&
            std::ranges::all_of(children, [&](pid_t child) { return contains(spared, child); })) {
            conclude();
        } else if (run_->ended_at && boot_time() - *run_->ended_at >= for_names) {
            run_->ended_at.reset();
            run_->policy.command_ended(boot_time());
        }
    }

    void act()
    {
        if (!run_) {
            return;
        }
        const auto now = boot_time();
        const auto bound = task_.bound.until();
        run_->behind_bound = run_->behind_bound || now >= bound;
        switch (run_->policy.step(now, bound)) {
        case guardian_policy::order::nothing: break;
        case guardian_policy::order::terminate: end_all(SIGTERM); break;
        case guardian_policy::order::kill:
            end_all(SIGKILL);
            task_.bound.count_work();
            break;
        }
    }

    void end_all(int number)
    {
        const auto spared = task_.left.below_this(run_->command);
        tell_left(spared);
        const int refused = signal_all_below_this(
            number, [this] { reap(); }, spared);
        // It has a child, so /proc cannot be read: this machine has too many open files.
        if (run_ && !run_->status && spared.empty() && children_of(::getpid()).empty() &&
            ::kill(-run_->command, number) != 0) {
            ::kill(run_->command, number);
        }
        if (refused != 0 && run_ && !std::exchange(run_->refused, true)) {
            send_or_drop(supervisor_, {message_kind::refused, refused});
        }
    }

    // Once, of a command that has ended by itself.
    void tell_left(const std::vector<pid_t>& spared)
    {
        if (std::exchange(run_->told_left, true) || !run_->status) {
            return;
        }
        std::vector<pid_t> kept = spared;
        std::int32_t number = 0;
        std::string names;
        for (const auto& p : processes_below_this()) { // parents first
            if (contains(kept, p.id) || contains(kept, p.parent)) {
                kept.push_back(p.id);
            } else if (!p.has_ended && p.name != "session-guard" && // that ends with its session
                       ++number <= most_named) {
                auto name = p.name;
                std::ranges::replace(name, '\n', ' ');
                names += std::to_string(p.id) + ' ' + name + '\n';
            }
        }
        if (number != 0) {
            send_or_drop(supervisor_, {message_kind::left_behind, number, names});
        }
    }

    static constexpr std::chrono::nanoseconds between_looks = std::chrono::milliseconds{20};
    static constexpr std::chrono::nanoseconds for_names = std::chrono::milliseconds{500};
    static constexpr std::int32_t most_named = 8;

    const int supervisor_;
    const int consent_;
    const guardian_task& task_;
    bool supervisor_there_ = true;
    int children_ = -1;
    int timer_ = -1;
    bool locked_ = false; // the memory
    std::optional<guarded_run> run_;
};

} // namespace

int stand_apart()
{
    // Not in the supervisor's group: whoever stops or kills that group shall not meet this process.
    ::setpgid(0, 0);
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGTTIN,
                             SIGTTOU, SIGPIPE, SIGALRM}) {
        ::signal(number, SIG_IGN);
    }
    // Where SIGCHLD is ignored, the kernel reaps children itself, and nobody learns how they ended.
    ::signal(SIGCHLD, SIG_DFL);
    ::sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_SETMASK, &child, nullptr);
    return ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

void refuse_start(int supervisor, int consent, int error)
{
    for (message asked{};;) {
        ::pollfd next{supervisor, POLLIN, 0};
        ::poll(&next, 1, -1);
        const auto what = receive(supervisor, asked);
        if (what == received::message && asked.kind == message_kind::start) {
            send(supervisor, {message_kind::cannot_start, error});
        } else if (what == received::end) {
            [[maybe_unused]] const auto size = ::write(consent, "", 1); // nothing was started
            ::_exit(0);
        }
    }
}

void show_as(const char* name, std::span<char> shown)
{
    ::prctl(PR_SET_NAME, name);
    std::ranges::fill(shown, '\0');
    if (!shown.empty()) {
        std::string_view{name}.copy(shown.data(), shown.size() - 1);
    }
}

void be_guardian(int supervisor, int consent, const guardian_task& task)
{
    guardian{supervisor, consent, task}.serve();
}

} // namespace colock::cli
