// Sockets of connections that the client has given up: read to their end, but not without a limit.
#include "zk/old_sockets.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <string>

using namespace colock::zk;

namespace {

const std::string address = "127.0.0.1:2181";

// One socket that is left behind. The other end is the server's.
struct scene {
    scene()
    {
        int ends[2];
        BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        server = ends[1];
        sockets.add(address, make_old_socket(strand, ends[0]));
    }
    ~scene() { ::close(server); }

    void run()
    {
        io.restart();
        io.poll();
    }

    // What the server could send.
    std::size_t sends(const std::string& bytes) const
    {
        const auto count = ::send(server, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        return count > 0 ? static_cast<std::size_t>(count) : 0;
    }

    boost::asio::io_context io;
    strand_type strand{strand_base{boost::asio::any_io_executor{io.get_executor()}}};
    old_sockets sockets;
    int server = -1;
};

} // namespace

BOOST_AUTO_TEST_SUITE(old_sockets_of_a_client)

BOOST_AUTO_TEST_CASE(a_socket_sends_the_end_and_is_kept_until_the_server_sends_its_own)
{
    scene s;
    char byte = 0;
    BOOST_TEST(::recv(s.server, &byte, 1, MSG_DONTWAIT) == 0);
    s.run();
    BOOST_TEST(s.sockets.is_open(address));
    BOOST_TEST(!s.sockets.is_open("127.0.0.1:2182"));
    BOOST_TEST(s.sends("what was asked for") != 0U);
    s.run();
    BOOST_TEST(s.sockets.is_open(address));
    ::shutdown(s.server, SHUT_WR);
    s.run();
    BOOST_TEST(!s.sockets.is_open(address));
}

BOOST_AUTO_TEST_CASE(a_server_that_sends_without_end_is_read_up_to_a_limit)
{
    scene s;
    const std::string piece(1 << 20, 'x');
    constexpr std::size_t far_too_much = std::size_t{1} << 30;
    std::size_t sent = 0;
    int refused = 0; // in succession
    while (refused != 3 && sent < far_too_much) {
        const auto count = s.sends(piece);
        sent += count;
        refused = count == 0 ? refused + 1 : 0;
        s.run();
    }
    BOOST_TEST(sent >= std::size_t{32} << 20); // as much as the longest answer
    BOOST_TEST(sent < far_too_much);
    // The server has not closed the connection, so the session is not offered there.
    BOOST_TEST(s.sockets.is_open(address));
    // And nothing waits for it any more.
    s.io.restart();
    BOOST_TEST(s.io.run_for(std::chrono::seconds{10}) == 0U);
    s.sockets.clear();
    BOOST_TEST(s.sends("x") == 0U);
}

BOOST_AUTO_TEST_CASE(clearing_lets_the_context_come_to_its_end)
{
    scene s;
    s.run();
    s.sockets.clear();
    BOOST_TEST(!s.sockets.is_open(address));
    s.io.restart();
    const auto before = std::chrono::steady_clock::now();
    s.io.run_for(std::chrono::seconds{10});
    BOOST_TEST((std::chrono::steady_clock::now() - before < std::chrono::seconds{5}));
}

BOOST_AUTO_TEST_SUITE_END()
