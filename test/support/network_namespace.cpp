#include "network_namespace.hpp"

#include "subprocess.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

namespace colock::test {

namespace {

std::runtime_error namespace_failure(std::string const& what, int error)
{
    return std::runtime_error("network_namespace: " + what + ": " + std::strerror(error));
}

} // namespace

network_namespace::network_namespace()
    : fd_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC))
{
    if (fd_ < 0)
        throw namespace_failure("/proc/thread-self/ns/net", errno);
}

network_namespace::network_namespace(network_namespace&& other) noexcept
    : fd_(std::exchange(other.fd_, -1))
{
}

network_namespace& network_namespace::operator=(network_namespace&& other) noexcept
{
    std::swap(fd_, other.fd_);
    return *this;
}

network_namespace::~network_namespace()
{
    if (fd_ >= 0)
        ::close(fd_);
}

network_namespace network_namespace::enter_new()
{
    if (::unshare(CLONE_NEWNET) != 0)
        throw namespace_failure("cannot make a network namespace", errno);
    return {};
}

network_namespace network_namespace::make()
{
    return make([] {});
}

network_namespace network_namespace::make(std::function<void()> const& there)
{
    std::vector<network_namespace> made;
    std::exception_ptr thrown;
    std::thread([&] {
        try {
            made.push_back(enter_new());
            there();
        } catch (...) {
            thrown = std::current_exception();
        }
    }).join();
    if (thrown)
        std::rethrow_exception(thrown);
    return std::move(made.front());
}

void network_namespace::enter() const noexcept
{
    ::setns(fd_, CLONE_NEWNET);
}

std::string network_namespace::path() const
{
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_);
}

std::vector<std::string> network_namespace::launcher() const
{
    return {"nsenter", "--net=" + path()};
}

void network_namespace::configure(std::string const& commands) const
{
    // Looked for here, because its absence has to be told from a failure of it.
    auto const ip = find_program("ip");
    if (ip.empty())
        throw std::runtime_error("network_namespace: there is no program ip; install iproute2");
    auto line = launcher();
    line.insert(line.end(), {ip, "-batch", "-"});
    subprocess process(line, {.open_input = true});
    process.write_input(commands);
    process.close_input();
    if (!process.wait().success())
        throw std::runtime_error("network_namespace: ip has failed:\n" + commands);
}

unsigned long network_namespace::number() const
{
    struct stat about {};
    if (::fstat(fd_, &about) != 0)
        throw namespace_failure("fstat", errno);
    return about.st_ino;
}

} // namespace colock::test
