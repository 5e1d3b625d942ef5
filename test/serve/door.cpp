// The sockets of `colock serve`: who comes in, and who does not leave.
#include <support/blocking_socket.hpp>
#include <support/run.hpp>
#include <support/wait_until.hpp>

#include "serve/running_door.hpp"
#include "served.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

using namespace colock::testing;
using namespace colock::testing::test;
using colock::test::after;
using colock::test::blocking_socket;
using colock::test::long_enough;

namespace {

std::size_t connections(running_door& to)
{
    return boost::asio::post(to.context, boost::asio::use_future(
                                             [&] { return to.way_in.server().ports().size(); }))
        .get();
}

// What begins a session.
std::string greeting()
{
    std::string bytes;
    jute_writer{bytes}.integer(0).longer(0).integer(9000).longer(0).text(std::string(16, '\0'));
    return framed(bytes);
}

std::string request(std::int32_t type, const std::function<void(jute_writer&)>& body = {})
{
    std::string bytes;
    jute_writer out{bytes};
    out.integer(1).integer(type);
    if (body) {
        body(out);
    }
    return framed(bytes);
}

// It goes before its context does.
struct passing_door {
    boost::asio::io_context context{1};
    std::optional<door> way_in{
        std::in_place, context,
        boost::asio::ip::tcp::endpoint{boost::asio::ip::address_v4::loopback(), 0},
        fresh_settings()};
};

} // namespace

BOOST_AUTO_TEST_SUITE(served_door)

BOOST_AUTO_TEST_CASE(a_connection_that_is_over_does_not_wait_for_its_client)
{
    auto settings = fresh_settings();
    settings.limits.unread = settings.limits.most_unread;
    settings.limits.last_words = 50ms;
    running_door at{settings};
    blocking_socket deaf{colock::test::parse_hosts(at.hosts).front(), after(long_enough)};
    auto said = greeting() + request(type::create, [](jute_writer& out) {
                    out.text("/a").text(std::string(1'000'000, 'x')).count(1).integer(31);
                    out.text("world").text("anyone").integer(0);
                });
    // More than the kernel takes.
    for (int more = 60; more != 0; --more) {
        said += request(type::get, [](jute_writer& out) { out.text("/a").boolean(false); });
    }
    deaf.send(said, after(long_enough));
    BOOST_TEST(
        colock::test::wait_until([&] { return connections(at) == 1; }, long_enough)); // it is in
    deaf.send(request(type::close), after(long_enough));
    BOOST_TEST(colock::test::wait_until([&] { return connections(at) == 0; }, long_enough));
    // It had not read: the rest is missing.
    std::size_t heard = 0;
    try {
        for (;; heard += 10'000) {
            deaf.receive(10'000, after(long_enough));
        }
    } catch (const std::runtime_error&) {
    }
    BOOST_TEST(heard < 60'000'000U);
}

// As where a signal ends `colock serve`: the context first collects what is due, and then the door goes.
BOOST_FIXTURE_TEST_CASE(a_timer_that_is_due_does_not_outlive_the_door, passing_door)
{
    const auto due = std::chrono::steady_clock::now() + way_in->server().next().value();
    BOOST_REQUIRE(colock::test::wait_until([&] { return std::chrono::steady_clock::now() > due; },
                                           long_enough));
    boost::asio::post(context, [&] { way_in.reset(); });
    BOOST_TEST(context.poll() != 0U);
}

// The door lets in the next client that waits as soon as it has let in one.
BOOST_FIXTURE_TEST_CASE(a_client_that_has_come_in_does_not_outlive_the_door, passing_door)
{
    const auto where = colock::test::parse_hosts(text_of(way_in->address())).front();
    const blocking_socket first{where, after(long_enough)};
    const blocking_socket second{where, after(long_enough)};
    while (way_in->server().ports().empty()) {
        context.run_one();
    }
    way_in.reset();
    BOOST_TEST(context.poll() != 0U);
}

BOOST_AUTO_TEST_CASE(a_client_of_ipv4_has_its_own_address_at_a_socket_for_both)
{
    const auto seen = [](const char* address) {
        return text_of(without_mapping({boost::asio::ip::make_address(address), 7}));
    };
    BOOST_TEST(seen("::ffff:127.0.0.1") == "127.0.0.1:7");
    BOOST_TEST(seen("127.0.0.1") == "127.0.0.1:7");
    BOOST_TEST(seen("::1") == "[::1]:7");
}

BOOST_AUTO_TEST_SUITE_END()
