// A store with If-Match refuses the late write of an earlier holder. The store itself knows nothing of tokens.
#include "fence_scene.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

using namespace colock::test;
namespace asio = boost::asio;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

namespace {

// One object, whose ETag is made of its content, as that of S3.
class object_store {
public:
    ~object_store()
    {
        ends_ = true;
        asio::io_context io;
        tcp::socket last{io};
        boost::system::error_code none;
        last.connect(acceptor_.local_endpoint(), none); // so that it sees that
        thread_.join();
    }

    std::string address() const
    {
        return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
    }

    void fail(bool fails) { fails_ = fails; }

private:
    void serve()
    {
        while (true) {
            tcp::socket socket{io_};
            acceptor_.accept(socket);
            if (ends_) {
                return;
            }
            boost::beast::flat_buffer buffer;
            http::request<http::string_body> asked;
            boost::system::error_code ec;
            http::read(socket, buffer, asked, ec);
            if (!ec) {
                http::write(socket, answer_to(asked), ec);
            }
        }
    }

    http::response<http::string_body> answer_to(const http::request<http::string_body>& asked)
    {
        const auto tag = '"' + std::to_string(std::hash<std::string>{}(content_)) + '"';
        http::response<http::string_body> answer{http::status::ok, 11};
        const bool is_there = !content_.empty();
        if (fails_ && asked.method() == http::verb::get) {
            answer.result(http::status::service_unavailable);
        } else if (asked.method() == http::verb::put) {
            const auto condition =
                asked[is_there ? http::field::if_match : http::field::if_none_match];
            if (condition != (is_there ? tag : "*")) {
                answer.result(http::status::precondition_failed);
            } else {
                content_ = asked.body();
            }
        } else if (!is_there) {
            answer.result(http::status::not_found);
        } else {
            answer.set(http::field::etag, tag);
            answer.body() = content_;
        }
        answer.keep_alive(false);
        answer.prepare_payload();
        return answer;
    }

    asio::io_context io_;
    tcp::acceptor acceptor_{io_, {asio::ip::make_address("127.0.0.1"), 0}};
    std::atomic<bool> ends_ = false;
    std::atomic<bool> fails_ = false;
    std::string content_;
    std::thread thread_{[this] { serve(); }};
};

struct in_object_store {
    object_store store;
    fence_scene scene{"fenced_http", "nothing", store.address()};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fence_http, in_object_store)

BOOST_AUTO_TEST_CASE(a_late_write_is_refused)
{
    scene.late_write_is_refused();
}

BOOST_AUTO_TEST_CASE(a_write_after_reading_is_refused)
{
    scene.write_after_reading_is_refused();
}

// A later holder has written something else, and the same again.
BOOST_AUTO_TEST_CASE(a_late_write_is_refused_though_the_text_is_that_of_before)
{
    scene.start().writes("no news");
    auto stale = scene.start();
    stale.wait_for_question();
    stale.answer("old news");
    stale.wait_for_second_question();
    BOOST_REQUIRE(stale.stop());
    scene.take_lock_away();
    scene.start().writes("good news");
    scene.start().writes("no news");

    stale.answer("");
    stale.resume();
    stale.expect_refused();
    BOOST_TEST(scene.reads() == "no news");
}

// Without what it says, there is neither a token to compare nor a condition to write on.
BOOST_AUTO_TEST_CASE(a_store_that_cannot_be_read_is_not_written_to)
{
    scene.start().writes("good news");
    store.fail(true);
    auto blind = scene.start();
    blind.wait_for_question();
    blind.answer("blind");
    blind.line_after("failed: ");
    BOOST_TEST(blind.wait().code == 1);
    store.fail(false);
    BOOST_TEST(scene.reads() == "good news");
}

BOOST_AUTO_TEST_SUITE_END()
