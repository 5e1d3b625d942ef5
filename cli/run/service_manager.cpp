#include "run/service_manager.hpp"

#include <colock/log.hpp>

#include "connect/awaiting.hpp"
#include "program/text.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace colock::cli {

namespace asio = boost::asio;

namespace {

std::string taken_variable(const char* name)
{
    const char* const value = std::getenv(name);
    std::string taken = value ? value : "";
    ::unsetenv(name);
    return taken;
}

// Zero for what is no number.
std::int64_t taken_number(const char* name)
{
    return number_in<std::int64_t>(taken_variable(name)).value_or(0);
}

} // namespace

service_manager service_manager::take()
{
    service_manager m;
    auto address = taken_variable("NOTIFY_SOCKET");
    const auto period = taken_number("WATCHDOG_USEC");
    const auto whose = taken_number("WATCHDOG_PID");
    if (address.size() < 2 || address.size() >= sizeof(sockaddr_un::sun_path) ||
        (address.front() != '/' && address.front() != '@')) {
        return m;
    }
    if (address.front() == '@') {
        address.front() = '\0'; // of an abstract socket
    }
    m.address_ = std::move(address);
    if (period > 0 && (whose <= 0 || whose == ::getpid())) {
        m.watchdog_ = std::chrono::microseconds{period};
    }
    return m;
}

void service_manager::tell(std::string message) const
{
    if (address_.empty()) {
        return;
    }
    if (*owes_ready_) {
        message.insert(0, "READY=1\n");
    }
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) {
        return;
    }
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, address_.data(), address_.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size() +
                                             (address_.front() == '/' ? 1 : 0));
    if (::sendto(socket, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&to), size) >= 0) {
        *owes_ready_ = false;
    }
    ::close(socket);
}

void service_manager::ready(std::string_view text) const
{
    *owes_ready_ = true;
    status(text);
}

void service_manager::status(std::string_view text) const
{
    tell("STATUS=" + printable(text));
}

void service_manager::stopping() const
{
    tell("STOPPING=1");
}

asio::awaitable<void> service_manager::keep_telling() const
{
    using namespace std::chrono_literals;
    // The environment is believed within reason.
    const auto between = std::clamp<std::chrono::microseconds>(watchdog_.value_or(2s) / 2, 1ms, 1h);
    while (*this) {
        if (watchdog_ || *owes_ready_) {
            tell("WATCHDOG=1");
        }
        co_await pause(between);
    }
}

} // namespace colock::cli
