#include "run/nursery.hpp"

#include "connect/awaiting.hpp"
#include "program/failure.hpp"
#include "program/open_files.hpp"
#include "run/guardian_link.hpp"
#include "run/guardian_messages.hpp"
#include "run/process_tree.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;

namespace {

// For which shard, and over what the supervisor speaks to the guardian.
struct request {
    std::uint32_t shard;
    int socket;
    int bound;
};
constexpr std::size_t files = 2;

// False when the nursery takes no more now, such as when it has much to read: then to be asked again.
bool ask(int nursery, const request& r)
{
    std::uint32_t shard = r.shard;
    ::iovec part{&shard, sizeof shard};
    alignas(::cmsghdr) std::array<char, CMSG_SPACE(files * sizeof(int))> space{};
    ::msghdr all{};
    all.msg_iov = &part;
    all.msg_iovlen = 1;
    all.msg_control = space.data();
    all.msg_controllen = space.size();
    auto* const head = CMSG_FIRSTHDR(&all);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(files * sizeof(int));
    const int given[files]{r.socket, r.bound};
    std::memcpy(CMSG_DATA(head), given, sizeof given);
    ssize_t sent = 0;
    while ((sent = ::sendmsg(nursery, &all, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 && errno == EINTR) {
    }
    return sent >= 0 || errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN;
}

enum class heard { nothing, request, end };

heard hear(int supervisor, request& r)
{
    ::iovec part{&r.shard, sizeof r.shard};
    alignas(::cmsghdr) std::array<char, CMSG_SPACE(files * sizeof(int))> space{};
    ::msghdr all{};
    all.msg_iov = &part;
    all.msg_iovlen = 1;
    all.msg_control = space.data();
    all.msg_controllen = space.size();
    ssize_t size = 0;
    while ((size = ::recvmsg(supervisor, &all, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0 &&
           errno == EINTR) {
    }
    if (size < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK ? heard::nothing : heard::end;
    }
    const auto* const head = CMSG_FIRSTHDR(&all);
    if (size != sizeof r.shard || !head || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len != CMSG_LEN(files * sizeof(int))) {
        return heard::end;
    }
    int given[files];
    std::memcpy(given, CMSG_DATA(head), sizeof given);
    r.socket = given[0];
    r.bound = given[1];
    return heard::request;
}

// The process itself. Has no threads.
class nursery_process {
public:
    nursery_process(int supervisor, int consent, const nursery_task& task)
        : supervisor_{supervisor}, consent_{consent}, task_{task}
    {
    }

    [[noreturn]] void serve()
    {
        prepare();
        for (bool supervisor_there = true;;) {
            ::pollfd of[]{{children_, POLLIN, 0}, {supervisor_there ? supervisor_ : -1, POLLIN, 0}};
            ::poll(of, 2, -1);
            ::signalfd_siginfo ignored;
            while (::read(children_, &ignored, sizeof ignored) > 0) {
            }
            close_sockets_without_guardian();
            request r{};
            while (supervisor_there) {
                const auto what = hear(supervisor_, r);
                if (what == heard::nothing) {
                    break;
                }
                supervisor_there = what != heard::end;
                if (supervisor_there) {
                    raise(r);
                }
            }
            if (!has_children() && !supervisor_there) {
                if (in_order_) {
                    static_cast<void>(::write(consent_, "", 1)); // nobody may be there to read it
                }
                ::_exit(0);
            }
        }
    }

private:
    void prepare()
    {
        children_ = stand_apart();
        if (children_ < 0) {
            ::_exit(125); // it would sleep while its guardians end
        }
        show_as("lock-guardians", task_.shown);
        // Commands that read from one terminal, or one pipe, would take each other's input.
        const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::dup2(nothing, STDIN_FILENO);
        ::close(nothing);
    }

    void raise(const request& r)
    {
        const auto child = ::fork();
        if (child < 0) { // else the supervisor would take the guardian for one that was killed
            send_or_drop(r.socket, {message_kind::cannot_start, errno});
            close_sockets_without_guardian();
            without_guardian_.push_back(r.socket);
        } else if (child > 0) {
            ::close(r.socket);
        }
        if (child != 0) {
            ::close(r.bound);
            return;
        }
        ::close(supervisor_);
        ::close(consent_);
        ::close(children_);
        command_line command;
        try {
            command = find_command(words_for(r.shard, task_.words), task_.shell);
        } catch (const failure& f) {
            refuse_start(r.socket, -1, f.status() == not_executable ? EACCES : ENOENT);
        }
        const terminal tty; // which is not the standard input, so it is not the command's
        shared_bound bound{r.bound};
        be_guardian(r.socket, -1,
                    {std::move(command), task_.terms, bound, task_.signals, tty, task_.shown});
    }

    // Once the supervisor has heard it. Closed earlier, a socket would take no start, and the guardian would pass for killed.
    void close_sockets_without_guardian()
    {
        std::erase_if(without_guardian_, [](int socket) {
            ::pollfd end{socket, 0, 0};
            return ::poll(&end, 1, 0) > 0 && ::close(socket) == 0;
        });
    }

    bool has_children()
    {
        int status = 0;
        pid_t ended = 0;
        while ((ended = ::waitpid(-1, &status, WNOHANG)) > 0) {
            // Something that a guardian was to end may be left.
            in_order_ = in_order_ && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        }
        return ended == 0;
    }

    const int supervisor_;
    const int consent_;
    const nursery_task& task_;
    int children_ = -1;
    std::vector<int> without_guardian_;
    bool in_order_ = true;
};

} // namespace

std::vector<std::string> words_for(std::uint32_t shard, std::vector<std::string> words)
{
    constexpr std::string_view place = "{}";
    const auto number = std::to_string(shard);
    for (auto& word : words) {
        for (auto at = word.find(place); at != word.npos;
             at = word.find(place, at + number.size())) {
            word.replace(at, place.size(), number);
        }
    }
    return words;
}

class nursery::guardian_of_shard final : public guardian_socket {
public:
    guardian_of_shard(nursery& of, std::uint32_t shard, shared_bound& bound)
        : of_{of}, shard_{shard}, bound_{bound}
    {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
            throw std::system_error{errno, std::generic_category(), "socketpair"};
        }
        open(ends[0]);
        other_end_ = ends[1];
        ask_for_it();
        of_.guardians_.push_back(this);
    }
    // It ends when nothing is left; nobody waits for that.
    ~guardian_of_shard() override
    {
        std::erase(of_.guardians_, this);
        give_other_end_up();
    }

    // Once the nursery has taken it or has gone, this process has the other end no more.
    void ask_for_it()
    {
        if (other_end_ >= 0 && ask(of_.socket_, {shard_, other_end_, bound_.file()})) {
            give_other_end_up();
        }
    }

    [[nodiscard]] pid_t process() const noexcept
    {
        return has_other_end() ? static_cast<pid_t>(bound_.guardian()) : 0;
    }
    // It is there, or was not yet forked. What one that was killed leaves may be a child of this process by now.
    [[nodiscard]] bool is_there() const noexcept { return has_other_end(); }

    void keep_going() override
    {
        if (const auto own = process()) {
            ::kill(own, SIGCONT);
        }
    }
    // One that is not there yet finds that the supervisor has gone, and that no start is allowed.
    void kill() override
    {
        bound_.forbid_start();
        if (const auto own = process()) {
            ::kill(own, SIGKILL);
        }
        give_other_end_up();
        close();
    }
    asio::awaitable<void> end_by_force(std::function<void(int)> refused) override
    {
        kill();
        co_await of_.end_what_is_left_of(bound_.guardian(), std::move(refused));
    }

private:
    void give_other_end_up()
    {
        if (other_end_ >= 0) {
            ::close(std::exchange(other_end_, -1));
        }
    }

    nursery& of_;
    const std::uint32_t shard_;
    shared_bound& bound_;
    int other_end_ = -1;
};

nursery::nursery(const nursery_task& task) : patience_{task.terms.grace + std::chrono::seconds{1}}
{
    const auto made = fork_beside([&](int supervisor, int consent) {
        nursery_process{supervisor, consent, task}.serve();
    });
    process_ = made.process;
    socket_ = made.socket;
    consent_ = made.consent;
    // Each shard takes three files of this process, and one more until the nursery has it. Its command keeps the limit that the
    // nursery has inherited.
    raise_limit_of_files();
}

nursery::~nursery()
{
    ::close(consent_);
    ::close(socket_);
    // One that is stopped has nothing to do any more.
    if (!reaped_within(process_, patience_)) {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
}

std::unique_ptr<guardian_socket> nursery::make(std::uint32_t shard, shared_bound& bound)
{
    return std::make_unique<guardian_of_shard>(*this, shard, bound);
}

bool nursery::is_there() const noexcept
{
    ::pollfd end{socket_, 0, 0};
    return ::poll(&end, 1, 0) >= 0 && (end.revents & (POLLHUP | POLLERR)) == 0;
}

std::vector<pid_t> nursery::own_processes() const
{
    std::vector<pid_t> all{process_};
    for (const auto* const each :
         guardians_) { // children of this process once the nursery has gone
        if (const auto process = each->process()) {
            all.push_back(process);
        }
    }
    return all;
}

void nursery::keep_going()
{
    orphans_.note_others(own_processes(), [this] {
        return is_there() && std::ranges::all_of(guardians_, &guardian_of_shard::is_there);
    });
    if (is_there()) {
        ::kill(process_, SIGCONT);
    }
    std::ranges::for_each(guardians_, &guardian_of_shard::ask_for_it);
}

asio::awaitable<void> nursery::end_what_is_left_of(pid_t guardian, std::function<void(int)> refused)
{
    // Its children are its own until it has ended, and the nursery has noticed.
    while (contains(children_of(process_), guardian)) {
        keep_going();
        co_await pause(std::chrono::milliseconds{1});
    }
    co_await orphans_.end([this] { return own_processes(); }, std::move(refused));
}

asio::awaitable<void> nursery::wait_gone()
{
    asio::posix::stream_descriptor end{co_await asio::this_coro::executor, ::dup(socket_)};
    co_await end.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
}

} // namespace colock::cli
