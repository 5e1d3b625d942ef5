// Prometheus itself, which scrapes what a test shows it, and answers expressions.
#ifndef COLOCK_TEST_SUPPORT_PROMETHEUS_SERVER_HPP
#define COLOCK_TEST_SUPPORT_PROMETHEUS_SERVER_HPP

#include <support/loopback_port.hpp>
#include <support/matches.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

/// What `http://127.0.0.1:port/target` says. Throws `boost::system::system_error` when nobody answers.
inline std::string http_get(std::uint16_t port, const std::string& target)
{
    namespace http = boost::beast::http;
    boost::asio::io_context io;
    boost::beast::tcp_stream stream{io};
    stream.connect(boost::asio::ip::tcp::endpoint{boost::asio::ip::address_v4::loopback(), port});
    http::request<http::empty_body> request{http::verb::get, target, 11};
    request.set(http::field::host, "127.0.0.1");
    http::write(stream, request);
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> response;
    response.body_limit(10'000'000);
    http::read(stream, buffer, response);
    return response.get().body();
}

/// The expressions of a dashboard for Grafana. Its variables are all that there is, and a minute.
inline std::vector<std::string> expressions_of_dashboard(const std::string& text)
{
    static const std::regex each{R"x("expr": *"((?:[^"\\]|\\.)*)")x"};
    auto all = matches(text, each);
    for (auto& one : all) {
        one = std::regex_replace(one, std::regex{R"(\\(.))"}, "$1");
        one = std::regex_replace(one, std::regex{R"(\$__rate_interval)"}, "1m");
        one = std::regex_replace(one, std::regex{R"(\$(path|instance))"}, ".*");
    }
    return all;
}

/// Of an alert what it compares, whether it fires or not.
inline std::string compared_by(const std::string& alert)
{
    return std::regex_replace(alert, std::regex{" (>|<|==) "}, " $1 bool ");
}

class prometheus_server {
public:
    /// Scrapes http://127.0.0.1:port/metrics ten times a second.
    explicit prometheus_server(std::uint16_t port)
    {
        std::ofstream{files_.path() + "/prometheus.yml"}
            << "global: {scrape_interval: 100ms, scrape_timeout: 100ms}\n"
               "scrape_configs:\n"
               "  - {job_name: colock, static_configs: [{targets: ['127.0.0.1:"
            << port << "']}]}\n";
        process_.emplace(
            std::vector<std::string>{
                "prometheus", "--config.file=" + files_.path() + "/prometheus.yml",
                "--storage.tsdb.path=" + files_.path() + "/data",
                "--web.listen-address=" + port_.address(), "--log.level=error"},
            subprocess_options{.output_file = files_.path() + "/log"});
    }

    /// The values of an expression now, as text; none while Prometheus is not ready. Throws `std::runtime_error` when it does
    /// not understand it.
    std::vector<std::string> ask(const std::string& expression) const
    {
        std::string target = "/api/v1/query?query=";
        for (const char c : expression) {
            char escaped[4];
            std::snprintf(escaped, sizeof escaped, "%%%02X", static_cast<unsigned char>(c));
            target += escaped;
        }
        std::string text;
        try {
            text = http_get(port_.number(), target);
        } catch (const boost::system::system_error&) {
            return {}; // it starts
        }
        if (text.starts_with(R"({"status":"error")")) {
            throw std::runtime_error{text};
        }
        static const std::regex each{R"x("value":\[[^,]*,"([^"]*)"\])x"};
        return matches(text, each);
    }

private:
    temporary_directory files_;
    loopback_port port_;
    std::optional<subprocess> process_;
};

} // namespace colock::test

#endif
