// Where clients come in: a server in memory, on a TCP socket and in real time.
#pragma once

#include "memory_server.hpp"
#include "wrapping.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace colock::testing {

// All of it runs on the context, which one thread runs.
class door {
public:
    // Listens at once, or throws boost::system::system_error. `wrap`: empty for plain connections.
    door(boost::asio::io_context& on, const boost::asio::ip::tcp::endpoint& at,
         server_settings settings, make_wrapping wrap = {});
    door(const door&) = delete;
    door& operator=(const door&) = delete;
    ~door();

    [[nodiscard]] boost::asio::ip::tcp::endpoint address() const;

    // ---- for tests

    [[nodiscard]] memory_server& server() noexcept { return server_; }
    // Brings the server up to now, after something was done to it, and clients what it has to say.
    void settle();
    void cut(); // all connections
    void refuse(bool refuses) noexcept { refuses_ = refuses; }

private:
    class visitor;

    void accept();
    void accepted(boost::asio::ip::tcp::socket&& socket);
    void catch_up();
    void wait();
    void call_when_due(boost::asio::steady_timer& timer, std::function<void()> what);

    using clock = std::chrono::steady_clock;

    boost::asio::ip::tcp::acceptor acceptor_;
    boost::asio::steady_timer due_;     // when something happens without a client
    boost::asio::steady_timer recover_; // of descriptors
    clock::time_point begin_ = clock::now();
    clock::time_point due_at_ = clock::time_point::max();
    memory_server server_;
    make_wrapping wrap_;
    std::set<std::shared_ptr<visitor>> visitors_;
    std::vector<std::shared_ptr<visitor>> stirred_; // have to go on
    bool refuses_ = false;
    std::shared_ptr<bool> here_ = std::make_shared<bool>(true); // expires with the door
};

// Such as 127.0.0.1:2181, or [::1]:2181.
[[nodiscard]] std::string text_of(const boost::asio::ip::tcp::endpoint& e);

// The address of IPv4 where one of IPv6 stands for it, as at a socket for both.
[[nodiscard]] boost::asio::ip::tcp::endpoint
without_mapping(const boost::asio::ip::tcp::endpoint& e);

// The time since 1970, a seed and a secret that nobody else has.
[[nodiscard]] server_settings fresh_settings();

} // namespace colock::testing
