// colock-session-guard: ends the sessions of the process that has started it, once that is dead. The library starts it,
// with an argument if somebody has to consent.
//
// A program that starts, works and ends in milliseconds shall not pay for its guard. So what speaks to servers is a module, which
// most of these never load.
#include <colock/version.hpp>

#include "guard/inherited.hpp"
#include "guard/session_guard.hpp"
#include "zk/secret.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace guard = colock::guard;
using colock::error_code;

// Larger messages have large credentials; the owner cannot send more than the kernel takes at a time.
constexpr std::size_t largest_message = std::size_t{256} * 1024;
constexpr std::size_t largest_material = std::size_t{16} * 1024 * 1024;

constexpr std::chrono::seconds loaded_after{1};

std::string content_of(int file)
{
    struct stat about {};
    std::string content;
    if (::fstat(file, &about) == 0 && about.st_size > 0 &&
        static_cast<std::size_t>(about.st_size) <= largest_material) {
        content.resize(static_cast<std::size_t>(about.st_size));
        if (::pread(file, content.data(), content.size(), 0) != about.st_size) {
            colock::zk::wipe(content);
        }
    }
    return content;
}

// The owner's warning has these words.
[[noreturn]] void give_up(const std::string& why)
{
    static_cast<void>(
        ::send(guard::inherited_channel, why.data(), why.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    std::_Exit(1);
}

// With a '/' at the end.
std::string own_directory()
{
    char path[PATH_MAX + 1] = {};
    if (::readlink("/proc/self/exe", path, PATH_MAX) == -1) { // a chroot without /proc
        static_cast<void>(
            // NOLINTNEXTLINE(performance-no-int-to-ptr)
            ::realpath(reinterpret_cast<const char*>(::getauxval(AT_EXECFN)), path));
    }
    std::string directory = path;
    directory.resize(directory.rfind('/') + 1);
    return directory.empty() ? "/" : directory;
}

// Beside this program. Without it this is no guard.
class ending_module {
public:
    // Opened at once: when it is loaded, the file may have been replaced.
    explicit ending_module(const std::string& directory)
        : path_{directory + "colock-session-guard-" COLOCK_VERSION_STRING ".so"},
          file_{::open(path_.c_str(), O_RDONLY | O_CLOEXEC)}
    {
        if (file_ == -1) {
            give_up("it cannot open " + path_ + ": " + std::strerror(errno));
        }
    }

    void load()
    {
        if (end_ != nullptr) {
            return;
        }
        // By its own name as long as that is this file: another name is another $ORIGIN, and needs /proc.
        const auto path = is_still_there() ? path_ : "/proc/self/fd/" + std::to_string(file_);
        void* const loaded = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (loaded != nullptr) {
            end_ = reinterpret_cast<guard::end_sessions_and_exit*>(
                ::dlsym(loaded, "colock_end_sessions"));
        }
        if (end_ == nullptr) {
            give_up("it cannot load " + path_ + ": " + ::dlerror());
        }
        ::close(file_);
    }

    void end(std::vector<guard::ending> all)
    {
        load();
        end_(all);
    }

private:
    [[nodiscard]] bool is_still_there() const
    {
        struct stat named {
        }, opened{};
        return ::stat(path_.c_str(), &named) == 0 && ::fstat(file_, &opened) == 0 &&
               named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
    }

    const std::string path_;
    int file_;
    guard::end_sessions_and_exit* end_ = nullptr;
};

class descriptors {
public:
    descriptors(asio::io_context& io, const std::string& directory, bool needs_consent)
        : module_{directory}, channel_{io, guard::inherited_channel},
          owner_{io, guard::inherited_owner}, load_{io, loaded_after},
          guard_{io.get_executor(), needs_consent, owner_lives,
                 [this](auto all) { module_.end(std::move(all)); }, [] { std::_Exit(0); }}
    {
        // From then on no disk that hangs is in the way.
        load_.async_wait([this](const error_code&) { module_.load(); });
        if (needs_consent) {
            consent_.emplace(io, guard::inherited_consent);
            wait(*consent_, [this] { read_consent(); });
        }
        wait(channel_, [this] { read_channel(); });
        wait(owner_, [this] { guard_.owner_died(); });
    }

private:
    static bool owner_lives()
    {
        pollfd owner{guard::inherited_owner, POLLIN, 0};
        return ::poll(&owner, 1, 0) == 0;
    }

    template <class Then>
    void wait(asio::posix::stream_descriptor& on, Then then)
    {
        on.async_wait(asio::posix::stream_descriptor::wait_read,
                      [then = std::move(then)](const error_code& ec) mutable {
                          if (!ec) {
                              then();
                          }
                      });
    }

    // The end of the channel comes after all that was said on it.
    void read_channel()
    {
        static char buffer[largest_message]; // what no message has reached costs no memory
        for (;;) {
            iovec into{buffer, sizeof buffer};
            int file = -1;
            alignas(cmsghdr) char control[CMSG_SPACE(sizeof file)] = {};
            msghdr m{};
            m.msg_iov = &into;
            m.msg_iovlen = 1;
            m.msg_control = control;
            m.msg_controllen = sizeof control;
            const auto count =
                ::recvmsg(guard::inherited_channel, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
            if (count == -1 && (errno == EAGAIN || errno == EINTR)) {
                wait(channel_, [this] { read_channel(); });
                return;
            }
            if (count <= 0) {
                guard_.channel_ended();
                return;
            }
            if ((m.msg_flags & MSG_TRUNC) != 0) {
                give_up("a message is too large");
            }
            if (const auto* c = CMSG_FIRSTHDR(&m); c != nullptr && c->cmsg_type == SCM_RIGHTS &&
                                                   c->cmsg_len == CMSG_LEN(sizeof file)) {
                std::memcpy(&file, CMSG_DATA(c), sizeof file);
            }
            const auto size = static_cast<std::size_t>(count);
            std::string material;
            if (file != -1) {
                material = content_of(file);
                ::close(file);
            }
            if (!guard_.told({buffer, size}, material)) {
                give_up("it is of another version");
            }
            ::explicit_bzero(buffer, size);
        }
    }

    void read_consent()
    {
        char word = 0;
        guard_.consented(::read(guard::inherited_consent, &word, 1) == 1);
    }

    ending_module module_;
    asio::posix::stream_descriptor channel_;
    asio::posix::stream_descriptor owner_;
    std::optional<asio::posix::stream_descriptor> consent_;
    asio::steady_timer load_;
    guard::session_guard guard_;
};

// The owner is this user: no other one's secrets, and none that another one may end.
bool serves_its_own_user()
{
    ucred owner{};
    socklen_t size = sizeof owner;
    return ::getsockopt(guard::inherited_channel, SOL_SOCKET, SO_PEERCRED, &owner, &size) == 0 &&
           owner.uid == ::getuid() && ::getuid() == ::geteuid();
}

// What may be sent to a group, a session or by mistake. What is a fault of this program ends it.
void ignore_signals()
{
    for (int each = 1; each != 32; ++each) {
        switch (each) {
        case SIGILL:
        case SIGTRAP:
        case SIGABRT:
        case SIGBUS:
        case SIGFPE:
        case SIGSEGV:
        case SIGSYS: break;
        default: std::signal(each, SIG_IGN); // SIGKILL and SIGSTOP cannot be ignored
        }
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Where memory has run out, the kernel may look for another one to kill before it has freed the owner's: this one, and with
// memory.oom.group all at once, but for those that say so. That takes a privilege.
void stay_when_memory_is_short()
{
    const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    static_cast<void>(::write(file, "-1000", 5));
    ::close(file);
}

} // namespace

int main(int argc, char** argv)
{
    ignore_signals();
    if (!serves_its_own_user()) {
        std::fputs("colock-session-guard: the library starts this program, for a client whose "
                   "options have a session_guard; it is of no use alone\n",
                   stderr);
        return 2;
    }
    ::closefrom(guard::last_inherited + 1);
    stay_when_memory_is_short();
    ::prctl(PR_SET_DUMPABLE, 0);
    // Not by the name of the file: whoever kills `colock` by a pattern does not mean this process.
    ::prctl(PR_SET_NAME, argv[0]);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    const auto directory = own_directory();
    static_cast<void>(::chdir("/"));

    asio::io_context io{1};
    descriptors served{io, directory, argc > 1};
    const auto work = asio::make_work_guard(io);
    io.run();
    return 0;
}
