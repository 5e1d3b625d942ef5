#include "systems/etcd_server.hpp"

#include <support/wait_until.hpp>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <stdexcept>

namespace bench {

namespace {

namespace asio = boost::asio;

// The body of an answer of HTTP, with its head; empty when there is none.
std::string get(std::uint16_t port, const std::string& path)
{
    asio::io_context context;
    asio::ip::tcp::socket socket{context};
    boost::system::error_code ec;
    socket.connect({asio::ip::address_v4::loopback(), port}, ec);
    if (ec) {
        return {};
    }
    const auto request = "GET " + path + " HTTP/1.0\r\n\r\n";
    asio::write(socket, asio::buffer(request), ec);
    std::string text;
    asio::read(socket, asio::dynamic_buffer(text), ec);
    return text;
}

bool healthy(std::uint16_t port)
{
    return get(port, "/health").find("\"true\"") != std::string::npos;
}

} // namespace

etcd_server::etcd_server(const etcd_options& options)
{
    std::string cluster;
    for (int i = 0; i != options.servers; ++i) {
        const auto& m = *members_.emplace_back(std::make_unique<member>(options.on_disk));
        cluster += (i == 0 ? "m" : ",m") + std::to_string(i) + "=http://" + m.others.address();
    }
    for (int i = 0; i != options.servers; ++i) {
        auto& m = *members_[static_cast<std::size_t>(i)];
        const auto clients = "http://" + m.client.address();
        const auto others = "http://" + m.others.address();
        m.process = std::make_unique<colock::test::subprocess>(
            std::vector<std::string>{"etcd", "--name", "m" + std::to_string(i), "--data-dir",
                                     m.data.path() + "/data", "--listen-client-urls", clients,
                                     "--advertise-client-urls", clients, "--listen-peer-urls",
                                     others, "--initial-advertise-peer-urls", others,
                                     "--initial-cluster", cluster, "--log-level", "error"},
            colock::test::subprocess_options{.output_file = options.log});
    }
    for (const auto& m : members_) {
        if (!colock::test::wait_until([&] { return healthy(m->client.number()); },
                                      std::chrono::seconds{30})) {
            throw std::runtime_error{"etcd does not serve; see " + options.log};
        }
    }
}

std::string etcd_server::address(int number) const
{
    return members_[static_cast<std::size_t>(number)]->client.address();
}

int etcd_server::leader() const
{
    for (int i = 0; i != size(); ++i) {
        const auto metrics =
            get(members_[static_cast<std::size_t>(i)]->client.number(), "/metrics");
        if (metrics.find("\netcd_server_is_leader 1") != std::string::npos) {
            return i;
        }
    }
    throw std::runtime_error{"etcd has no leader"};
}

void etcd_server::kill(int number)
{
    members_[static_cast<std::size_t>(number)]->process->kill();
}

void etcd_server::stop(int number)
{
    members_[static_cast<std::size_t>(number)]->process->stop();
}

void etcd_server::resume(int number)
{
    members_[static_cast<std::size_t>(number)]->process->resume();
}

} // namespace bench
