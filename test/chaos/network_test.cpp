// The network of the chaos loses and delays what it is told to, and nothing else.
#include <support/subprocess.hpp>

#include "network.hpp"

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

using namespace chaos;
using namespace std::chrono_literals;

namespace {

constexpr int port = 2000;

struct needs_a_network {
    needs_a_network()
    {
        if (const auto why = network::obstacle(); !why.empty()) {
            std::cout << "skipped: " << why << std::endl;
            std::_Exit(77);
        }
    }
};

// Receives datagrams on host 0, where this thread is.
class receiver {
public:
    explicit receiver(const network& n) : fd_{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)}
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        ::inet_pton(AF_INET, n.address(0).c_str(), &address.sin_addr);
        BOOST_REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
                      0);
    }
    receiver(const receiver&) = delete;
    receiver& operator=(const receiver&) = delete;
    ~receiver() { ::close(fd_); }

    // Empty when none comes in time.
    std::string next(std::chrono::milliseconds limit = 10s) const
    {
        pollfd readable{fd_, POLLIN, 0};
        std::array<char, 100> buffer{};
        if (::poll(&readable, 1, static_cast<int>(limit.count())) <= 0) {
            return {};
        }
        const auto size = ::recv(fd_, buffer.data(), buffer.size(), 0);
        return {buffer.data(), static_cast<std::size_t>(size)};
    }

private:
    int fd_;
};

// Sends it so many times, from that host to host 0.
void send(const network& n, std::size_t from, const std::string& text, int times = 1)
{
    auto line = n.launcher(from);
    line.insert(line.end(),
                {"bash", "-c",
                 "for ((i = 0; i < " + std::to_string(times) + "; ++i)); do printf " + text +
                     " >/dev/udp/" + n.address(0) + '/' + std::to_string(port) + "; done"});
    BOOST_REQUIRE(colock::test::subprocess(line).wait().success());
}

} // namespace

BOOST_TEST_GLOBAL_FIXTURE(needs_a_network);

BOOST_AUTO_TEST_SUITE(chaos_network)

BOOST_AUTO_TEST_CASE(a_cut_is_for_the_hosts_and_the_direction_that_it_names)
{
    network n{3, 1};
    const receiver here{n};
    send(n, 1, "before");
    BOOST_TEST(here.next() == "before");

    const disturbance cut{.from = host(1), .to = host(0), .lost = 100};
    n.disturb(cut);
    send(n, 1, "lost", 10);
    send(n, 2, "other"); // what was sent earlier would come earlier
    BOOST_TEST(here.next() == "other");
    n.heal(cut);
    send(n, 1, "after");
    BOOST_TEST(here.next() == "after");

    n.disturb({.from = host(0), .to = host(1), .lost = 100});
    send(n, 1, "there");
    BOOST_TEST(here.next() == "there");
    n.disturb(cut);
    n.disturb(cut);
    n.heal(cut); // one of the two
    send(n, 1, "lost");
    send(n, 2, "other");
    BOOST_TEST(here.next() == "other");
    n.heal();
    send(n, 1, "healed");
    BOOST_TEST(here.next() == "healed");
}

BOOST_AUTO_TEST_CASE(a_delay_is_as_long_as_it_was_told_to_be)
{
    network n{3, 1};
    const receiver here{n};
    n.disturb({.from = host(1), .to = host(0), .delay = 300ms});
    n.disturb({.from = host(1), .to = host(0) | host(2), .delay = 200ms});
    const auto begin = std::chrono::steady_clock::now();
    send(n, 1, "late");
    send(n, 2, "early");
    BOOST_TEST(here.next() == "early");
    BOOST_TEST(here.next() == "late");
    BOOST_TEST((std::chrono::steady_clock::now() - begin >= 500ms));
}

BOOST_AUTO_TEST_CASE(a_loss_takes_about_as_many_as_it_was_told_to)
{
    network n{2, 1};
    const receiver here{n};
    n.disturb({.from = host(1), .to = host(0), .lost = 30});
    send(n, 1, "some", 200);
    send(n, 1, "end", 20); // one of them comes
    int came = 0;
    while (here.next() == "some") {
        ++came;
    }
    BOOST_TEST(came > 100);
    BOOST_TEST(came < 180);
}

BOOST_AUTO_TEST_CASE(processes_that_stay_in_the_network_are_seen)
{
    network n{2, 1};
    BOOST_TEST(n.processes().empty());
    auto line = n.launcher(1);
    line.insert(line.end(), {"sh", "-c", "echo there; read line"});
    colock::test::subprocess stays{line, {.capture_output = true, .open_input = true}};
    BOOST_REQUIRE(stays.read_line(30s));
    BOOST_TEST(n.processes().size() == 1U);
    stays.kill();
    BOOST_TEST(n.processes().empty());
}

BOOST_AUTO_TEST_SUITE_END()
