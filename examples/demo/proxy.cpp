#include "proxy.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <utility>
#include <vector>

namespace demo {

using asio::ip::tcp;

namespace {

tcp::endpoint endpoint_of(const std::string& text)
{
    const auto colon = text.rfind(':');
    return {asio::ip::make_address(text.substr(0, colon)),
            static_cast<unsigned short>(std::stoi(text.substr(colon + 1)))};
}

// A client's connection, and the one that it stands for.
struct link {
    tcp::socket client, server;

    void close()
    {
        boost::system::error_code ignored;
        client.close(ignored);
        server.close(ignored);
    }
};

asio::awaitable<void> carry(std::shared_ptr<link> both, tcp::socket& from, tcp::socket& to)
{
    std::array<char, 4096> bytes{};
    for (;;) {
        const auto [ended, size] =
            co_await from.async_read_some(asio::buffer(bytes), asio::as_tuple(asio::deferred));
        if (ended) {
            break;
        }
        const auto [failed, written] = co_await asio::async_write(to, asio::buffer(bytes, size),
                                                                  asio::as_tuple(asio::deferred));
        if (failed) {
            break;
        }
    }
    both->close();
}

} // namespace

struct proxy::state {
    tcp::acceptor acceptor;
    tcp::endpoint server;
    std::vector<std::weak_ptr<link>> links = {};
    bool refuses = false;

    void close_links()
    {
        for (const auto& each : std::exchange(links, {})) {
            if (const auto open = each.lock()) {
                open->close();
            }
        }
    }

    static asio::awaitable<void> serve(std::shared_ptr<state> s)
    {
        for (;;) {
            auto [ended, client] =
                co_await s->acceptor.async_accept(asio::as_tuple(asio::deferred));
            if (ended) {
                co_return;
            }
            const auto executor = s->acceptor.get_executor();
            const auto both =
                std::make_shared<link>(link{std::move(client), tcp::socket{executor}});
            boost::system::error_code failed;
            both->client.set_option(tcp::no_delay{true}, failed);
            both->server.connect(s->server, failed); // on the loopback interface, so at once
            if (failed || s->refuses) {
                continue;
            }
            both->server.set_option(tcp::no_delay{true}, failed);
            s->links.push_back(both);
            asio::co_spawn(executor, carry(both, both->client, both->server), asio::detached);
            asio::co_spawn(executor, carry(both, both->server, both->client), asio::detached);
        }
    }
};

proxy::proxy(const asio::any_io_executor& executor, const std::string& server)
    : state_{std::make_shared<state>(
          state{{executor, {asio::ip::address_v4::loopback(), 0}}, endpoint_of(server)})}
{
    asio::co_spawn(executor, state::serve(state_), asio::detached);
}

proxy::~proxy()
{
    boost::system::error_code ignored;
    state_->acceptor.close(ignored);
    state_->close_links();
}

std::string proxy::hosts() const
{
    const auto at = state_->acceptor.local_endpoint();
    return at.address().to_string() + ':' + std::to_string(at.port());
}

void proxy::cut()
{
    state_->refuses = true;
    state_->close_links();
}

void proxy::mend()
{
    state_->refuses = false;
}

} // namespace demo
