// The connection of a session, and the servers that it may be made to.
#pragma once

#include "session/client_basics.hpp"
#include "session/reconnect.hpp"
#include "zk/connection.hpp"
#include "zk/hosts.hpp"
#include "zk/old_sockets.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::detail {

// Carries out what protocol::session::reconnect decides about connections. On the strand.
class session_link {
public:
    explicit session_link(client_basics& basics);

    // ---- the servers

    // Looks their names up. `changed` is called whenever addresses() may differ.
    void look_up(std::function<void()> changed) { addresses_->refresh(std::move(changed)); }
    [[nodiscard]] std::vector<protocol::session::address> addresses();
    [[nodiscard]] bool looks_up() const noexcept { return addresses_->pending(); }
    [[nodiscard]] const std::string& last_failure() const noexcept
    {
        return addresses_->last_failure();
    }
    // Reads the hosts of the options, which are valid.
    void read_hosts();
    // Nobody wants to connect any more.
    void stop() { addresses_->cancel(); }
    // Null: plain TCP.
    [[nodiscard]] const std::shared_ptr<asio::ssl::context>& tls() const noexcept { return tls_; }
    // From the next connection on.
    void use_tls(std::shared_ptr<asio::ssl::context> context) { tls_ = std::move(context); }

    // ---- the connection

    // Returns why it cannot be opened, if it cannot.
    [[nodiscard]] std::optional<zk::connection::fault_report>
    open(const std::string& address, std::chrono::nanoseconds timeout,
         const std::vector<credential>& credentials, zk::connection::observer& told,
         zk::watch_receiver& watches);
    // Null when there is none.
    [[nodiscard]] const std::shared_ptr<zk::connection>& connection() const noexcept
    {
        return connection_;
    }
    [[nodiscard]] zk::connection::fault_report fault() const;
    [[nodiscard]] bool is_established() const noexcept { return established_; }
    void established() noexcept { established_ = true; }
    // When the attempt that has made it began.
    [[nodiscard]] std::chrono::nanoseconds began() const noexcept { return began_; }

    // What the answers of requests show: that a write is lost; that the server demands an identity.
    void note_lost_write() noexcept { write_lost_ = true; }
    void note_demand_for_identity() noexcept { identity_demanded_ = true; }
    [[nodiscard]] bool has_lost_write() const noexcept { return write_lost_; }
    // Why it is over. `refused`: the credentials.
    [[nodiscard]] protocol::session::loss loss_of(zk::handle::status why, bool refused) const;

    void close(bool last_words);
    // The server has closed it.
    void release() noexcept { connection_.reset(); }

    // ---- what a connection leaves

    void left_behind(const std::string& address, std::shared_ptr<zk::old_socket> socket)
    {
        old_sockets_.add(address, std::move(socket));
    }
    // What is carried out now is refused: the session is over.
    void forget_session() noexcept { old_sockets_.clear(); }

    void discard(bool last_words) noexcept;

private:
    [[nodiscard]] zk::server server_at(const std::string& address) const;

    client_basics& basics_;
    std::shared_ptr<zk::address_book> addresses_;
    std::shared_ptr<asio::ssl::context> tls_; // none: plain TCP
    zk::old_sockets old_sockets_;             // of this session
    std::shared_ptr<zk::connection> connection_;
    std::chrono::nanoseconds began_{0};
    bool established_ = false;       // it has a session, which need not be in use yet
    bool write_lost_ = false;        // a write on it was answered with its loss
    bool identity_demanded_ = false; // the server has refused a request on it for that
};

} // namespace colock::detail
