#include "hostile_server.hpp"

#include "jute.hpp"
#include "loopback_port.hpp"
#include "tiny_tree.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <list>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace colock::test {

namespace {

constexpr std::size_t largest_request = 8 << 20;

std::string framed(std::string const& body)
{
    return jute_writer().text(body).bytes();
}

std::int32_t special_xid(opcode kind, std::int32_t xid)
{
    return kind == opcode::ping ? -2 : kind == opcode::auth ? -4 : xid;
}

} // namespace

class hostile_server::impl {
public:
    impl()
    {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        int const on = 1;
        ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port_.number());
        if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
            ::listen(listener_, 64) != 0)
            throw std::system_error(errno, std::generic_category(), "a hostile server");
        thread_ = std::thread([this] { run(); });
    }
    ~impl()
    {
        stop_ = true;
        wake();
        thread_.join();
        for (auto const& c : connections_)
            ::close(c.fd);
        ::close(listener_);
        ::close(waker_);
    }

    std::string address() const { return port_.address(); }

    void play(trick t)
    {
        std::lock_guard const lock(mutex_);
        trick_ = std::move(t);
    }
    void push(std::string const& bytes)
    {
        std::lock_guard const lock(mutex_);
        for (auto& c : connections_)
            if (c.session != 0)
                c.out += bytes;
        wake();
    }
    bool exists(std::string const& path) const
    {
        std::lock_guard const lock(mutex_);
        return tree_.exists(path);
    }

    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> requests{0};

