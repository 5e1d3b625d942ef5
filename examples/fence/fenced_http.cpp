// A fence for an object store that writes on a condition: what was read is still there (If-Match). The token is in the
// object's metadata, here the field Fencing-Token.
//
//     fenced_http HOST:PORT [HOST:PORT]     the object is /note
//
#include "note.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <stdexcept>
#include <string>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

response exchange(const std::string& host, request asked)
{
    asio::io_context context;
    asio::ip::tcp::socket socket{context};
    const auto colon = host.rfind(':');
    asio::connect(socket, asio::ip::tcp::resolver{context}.resolve(host.substr(0, colon),
                                                                   host.substr(colon + 1)));
    asked.set(http::field::host, host);
    asked.prepare_payload();
    http::write(socket, asked);
    boost::beast::flat_buffer buffer;
    response answer;
    http::read(socket, buffer, answer);
    return answer;
}

void check(bool good, const response& answer)
{
    if (!good) {
        throw std::runtime_error{std::string{http::obsolete_reason(answer.result())}};
    }
}

asio::awaitable<void> write(const std::string& host, const colock::unique_lock& held)
{
    const auto text = note::ask("what shall the note say?");
    for (;;) {
        const auto old = exchange(host, {http::verb::get, "/note", 11});
        const bool is_new = old.result() == http::status::not_found;
        check(is_new || old.result() == http::status::ok, old);
        request put{http::verb::put, "/note", 11, text};
        colock::fenced(held, [&](const std::string& token) {
            put.set("Fencing-Token", token);
            return colock::fence::accepts(std::string{old["Fencing-Token"]}, held.token());
        });
        note::ask("instead of '" + old.body() + "'?");
        put.set(is_new ? http::field::if_none_match : http::field::if_match,
                is_new ? "*" : std::string{old[http::field::etag]});
        const auto answer = exchange(host, put);
        if (http::to_status_class(answer.result()) == http::status_class::successful) {
            co_return;
        }
        // Somebody has written: look again.
        check(answer.result() == http::status::precondition_failed, answer);
    }
}

int main(int argc, char** argv)
{
    const std::string host = argc > 1 ? argv[1] : "127.0.0.1:8080";
    return note::under_lock(argc > 2 ? argv[2] : "localhost:2181",
                            [&](auto&, const auto& held) { return write(host, held); });
}
