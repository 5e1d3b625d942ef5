// Starts the helper process, and speaks to it.
#include "guard/helper.hpp"

#ifdef COLOCK_PORTABLE

colock::guard::started_helper colock::guard::find_helper(const std::string&, int)
{
    return {nullptr, "it needs Linux"};
}

#else

#include "guard/inherited.hpp"
#include "zk/process.hpp"
#include "zk/secret.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <list>
#include <mutex>
#include <utility>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
// The thread sanitizer has a clone() of its own. It takes the new process for one with a copy of the memory, and follows no lock
// of the calling thread any more. glibc's has this name, too, which no header declares.
extern "C" int __clone(int (*)(void*), void*, int, void*, ...) noexcept;
#define clone __clone
#endif

namespace colock::guard {

namespace {

// A descriptor that is closed on exec.
class owned_descriptor {
public:
    owned_descriptor() = default;
    explicit owned_descriptor(int d) noexcept : d_{d} {}
    owned_descriptor(owned_descriptor&& other) noexcept : d_{std::exchange(other.d_, -1)} {}
    owned_descriptor& operator=(owned_descriptor&& other) noexcept
    {
        std::swap(d_, other.d_);
        return *this;
    }
    ~owned_descriptor()
    {
        if (d_ != -1) {
            ::close(d_);
        }
    }
    [[nodiscard]] int get() const noexcept { return d_; }
    void release() noexcept { d_ = -1; }
    [[nodiscard]] explicit operator bool() const noexcept { return d_ != -1; }

private:
    int d_ = -1;
};

std::string system_fault(const char* what)
{
    return std::string{what} + ": " + std::strerror(errno);
}

// ---- a process that nobody has to wait for

constexpr int first_free = 10; // above the descriptors that the guard is given

struct start_terms {
    const char* program;
    const char* name; // that it shows
    bool needs_consent;
    std::array<int, last_inherited + 1> descriptors; // by the numbers that they get
    int failed = 0;                                  // errno
};

// Between clone and exec the memory is the parent's, whose thread waits: only calls of the system, no handler of a signal, and
// no cancellation. Sanitizers would take its stack for the parent's.
[[gnu::no_sanitize_address, gnu::no_sanitize_thread]] int become_guard(void* of)
{
    auto& terms = *static_cast<start_terms*>(of);
    ::setsid();
    for (int to = 0; to <= last_inherited; ++to) {
        if (::dup2(terms.descriptors[static_cast<std::size_t>(to)], to) == -1) {
            terms.failed = errno;
            ::_exit(127);
        }
    }
    char consent[] = "consent";
    char* arguments[] = {const_cast<char*>(terms.name), terms.needs_consent ? consent : nullptr,
                         nullptr}; // which exec only reads
    char* environment[] = {nullptr};
    ::execve(terms.program, arguments, environment);
    terms.failed = errno;
    ::_exit(127);
}

constexpr std::size_t stack_size = std::size_t{64} * 1024;

struct parent_terms {
    start_terms* child;
    char* end_of_stack;
};

// Its child is nobody's, so that no wait() of the program sees it: it goes to init, or to a subreaper.
[[gnu::no_sanitize_address, gnu::no_sanitize_thread]] int start_and_exit(void* of)
{
    auto& terms = *static_cast<parent_terms*>(of);
    if (::clone(&become_guard, terms.end_of_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, terms.child) ==
        -1) {
        terms.child->failed = errno;
    }
    ::_exit(0);
}

// Returns errno. As posix_spawn() starts a process, but twice.
int start(start_terms& terms)
{
    const std::size_t size = 2 * stack_size;
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) {
        return errno;
    }
    auto* const stacks = static_cast<char*>(memory);
    parent_terms parent{&terms, stacks + size};
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    int cancellation = 0;
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    // Without a signal at its end this child is not seen by wait(), either.
    const auto child =
        ::clone(&start_and_exit, stacks + stack_size, CLONE_VM | CLONE_VFORK, &parent);
    const int failed = child == -1 ? errno : terms.failed;
    while (child != -1 && ::waitpid(child, nullptr, static_cast<int>(__WCLONE)) == -1 &&
           errno == EINTR) {
    }
    ::pthread_setcancelstate(cancellation, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::munmap(memory, size);
    return failed;
}

// After unshare(CLONE_NEWPID) the child that exits first is the first process of the new namespace, and takes it along. While
// nobody is in that, the link to it leads nowhere.
bool children_have_another_namespace()
{
    struct stat own {
    }, of_children{};
    if (::stat("/proc/self/ns/pid", &own) != 0) {
        return false;
    }
    if (::stat("/proc/self/ns/pid_for_children", &of_children) != 0) {
        return errno == ENOENT && ::lstat("/proc/self/ns/pid_for_children", &of_children) == 0;
    }
    return own.st_ino != of_children.st_ino;
}

owned_descriptor raised(int descriptor)
{
    return owned_descriptor{::fcntl(descriptor, F_DUPFD_CLOEXEC, first_free)};
}

// In the place of a number that may be the standard output's, if that is closed: what another thread writes there must not go
// to the guard.
void lift(owned_descriptor& low)
{
    low = raised(low.get());
}

// ---- the guard, as its owner has it

// Which one: a number may be another one's later.
struct consent_pipe {
    explicit consent_pipe(int descriptor)
    {
        struct stat about {};
        if (descriptor != -1 && ::fstat(descriptor, &about) == 0) {
            device = about.st_dev;
            node = about.st_ino;
        }
    }
    dev_t device = 0;
    ino_t node = 0;

