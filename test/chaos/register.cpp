#include "register.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <list>
#include <sstream>
#include <system_error>
#include <utility>

namespace chaos {

fenced_register::fenced_register(std::string socket) : socket_{std::move(socket)}
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket_.c_str(), sizeof address.sun_path - 1);
    listening_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (listening_ < 0 || wake_ < 0 ||
        ::bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listening_, 100) != 0) {
        throw std::system_error{errno, std::generic_category(), "chaos register: " + socket_};
    }
    thread_ = std::thread{[this] { run(); }};
}

fenced_register::~fenced_register()
{
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
    thread_.join();
    ::close(wake_);
    ::close(listening_);
    ::unlink(socket_.c_str());
}

std::vector<register_entry> fenced_register::accepted() const
{
    const std::lock_guard lock{mutex_};
    std::vector<register_entry> all;
    std::ranges::copy_if(entries_, std::back_inserter(all), &register_entry::accepted);
    return all;
}

std::string fenced_register::last_writer(const std::string& lock) const
{
    const std::lock_guard guard{mutex_};
    const auto found = writers_.find(lock);
    return found == writers_.end() ? std::string{} : found->second;
}

void fenced_register::run()
{
    std::list<connection> connections;
    for (;;) {
        std::vector<pollfd> watched{{wake_, POLLIN, 0}, {listening_, POLLIN, 0}};
        for (const auto& c : connections) {
            watched.push_back({c.fd, POLLIN, 0});
        }
        ::poll(watched.data(), watched.size(), -1);
        if (watched[0].revents != 0) {
            break;
        }
        auto next = watched.begin() + 2;
        for (auto c = connections.begin(); c != connections.end(); ++next) {
            if (next->revents != 0 && !serve(*c)) {
                ::close(c->fd);
                c = connections.erase(c);
            } else {
                ++c;
            }
        }
        if (watched[1].revents != 0) {
            const int fd = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
            if (fd >= 0) {
                connections.push_back({fd, {}});
            }
        }
    }
    for (const auto& c : connections) {
        ::close(c.fd);
    }
}

bool fenced_register::serve(connection& c)
{
    std::array<char, 4096> buffer;
    const auto size = ::read(c.fd, buffer.data(), buffer.size());
    if (size <= 0) {
        return size < 0 && errno == EAGAIN;
    }
    c.unread.append(buffer.data(), static_cast<std::size_t>(size));
    for (auto end = c.unread.find('\n'); end != c.unread.npos; end = c.unread.find('\n')) {
        const auto answer = decide(c.unread.substr(0, end));
        c.unread.erase(0, end + 1);
        [[maybe_unused]] const auto sent = ::send(c.fd, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    return true;
}

std::string fenced_register::decide(const std::string& line)
{
    register_entry e{.at = now()};
    std::istringstream in{line};
    if (!(in >> e.lock >> e.process >> e.turn >> e.token)) {
        return "malformed\n";
    }
    std::getline(in >> std::ws, e.note);
    auto& greatest = greatest_[e.lock];
    e.accepted = e.token >= greatest;
    const std::string answer = e.accepted ? "accepted\n" : "rejected\n";
    const std::lock_guard lock{mutex_};
    if (e.accepted) {
        greatest = e.token;
        writers_[e.lock] = e.process;
    }
    entries_.push_back(std::move(e));
    return answer;
}

} // namespace chaos
