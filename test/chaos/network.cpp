#include "network.hpp"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <queue>
#include <random>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace chaos {

namespace {

using clock_type = std::chrono::steady_clock;
using colock::test::network_namespace;

constexpr std::size_t most_hosts = 32;

// Of the host with this number, counted from 0.
std::string address_of(std::size_t number)
{
    return "10.0.0." + std::to_string(number + 1);
}

[[noreturn]] void fail(const std::string& what)
{
    throw std::system_error{errno, std::generic_category(), "chaos network: " + what};
}

// The switch's end of a host's interface; called on a thread in the namespace of the host.
int open_interface()
{
    const int fd = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        fail("/dev/net/tun");
    }
    ifreq request{};
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    std::strncpy(request.ifr_name, "chaos", sizeof request.ifr_name - 1);
    if (::ioctl(fd, TUNSETIFF, &request) != 0) {
        ::close(fd);
        fail("cannot make an interface");
    }
    return fd;
}

} // namespace

class network::cable_box {
public:
    cable_box(std::vector<int> ends, std::uint64_t seed)
        : ends_{std::move(ends)}, wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}, random_{seed}
    {
        if (wake_ < 0) {
            fail("eventfd");
        }
        thread_ = std::thread{[this] { run(); }};
    }
    cable_box(const cable_box&) = delete;
    cable_box& operator=(const cable_box&) = delete;

    ~cable_box()
    {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
        thread_.join();
        ::close(wake_);
        for (const int fd : ends_) {
            ::close(fd);
        }
    }

    void disturb(const disturbance& d)
    {
        const std::lock_guard lock{mutex_};
        in_force_.push_back(d);
    }
    void heal(const disturbance& d)
    {
        const std::lock_guard lock{mutex_};
        const auto found = std::ranges::find(in_force_, d);
        if (found != in_force_.end()) {
            in_force_.erase(found);
        }
    }
    void heal()
    {
        const std::lock_guard lock{mutex_};
        in_force_.clear();
    }

private:
    struct packet {
        clock_type::time_point due;
        std::uint64_t number; // packets with one delay keep their order
        std::size_t to;
        std::vector<char> bytes;
        bool operator<(const packet& other) const
        {
            return std::pair{due, number} > std::pair{other.due, other.number};
        }
    };

    void run()
    {
        std::vector<pollfd> watched;
        for (const int fd : ends_) {
            watched.push_back({fd, POLLIN, 0});
        }
        watched.push_back({wake_, POLLIN, 0});
        while (watched.back().revents == 0) {
            int timeout = -1;
            if (!delayed_.empty()) {
                const auto left = std::chrono::ceil<std::chrono::milliseconds>(delayed_.top().due -
                                                                               clock_type::now());
                timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
            }
            ::poll(watched.data(), watched.size(), timeout);
            for (std::size_t from = 0; from != ends_.size(); ++from) {
                if (watched[from].revents != 0) {
                    read(from);
                }
            }
            const auto now = clock_type::now();
            while (!delayed_.empty() && delayed_.top().due <= now) {
                write(delayed_.top().to, delayed_.top().bytes.data(), delayed_.top().bytes.size());
                delayed_.pop();
            }
        }
    }

    void read(std::size_t from)
    {
        std::array<char, 65536> buffer;
        // Not for ever: others have packets, too.
        for (int i = 0; i != 64; ++i) {
            const auto size = ::read(ends_[from], buffer.data(), buffer.size());
            if (size < 20) {
                return;
            }
            const auto* bytes = reinterpret_cast<const unsigned char*>(buffer.data());
            const std::size_t to = bytes[19] - std::size_t{1};
            if (bytes[0] >> 4 == 4 && bytes[16] == 10 && to < ends_.size()) {
                forward(from, to, buffer.data(), static_cast<std::size_t>(size));
            }
        }
    }

    void forward(std::size_t from, std::size_t to, const char* bytes, std::size_t size)
    {
        std::chrono::milliseconds delay{0};
        {
            const std::lock_guard lock{mutex_};
            for (const auto& d : in_force_) {
                if ((d.from & host(from)) != 0 && (d.to & host(to)) != 0) {
                    if (d.lost > 0 && std::uniform_int_distribution<int>{0, 99}(random_) < d.lost) {
                        return;
                    }
                    delay += d.delay;
                }
            }
        }
        if (delay.count() == 0) {
            write(to, bytes, size);
        } else {
            delayed_.push(
                {clock_type::now() + delay, next_++, to, std::vector<char>(bytes, bytes + size)});
        }
    }

    // What does not fit into the host's queue is lost, as on a real cable.
    void write(std::size_t to, const char* bytes, std::size_t size) const
    {
        [[maybe_unused]] const auto written = ::write(ends_[to], bytes, size);
    }

    const std::vector<int> ends_;
    const int wake_;
    std::mutex mutex_; // guards in_force_
    std::vector<disturbance> in_force_;
    // Of the thread:
    std::mt19937_64 random_;
    std::priority_queue<packet> delayed_;
    std::uint64_t next_ = 0;
    std::thread thread_;
};

std::string network::obstacle()
{
    try {
        const network trial{2, 0};
        return {};
    } catch (const std::exception& e) {
        return e.what();
    }
}

network::network(std::size_t size, std::uint64_t seed)
{
    if (size > most_hosts) {
        throw std::runtime_error{"chaos network: too many hosts"};
    }
    std::vector<int> ends;
    try {
        for (std::size_t i = 0; i != size; ++i) {
            spaces_.push_back(network_namespace::make([&] { ends.push_back(open_interface()); }));
            spaces_.back().configure("link set lo up\naddress add " + address_of(i) +
                                     "/24 dev chaos\nlink set chaos up\n");
        }
    } catch (...) {
        for (const int fd : ends) {
            ::close(fd);
        }
        throw;
    }
    cables_ = std::make_unique<cable_box>(std::move(ends), seed);
    spaces_.front().enter();
}

network::~network()
{
    before_.enter();
}

std::string network::address(std::size_t number) const
{
    return address_of(number);
}

std::vector<std::string> network::launcher(std::size_t number) const
{
    return spaces_.at(number).launcher();
}

void network::disturb(const disturbance& d)
{
    cables_->disturb(d);
}

void network::heal(const disturbance& d)
{
    cables_->heal(d);
}

void network::heal()
{
    cables_->heal();
}

std::vector<std::string> network::processes() const
{
    std::vector<std::string> found;
    std::error_code none;
    for (const auto& each : std::filesystem::directory_iterator{"/proc", none}) {
        const auto name = each.path().filename().string();
        struct stat about {};
        if (name.find_first_not_of("0123456789") != name.npos ||
            name == std::to_string(::getpid()) ||
            ::stat((each.path() / "ns/net").c_str(), &about) != 0) {
            continue;
        }
        if (std::ranges::any_of(spaces_,
                                [&](const auto& s) { return s.number() == about.st_ino; })) {
            found.push_back(name);
        }
    }
    return found;
}

} // namespace chaos