    friend bool operator==(const consent_pipe&, const consent_pipe&) = default;
};

class helper_process final : public helper {
public:
    helper_process(std::string program, const consent_pipe& consent, owned_descriptor channel)
        : program_{std::move(program)}, consent_{consent}, channel_{std::move(channel)}
    {
    }

    bool send(const guarded_session& s, std::string_view tls_material) override
    {
        const auto file = tls_material.empty() ? owned_descriptor{} : file_of(tls_material);
        if (owner_.is_another() || (!file && !tls_material.empty())) {
            return false;
        }
        auto message = encode(s);
        const bool sent = send(message, file.get());
        zk::wipe(message);
        return sent;
    }

    // They stay there for other clients.
    [[nodiscard]] std::string last_words() const override
    {
        char words[512];
        ssize_t size = -1;
        do {
            errno = 0;
            size = ::recv(channel_.get(), words, sizeof words, MSG_DONTWAIT | MSG_PEEK);
        } while (errno == ECONNRESET); // once, if it has left something unread
        return {words, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
    }

    std::unique_ptr<watcher> watch(const zk::strand_type& strand,
                                   std::function<void()> died) override;

    [[nodiscard]] bool is(const std::string& program, const consent_pipe& consent) const
    {
        return !owner_.is_another() && program_ == program && consent_ == consent && is_alive();
    }

private:
    [[nodiscard]] bool is_alive() const
    {
        char nothing = 0;
        return ::recv(channel_.get(), &nothing, 1, MSG_DONTWAIT | MSG_PEEK) == -1 &&
               (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    }

    // In memory only, and for the helper only.
    static owned_descriptor file_of(std::string_view content)
    {
        rlimit most{};
        if (::getrlimit(RLIMIT_FSIZE, &most) == -1 || most.rlim_cur < content.size()) {
            return {}; // to write more would end the program
        }
        owned_descriptor file{::memfd_create("", static_cast<unsigned>(MFD_CLOEXEC))};
        while (file && !content.empty()) {
            const auto written = ::write(file.get(), content.data(), content.size());
            if (written > 0) {
                content.remove_prefix(static_cast<std::size_t>(written));
            } else if (errno != EINTR) {
                return {};
            }
        }
        return file;
    }

    bool send(std::string& message, int file)
    {
        iovec text{message.data(), message.size()};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof file)] = {};
        msghdr m{};
        m.msg_iov = &text;
        m.msg_iovlen = 1;
        if (file != -1) {
            m.msg_control = control;
            m.msg_controllen = sizeof control;
            auto* const c = CMSG_FIRSTHDR(&m);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(sizeof file);
            std::memcpy(CMSG_DATA(c), &file, sizeof file);
        }
        return ::sendmsg(channel_.get(), &m, MSG_DONTWAIT | MSG_NOSIGNAL) != -1;
    }

