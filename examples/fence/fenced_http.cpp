// A fence for an object store that writes on a condition: what was read is still there (If-Match). The token is the first line
// of the object: the ETag of some stores, such as S3, covers the content alone.
//
//     fenced_http HOST:PORT [HOST:PORT]     the object is /note
//
#include "note.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

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

void check(bool good, std::string_view why)
{
    if (!good) {
        throw std::runtime_error{std::string{why}};
    }
}

asio::awaitable<void> write(const std::string& host, const colock::unique_lock& held)
{
    const auto text = note::ask("what shall the note say?");
    for (;;) {
        const auto old = exchange(host, {http::verb::get, "/note", 11});
        const bool is_new = old.result() == http::status::not_found;
        check(is_new || old.result() == http::status::ok, http::obsolete_reason(old.result()));
        const std::string tag{is_new ? "*" : old[http::field::etag]};
        check(is_new || tag.starts_with('"'), "the store gives no strong ETag");
        const auto seen = is_new ? "" : old.body().substr(0, old.body().find('\n'));
        request put{http::verb::put, "/note", 11};
        put.set(is_new ? http::field::if_none_match : http::field::if_match, tag);
        colock::fenced(held, [&](const std::string& token) {
            put.body() = token + '\n' + text;
            return colock::fence::accepts(seen, held.token());
        });
        note::ask("instead of '" +
                  (is_new ? "" : old.body().substr(std::min(seen.size() + 1, old.body().size()))) +
                  "'?");
        const auto answer = exchange(host, put);
        if (http::to_status_class(answer.result()) == http::status_class::successful) {
            co_return;
        }
        // Somebody has written, or is writing: look again.
        check(answer.result() == http::status::precondition_failed ||
                  answer.result() == http::status::conflict,
              http::obsolete_reason(answer.result()));
    }
}

int main(int argc, char** argv)
{
    const std::string host = argc > 1 ? argv[1] : "127.0.0.1:8080";
    return note::under_lock(argc > 2 ? argv[2] : "localhost:2181",
                            [&](auto&, const auto& held) { return write(host, held); });
}
