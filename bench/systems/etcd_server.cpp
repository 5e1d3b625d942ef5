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
std::string get(const std::string& address, const std::string& path)
{
    asio::io_context context;
    asio::ip::tcp::socket socket{context};
    boost::system::error_code ec;
    const auto colon = address.find(':');
    socket.connect({asio::ip::make_address(address.substr(0, colon)),
                    static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)))},
                   ec);
    if (ec) {
        return {};
    }
    const auto request = "GET " + path + " HTTP/1.0\r\n\r\n";
    asio::write(socket, asio::buffer(request), ec);
    std::string text;
    asio::read(socket, asio::dynamic_buffer(text), ec);
    return text;
}

bool healthy(const std::string& address)
{
    return get(address, "/health").find("\"true\"") != std::string::npos;
}

} // namespace

etcd_server::etcd_server(const etcd_options& options) : log_{options.log}
{
    std::string cluster;
    const auto peer_url = [](const member& m) {
        return "http://" + m.place.peer_host + ':' + std::to_string(m.others.number());
    };
    for (int i = 0; i != options.servers; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const auto& m = *members_.emplace_back(std::make_unique<member>(
            at < options.places.size() ? options.places[at] : colock::test::server_place{},
            options.on_disk));
        cluster += (i == 0 ? "m" : ",m") + std::to_string(i) + '=' + peer_url(m);
    }
    for (int i = 0; i != options.servers; ++i) {
        auto& m = *members_[static_cast<std::size_t>(i)];
        const auto clients = "http://" + m.address();
        const auto others = peer_url(m);
        auto line = m.place.launcher;
        line.insert(line.end(), {"etcd", "--name", "m" + std::to_string(i), "--data-dir",
                                 m.data.path() + "/data", "--listen-client-urls", clients,
                                 "--advertise-client-urls", clients, "--listen-peer-urls", others,
                                 "--initial-advertise-peer-urls", others, "--initial-cluster",
                                 cluster, "--log-level", "error"});
        m.process = std::make_unique<colock::test::subprocess>(
            line, colock::test::subprocess_options{.output_file = options.log});
    }
    wait_until_complete();
}

void etcd_server::wait_until_complete() const
{
    for (const auto& m : members_) {
        if (!colock::test::wait_until([&] { return healthy(m->address()); },
                                      std::chrono::seconds{30})) {
            throw std::runtime_error{"etcd does not serve; see " + log_};
        }
    }
}

std::string etcd_server::address(int number) const
{
    return members_[static_cast<std::size_t>(number)]->address();
}

int etcd_server::leader() const
{
    for (int i = 0; i != size(); ++i) {
        const auto metrics = get(address(i), "/metrics");
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