    const zk::owning_process owner_;
    const std::string program_;
    const consent_pipe consent_;
    const owned_descriptor channel_;
};

// All that a guard ever says is why it exits: a channel that can be read has ended.
class death_watcher final : public helper::watcher {
public:
    explicit death_watcher(const zk::strand_type& strand) : channel_{strand} {}

    // False when the system has no room for it.
    bool begin(owned_descriptor&& channel, std::function<void()> died)
    {
        error_code failed;
        channel_.assign(channel.get(), failed);
        if (failed) {
            return false;
        }
        channel.release();
        channel_.async_wait(zk::stream::wait_read, [died = std::move(died)](const error_code& ec) {
            if (!ec) {
                died();
            }
        });
        return true;
    }

private:
    zk::stream channel_;
};

std::unique_ptr<helper::watcher> helper_process::watch(const zk::strand_type& strand,
                                                       std::function<void()> died)
{
    auto channel = raised(channel_.get());
    auto made = std::make_unique<death_watcher>(strand);
    return channel && made->begin(std::move(channel), std::move(died)) ? std::move(made) : nullptr;
}

started_helper start_helper(const std::string& program, int consent)
{
    if (children_have_another_namespace()) {
        return {nullptr, "the program has left its PID namespace for its children"};
    }
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1) {
        return {nullptr, system_fault("socketpair")};
    }
    owned_descriptor ours{ends[0]}, theirs{ends[1]};
    lift(ours);
    lift(theirs);
    // Of this process itself, before there is anybody to hand it over: a number could be another process's by then.
    owned_descriptor self{static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))};
    if (!self) {
        return {nullptr, system_fault("pidfd_open")};
    }
    lift(self);
    owned_descriptor null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
    lift(null);
    const auto consented = raised(consent == -1 ? null.get() : consent);
    if (!ours || !null || !theirs || !self || !consented) {
        return {nullptr, system_fault("a descriptor for it")};
    }
    auto name = program.substr(program.rfind('/') + 1);
    if (name.starts_with("colock-")) {
        name.erase(0, 7); // whoever kills `colock` by a pattern means the owner
    }
    start_terms terms{.program = program.c_str(),
                      .name = name.c_str(),
                      .needs_consent = consent != -1,
                      .descriptors = {null.get(), null.get(), null.get(), theirs.get(), self.get(),
                                      consented.get()}};
    if (const int failed = start(terms)) {
        return {nullptr, program + ": " + std::strerror(failed)};
    }
    return {std::make_shared<helper_process>(program, consent_pipe{consent}, std::move(ours))};
}

// Those that run. A forked child has its own: the parent's mutex may be locked for good there.
struct all_helpers {
    const zk::owning_process owner;
    std::mutex mutex;
    std::list<std::weak_ptr<helper_process>> list;
};

all_helpers& helpers_here()
{
    static std::atomic<all_helpers*> all{
        nullptr}; // never freed: threads may outlive static objects
    auto* found = all.load();
    if (found == nullptr || found->owner.is_another()) {
        auto* const made = new all_helpers;
        if (all.compare_exchange_strong(found, made)) {
            return *made;
        }
        delete made;
    }
    return *found;
}

} // namespace

started_helper find_helper(const std::string& program, int consent)
{
    auto& all = helpers_here();
    const std::lock_guard lock{all.mutex};
    all.list.remove_if([](const auto& each) { return each.expired(); });
    for (const auto& each : all.list) {
        if (auto found = each.lock(); found && found->is(program, consent_pipe{consent})) {
            return {std::move(found)};
        }
    }
    auto started = start_helper(program, consent);
    if (started.process) {
        all.list.push_back(std::static_pointer_cast<helper_process>(started.process));
    }
    return started;
}

} // namespace colock::guard

#endif