private:
    struct connection {
        int fd;
        std::uint64_t number;
        std::int64_t session = 0;
        std::string in = {};
        std::string out = {};
        std::size_t at_once = 0;
        bool endless = false;
        bool finish = false;
        bool broken = false;
    };

    void wake() const
    {
        std::uint64_t const one = 1;
        static_cast<void>(!::write(waker_, &one, sizeof one));
    }

    void run()
    {
        while (!stop_) {
            std::vector<pollfd> all{{listener_, POLLIN, 0}, {waker_, POLLIN, 0}};
            int limit = -1;
            {
                std::lock_guard const lock(mutex_);
                for (auto const& c : connections_) {
                    bool const writes = !c.out.empty() || c.endless || c.finish;
                    bool const slow = c.at_once != 0 && !c.out.empty();
                    limit = slow ? 1 : limit;
                    all.push_back(
                        {c.fd, static_cast<short>(POLLIN | (writes && !slow ? POLLOUT : 0)), 0});
                }
            }
            ::poll(all.data(), all.size(), limit);
            std::lock_guard const lock(mutex_);
            if (all[1].revents != 0) {
                std::uint64_t count = 0;
                static_cast<void>(!::read(waker_, &count, sizeof count));
            }
            std::size_t i = 2;
            for (auto& c : connections_) {
                if (i == all.size())
                    break;
                if (all[i++].revents & (POLLIN | POLLHUP | POLLERR))
                    read(c);
            }
            for (auto& c : connections_)
                write(c);
            for (auto at = connections_.begin(); at != connections_.end();) {
                auto const here = at++;
                if (here->broken) {
                    tree_.forget_watches(here->number);
                    ::close(here->fd);
                    connections_.erase(here);
                }
            }
            if (all[0].revents != 0)
                accept();
        }
    }

    void accept()
    {
        int const fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        int const on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connections_.push_back({fd, ++accepted});
    }

    void read(connection& c)
    {
        char bytes[65536];
        auto const count = ::recv(c.fd, bytes, sizeof bytes, 0);
        if (count == 0 || (count < 0 && errno != EAGAIN)) {
            c.broken = true;
            return;
        }
        c.in.append(bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        try {
            while (c.in.size() >= 4) {
                auto const size = static_cast<std::size_t>(jute_reader(c.in).integer());
                if (size > largest_request)
                    throw std::runtime_error("a request that is too long");
                if (c.in.size() < 4 + size)
                    return;
                auto const frame = c.in.substr(4, size);
                c.in.erase(0, 4 + size);
                serve(c, frame);
            }
        } catch (std::runtime_error const&) {
            c.broken = true;
        }
    }

    void serve(connection& c, std::string const& frame)
    {
        request asked;
        asked.connection = c.number;
        jute_reader in(frame);
        std::string honest;
        tree_.notices.clear();
        if (c.session == 0) {
            honest = handshake(c, in);
        } else {
            asked.xid = in.integer();
            asked.kind = static_cast<opcode>(in.integer());
            ++requests;
            bool const reads = asked.kind == opcode::get_data || asked.kind == opcode::exists ||
                               asked.kind == opcode::get_children ||
                               asked.kind == opcode::get_children2;
            asked.watches = reads && frame.back() != 0;
            jute_writer header;
            auto const reply = tree_.serve(asked.kind, in, c.session, c.number, asked.path);
            header.integer(special_xid(asked.kind, asked.xid))
                .longer(tree_.zxid())
                .integer(reply.error);
            honest = framed(header.bytes() + reply.body);
        }
        // Events of others before the reply, like ZooKeeper.
        for (auto const& [number, event] : tree_.notices)
            for (auto& other : connections_)
                if (other.number == number)
                    other.out += framed(event);
        auto a = trick_ ? trick_(asked, std::move(honest)) : answer(std::move(honest));
        c.out += a.bytes;
        c.at_once = a.at_once;
        c.endless = c.endless || a.endless;
        c.finish = c.finish || a.finish || (asked.kind == opcode::close && !a.endless);
    }

    std::string handshake(connection& c, jute_reader& in)
    {
        in.integer(); // version
        in.longer();  // zxid
        auto const timeout = in.integer();
        auto wanted = in.longer();
        bool const known = wanted == 0 || sessions_.contains(wanted);
        if (wanted == 0) {
            wanted = 0x5000'0000 + static_cast<std::int64_t>(sessions_.size());
            sessions_[wanted] = timeout;
        }
        c.session = wanted;
        return framed(jute_writer()
                          .integer(0)
                          .integer(known ? timeout : 0)
                          .longer(known ? wanted : 0)
                          .text(std::string(16, known ? 'p' : '\0'))
                          .boolean(false)
                          .bytes());
    }

    void write(connection& c)
    {
        if (c.broken)
            return;
        static std::string const zeros(65536, '\0');
        auto const& source = c.out.empty() && c.endless ? zeros : c.out;
        if (!source.empty()) {
            auto const size = c.at_once != 0 ? std::min(c.at_once, source.size()) : source.size();
            auto const count = ::send(c.fd, source.data(), size, MSG_NOSIGNAL);
            if (count < 0 && errno != EAGAIN)
                c.broken = true;
            if (count > 0 && &source == &c.out)
                c.out.erase(0, static_cast<std::size_t>(count));
        }
        if (c.finish && c.out.empty())
            c.broken = true;
    }

    loopback_port port_;
    int listener_ = -1;
    int waker_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    std::atomic<bool> stop_{false};
    mutable std::mutex mutex_; // of all below
    trick trick_;
    tiny_tree tree_;
    std::map<std::int64_t, std::int32_t> sessions_; // their time-outs
    std::list<connection> connections_;
    std::thread thread_;
};

hostile_server::hostile_server() : impl_(std::make_unique<impl>())
{
}
hostile_server::~hostile_server() = default;

std::string hostile_server::connect_string() const
{
    return impl_->address();
}
void hostile_server::play(trick t)
{
    impl_->play(std::move(t));
}
void hostile_server::push(std::string const& bytes)
{
    impl_->push(bytes);
}
std::uint64_t hostile_server::connections() const
{
    return impl_->accepted;
}
std::uint64_t hostile_server::requests() const
{
    return impl_->requests;
}
bool hostile_server::exists(std::string const& path) const
{
    return impl_->exists(path);
}

} // namespace colock::test
