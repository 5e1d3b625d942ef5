// Two instances of the HTTP server share the locks of its resources. At SIGTERM an instance answers the requests that hold
// a lock and those that wait for one.
#include <support/wait_until.hpp>

#include "example_scene.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <csignal>
#include <future>
#include <set>

namespace colock::test::example_http_server_test {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

namespace {

constexpr auto done = "done with fencing token ";

http::response<http::string_body> exchange(std::uint16_t port, const std::string& target)
{
    asio::io_context io;
    beast::tcp_stream stream{io};
    stream.expires_after(30s);
    const auto finish = [&](auto result) {
        io.restart();
        io.run();
        result.get();
    };
    finish(stream.async_connect({asio::ip::address_v4::loopback(), port}, asio::use_future));
    const http::request<http::empty_body> request{http::verb::get, target, 11};
    finish(http::async_write(stream, request, asio::use_future));
    beast::flat_buffer buffer;
    http::response<http::string_body> response;
    finish(http::async_read(stream, buffer, response, asio::use_future));
    return response;
}

class instance : public example {
public:
    instance(const colock::testing::server& zk, std::chrono::milliseconds work)
        : example{"http_server", {"0", std::to_string(work.count()), zk.hosts()}},
          port_{static_cast<std::uint16_t>(std::stoi(line_after("listening at port ")))}
    {
    }

    // Returns when the server has read the request.
    std::future<http::response<http::string_body>> get(const std::string& target)
    {
        auto response = std::async(std::launch::async, exchange, port_, target);
        line_after("request for " + target);
        return response;
    }

private:
    std::uint16_t port_;
};

BOOST_FIXTURE_TEST_SUITE(example_http_server, example_scene)

BOOST_AUTO_TEST_CASE(sigterm_while_requests_hold_and_wait)
{
    instance a{server, 1200ms};
    instance b{server, 0ms};
    auto holds = a.get("/apples");
    BOOST_REQUIRE(wait_until([&] { return server.nodes("/locks/apples").size() == 1U; }, 30s));
    auto waits = a.get("/apples?in=boxes");
    auto waits_elsewhere = b.get("/apples");
    a.send_signal(SIGTERM);

    std::set<std::string> tokens;
    for (auto* each : {&holds, &waits, &waits_elsewhere}) {
        const auto response = each->get();
        BOOST_TEST(response.result_int() == 200U);
        BOOST_TEST(response.body().starts_with(done));
        tokens.insert(response.body());
    }
    BOOST_TEST(tokens.size() == 3U);
    BOOST_TEST(server.nodes("/locks") == std::vector<std::string>{"apples"},
               boost::test_tools::per_element());
    BOOST_TEST(a.rest().empty());
    BOOST_TEST(a.wait().success());
    BOOST_TEST(server.sessions().size() == 1U); // of the other one
    b.send_signal(SIGTERM);
    BOOST_TEST(b.wait().success());
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(each_resource_has_a_lock_and_a_wait_has_an_end)
{
    instance a{server, 6000ms};
    instance b{server, 0ms};
    auto holds = a.get("/pears");
    BOOST_REQUIRE(wait_until([&] { return !server.nodes("/locks/pears").empty(); }, 30s));
    auto waits = b.get("/pears");
    BOOST_TEST(b.get("/plums").get().result_int() == 200U);
    BOOST_TEST(b.get("/..").get().result_int() == 503U); // no path of a lock
    BOOST_TEST(waits.get().result_int() == 503U);
    BOOST_TEST(holds.get().result_int() == 200U);
    BOOST_TEST(b.get("/pears").get().result_int() == 200U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

} // namespace colock::test::example_http_server_test
