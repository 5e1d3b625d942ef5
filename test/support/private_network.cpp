#include "private_network.hpp"

#include "subprocess.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace colock::test {

namespace {

constexpr std::size_t before = 0;
constexpr std::size_t here = 1;
constexpr std::size_t first_host = 2;

std::runtime_error failure(std::string const& what, int error)
{
    return std::runtime_error("private_network: " + what + ": " + std::strerror(error));
}

std::string name_of(lan which)
{
    return which == lan::clients ? "clients" : "peers";
}

// The end of a host's cable at the switch.
std::string port_of(std::size_t host, lan which)
{
    return name_of(which) + std::to_string(host);
}

std::string address_of(std::size_t host, lan which)
{
    return std::string("10.0.") + (which == lan::clients ? "1." : "2.") + std::to_string(host + 1);
}

} // namespace

class private_network::name_space {
public:
    // That of this thread.
    name_space() : fd_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC))
    {
        if (fd_ < 0)
            throw failure("/proc/thread-self/ns/net", errno);
    }
    name_space(name_space&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    name_space& operator=(name_space&& other) noexcept
    {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~name_space()
    {
        if (fd_ >= 0)
            ::close(fd_);
    }

    // A fresh one, into which this thread moves.
    static name_space enter_new()
    {
        if (::unshare(CLONE_NEWNET) != 0)
            throw failure("cannot make a network namespace", errno);
        return {};
    }

    // A fresh one, in which nobody is.
    static name_space make()
    {
        std::vector<name_space> made;
        std::exception_ptr thrown;
        std::thread([&] {
            try {
                made.push_back(enter_new());
            } catch (...) {
                thrown = std::current_exception();
            }
        }).join();
        if (thrown)
            std::rethrow_exception(thrown);
        return std::move(made.front());
    }

    void enter() const noexcept { ::setns(fd_, CLONE_NEWNET); }

    // For other processes.
    std::string path() const
    {
        return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_);
    }

    std::vector<std::string> launcher() const { return {"nsenter", "--net=" + path()}; }

    // Lets `ip` carry out lines of commands there.
    void configure(std::string const& commands) const
    {
        // Looked for here, because its absence has to be told from a failure of it.
        auto const ip = find_program("ip");
        if (ip.empty())
            throw std::runtime_error("private_network: there is no program ip; install iproute2");
        auto line = launcher();
        line.insert(line.end(), {ip, "-batch", "-"});
        subprocess process(line, {.open_input = true});
        process.write_input(commands);
        process.close_input();
        if (!process.wait().success())
            throw std::runtime_error("private_network: ip has failed:\n" + commands);
    }

private:
    int fd_;
};

std::string private_network::obstacle()
{
    try {
        private_network const trial(1);
        return {};
    } catch (std::exception const& e) {
        return e.what();
    }
}

private_network::private_network(std::size_t hosts)
{
    spaces_.emplace_back();
    try {
        spaces_.push_back(name_space::enter_new());
        std::ostringstream ours;
        ours << "link set lo up\n";
        for (auto const which : {lan::clients, lan::peers})
            ours << "link add " << name_of(which) << " type bridge\n"
                 << "link set " << name_of(which) << " up\n";
        ours << "address add 10.0.1.254/24 dev " << name_of(lan::clients) << "\n";
        for (std::size_t host = 0; host < hosts; ++host) {
            spaces_.push_back(name_space::make());
            std::ostringstream its;
            its << "link set lo up\n";
            for (auto const which : {lan::clients, lan::peers}) {
                ours << "link add " << port_of(host, which) << " type veth peer name "
                     << name_of(which) << " netns " << spaces_.back().path() << "\n"
                     << "link set " << port_of(host, which) << " up master " << name_of(which)
                     << "\n";
                its << "address add " << address_of(host, which) << "/24 dev " << name_of(which)
                    << "\n"
                    << "link set " << name_of(which) << " up\n";
            }
            spaces_[here].configure(ours.str());
            spaces_.back().configure(its.str());
            ours.str({});
        }
    } catch (...) {
        spaces_[before].enter();
        throw;
    }
}

private_network::~private_network()
{
    spaces_[before].enter();
}

std::vector<server_place> private_network::places() const
{
    std::vector<server_place> all;
    for (std::size_t host = 0; first_host + host < spaces_.size(); ++host)
        all.push_back({address_of(host, lan::clients), address_of(host, lan::peers),
                       spaces_[first_host + host].launcher()});
    return all;
}

// A port that belongs to no switch has a carrier still, and is deaf and dumb.
void private_network::cut(std::size_t host, lan where)
{
    spaces_[here].configure("link set " + port_of(host, where) + " nomaster\n");
}

void private_network::restore(std::size_t host, lan where)
{
    spaces_[here].configure("link set " + port_of(host, where) + " master " + name_of(where) +
                            "\n");
}

} // namespace colock::test
