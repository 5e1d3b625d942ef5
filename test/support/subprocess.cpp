#include "subprocess.hpp"

#include "wait_until.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

extern char** environ;

namespace colock::test {

namespace {

std::runtime_error process_failure(std::string const& what, int error)
{
    return std::runtime_error("subprocess: " + what + ": " + std::strerror(error));
}

// The thread that forks for everybody; see the contract of subprocess. It is never joined and its
// state is never freed: children must live until the very end of the process.
class forking_thread {
public:
    static pid_t run(std::function<pid_t()> const& fork_one)
    {
        static std::mutex instance_mutex;
        static forking_thread* instance = nullptr;
        static pid_t owner = -1;
        forking_thread* chosen;
        {
            std::lock_guard lock(instance_mutex);
            // A fork of the whole process does not carry the thread along.
            if (owner != ::getpid()) {
                instance = new forking_thread;
                owner = ::getpid();
            }
            chosen = instance;
        }
        return chosen->execute(fork_one);
    }

private:
    forking_thread()
    {
        // Signals are for the threads of the program, this one must not take any from them.
        sigset_t all, before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        std::thread([this] { serve(); }).detach();
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    pid_t execute(std::function<pid_t()> const& job)
    {
        std::lock_guard one_at_a_time(callers_);
        std::unique_lock lock(mutex_);
        job_ = &job;
        changed_.notify_all();
        changed_.wait(lock, [this] { return job_ == nullptr; });
        return result_;
    }

    void serve()
    {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return job_ != nullptr; });
            result_ = (*job_)();
            job_ = nullptr;
            changed_.notify_all();
        }
    }

    std::mutex callers_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<pid_t()> const* job_ = nullptr;
    pid_t result_ = -1;
};

struct descriptor {
    int fd = -1;
    descriptor() = default;
    explicit descriptor(int value) : fd(value) {}
    descriptor(descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept
    {
        std::swap(fd, other.fd);
        return *this;
    }
    ~descriptor() { reset(); }
    void reset()
    {
        if (fd >= 0)
            ::close(fd);
        fd = -1;
    }
    int release() { return std::exchange(fd, -1); }
};

struct pipe_ends {
    descriptor read, write;
};

pipe_ends make_pipe()
{
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw process_failure("pipe", errno);
    return {descriptor(ends[0]), descriptor(ends[1])};
}

descriptor open_file(std::string const& path, int flags)
{
    descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0644));
    if (file.fd < 0)
        throw process_failure("cannot open " + path, errno);
    return file;
}

// Everything the child needs, prepared before the fork: between fork and exec only
// async-signal-safe functions are allowed.
struct launch {
    char const* program;
    char* const* arguments;
    char* const* environment;
    char const* directory;
    int input, output, error_output; // -1: the parent's
    int report;                      // gets errno when the child cannot be started
    pid_t parent;

    [[noreturn]] void fail() const
    {
        int const error = errno;
        [[maybe_unused]] auto written = ::write(report, &error, sizeof error);
        ::_exit(127);
    }

    static void close_all_on_exec()
    {
        // Libraries open descriptors without O_CLOEXEC (the ZooKeeper client does), so whatever is
        // open is marked here, the report pipe included.
        if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
            return;
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        auto const end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 65536));
        for (int fd = 3; fd < end; ++fd)
            ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }

    [[noreturn]] void run_in_child() const
    {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) // it died before the line above
            ::_exit(127);
        ::setpgid(0, 0);

        // All three are either -1 or at least 3: the parent keeps its standard descriptors open.
        if ((input >= 0 && ::dup2(input, 0) < 0) || (output >= 0 && ::dup2(output, 1) < 0) ||
            (error_output >= 0 && ::dup2(error_output, 2) < 0))
            fail();
        if (*directory && ::chdir(directory) != 0)
            fail();

        struct sigaction plain {};
        plain.sa_handler = SIG_DFL;
        for (int number = 1; number < NSIG; ++number)
            ::sigaction(number, &plain, nullptr);
        close_all_on_exec();
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);

        ::execve(program, arguments, environment);
        fail();
    }
};

std::vector<char*> as_pointers(std::vector<std::string>& strings)
{
    std::vector<char*> pointers;
    for (auto& s : strings)
        pointers.push_back(s.data());
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> merged_environment(std::vector<std::string> own)
{
    for (char** entry = environ; entry && *entry; ++entry) {
        std::string const inherited = *entry;
        auto const name = inherited.substr(0, inherited.find('=') + 1);
        if (std::none_of(own.begin(), own.end(),
                         [&](auto const& mine) { return mine.rfind(name, 0) == 0; }))
            own.push_back(inherited);
    }
    return own;
}

} // namespace

std::string find_program(std::string const& name)
{
    auto const usable = [](std::string const& path) { return ::access(path.c_str(), X_OK) == 0; };
    if (name.find('/') != std::string::npos)
        return usable(name) ? name : std::string();
    char const* const search = std::getenv("PATH");
    std::string const directories = search ? search : "/usr/local/bin:/usr/bin:/bin";
    for (std::size_t begin = 0; begin <= directories.size();) {
        auto const end = std::min(directories.find(':', begin), directories.size());
        auto const path = directories.substr(begin, end - begin) + "/" + name;
        if (end > begin && usable(path))
            return path;
        begin = end + 1;
    }
    return {};
}

subprocess::subprocess(std::vector<std::string> arguments, subprocess_options options)
{
    if (arguments.empty())
        throw std::runtime_error("subprocess: no program given");
    auto const program = find_program(arguments[0]);
    if (program.empty())
        throw std::runtime_error("subprocess: there is no program " + arguments[0]);

    descriptor input, child_input, child_output, child_error;
    descriptor output;
    if (options.open_input) {
        auto ends = make_pipe();
        input = std::move(ends.write);
        child_input = std::move(ends.read);
    } else {
        child_input = open_file("/dev/null", O_RDONLY);
    }
    if (options.capture_output) {
        auto ends = make_pipe();
        output = std::move(ends.read);
        child_output = std::move(ends.write);
    }
    if (!options.output_file.empty()) {
        child_error = open_file(options.output_file, O_WRONLY | O_CREAT | O_APPEND);
        if (child_output.fd < 0)
            child_output = open_file(options.output_file, O_WRONLY | O_CREAT | O_APPEND);
    }
    auto report = make_pipe();

    auto environment = merged_environment(std::move(options.environment));
    auto const argument_pointers = as_pointers(arguments);
    auto const environment_pointers = as_pointers(environment);
    launch const start{program.c_str(),
                       argument_pointers.data(),
                       environment_pointers.data(),
                       options.working_directory.c_str(),
                       child_input.fd,
                       child_output.fd,
                       child_error.fd,
                       report.write.fd,
                       ::getpid()};
    int fork_error = 0;
    pid_t const child = forking_thread::run([&] {
        pid_t const forked = ::fork();
        if (forked == 0)
            start.run_in_child();
        fork_error = forked < 0 ? errno : 0;
        return forked;
    });
    if (child < 0)
        throw process_failure("fork", fork_error);

    // The pipe closes by itself at the exec; until then it can only bring a failure.
    report.write.reset();
    int exec_error = 0;
    ssize_t count;
    do
        count = ::read(report.read.fd, &exec_error, sizeof exec_error);
    while (count < 0 && errno == EINTR);
    if (count > 0) {
        ::waitpid(child, nullptr, 0);
        throw process_failure("cannot run " + program, exec_error);
    }
    pid_ = child;
    output_ = output.release();
    input_ = input.release();
}

subprocess::~subprocess()
{
    kill();
    close_input();
    if (output_ >= 0)
        ::close(output_);
}

// Requires mutex_. True when the process has ended; its status is then known.
bool subprocess::reap(int flags)
{
    if (status_)
        return true;
    int status = 0;
    pid_t got;
    do
        got = ::waitpid(pid_, &status, flags);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return false;
    exit_status result;
    if (got > 0 && WIFEXITED(status))
        result.code = WEXITSTATUS(status);
    else if (got > 0)
        result = {-1, WTERMSIG(status)};
    else
        result = {-1, 0}; // somebody else waited for it (SIGCHLD ignored): gone, how is unknown
    status_ = result;
    return true;
}

bool subprocess::running()
{
    std::lock_guard lock(mutex_);
    return !reap(WNOHANG);
}

void subprocess::send_signal(int number)
{
    std::lock_guard lock(mutex_);
    if (!reap(WNOHANG))
        ::kill(pid_, number);
}

void subprocess::kill()
{
    std::lock_guard lock(mutex_);
    if (reap(WNOHANG))
        return;
    ::kill(pid_, SIGKILL);
    reap(0);
}

bool subprocess::stop()
{
    std::lock_guard lock(mutex_);
    if (reap(WNOHANG))
        return false;
    ::kill(pid_, SIGSTOP);
    siginfo_t info{};
    // WNOWAIT: an exit is left for reap().
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT) != 0)
        if (errno != EINTR)
            return false;
    return info.si_code == CLD_STOPPED;
}

void subprocess::resume()
{
    send_signal(SIGCONT);
}

exit_status subprocess::wait()
{
    using namespace std::chrono_literals;
    for (;;)
        if (auto const status = wait_for(1h))
            return *status;
}

std::optional<exit_status> subprocess::wait_for(std::chrono::milliseconds timeout)
{
    // Polled, not blocked in waitpid, so that other threads can signal the child meanwhile.
    wait_until([this] { return !running(); }, timeout);
    std::lock_guard lock(mutex_);
    return status_;
}

std::optional<std::string> subprocess::read_line(std::chrono::milliseconds timeout)
{
    auto const deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
        if (auto const end = unread_.find('\n'); end != std::string::npos) {
            auto line = unread_.substr(0, end);
            unread_.erase(0, end + 1);
            return line;
        }
        if (output_ < 0) {
            if (unread_.empty())
                return std::nullopt;
            return std::exchange(unread_, std::string());
        }
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        pollfd readable{output_, POLLIN, 0};
        int const ready =
            ::poll(&readable, 1, static_cast<int>(std::max<long long>(left.count(), 0)));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return std::nullopt;
        char buffer[4096];
        auto const count = ::read(output_, buffer, sizeof buffer);
        if (count > 0) {
            unread_.append(buffer, static_cast<std::size_t>(count));
        } else if (count == 0 || errno != EINTR) {
            ::close(output_);
            output_ = -1;
        }
    }
}

bool subprocess::write_input(std::string const& text)
{
    // A child that closed its input must be an answer here, not a SIGPIPE for the whole test.
    sigset_t broken_pipe, before;
    ::sigemptyset(&broken_pipe);
    ::sigaddset(&broken_pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    std::size_t done = 0;
    bool broken = false;
    while (done < text.size() && !broken) {
        auto const count = ::write(input_, text.data() + done, text.size() - done);
        if (count >= 0)
            done += static_cast<std::size_t>(count);
        else
            broken = errno != EINTR;
    }
    if (broken) {
        timespec const now{};
        ::sigtimedwait(&broken_pipe, nullptr, &now);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return !broken;
}

void subprocess::close_input()
{
    if (input_ >= 0)
        ::close(input_);
    input_ = -1;
}

} // namespace colock::test
