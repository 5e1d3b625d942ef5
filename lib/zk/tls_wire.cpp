#include "zk/tls_wire.hpp"

#include <colock/error.hpp>

#include "zk/connection.hpp"
#include "zk/descriptor.hpp"
#include "zk/socket_pair.hpp"
#include "zk/tls_session.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <new>
#include <utility>

namespace colock::zk {

namespace {

constexpr std::size_t piece = std::size_t{32} * 1024;

// A server that does not read makes the C client keep what it wants to write.
constexpr std::size_t most_unsent = std::size_t{256} * 1024;

// The socket to the server, and TLS on it.
class secure_socket {
public:
    secure_socket(const strand_type& strand, const tls_terms& terms) : socket_{strand}, tls_{terms}
    {
    }

    [[nodiscard]] stream& socket() noexcept { return socket_; }
    [[nodiscard]] tls_session& tls() noexcept { return tls_; }
    [[nodiscard]] const tls_session& tls() const noexcept { return tls_; }

    // Takes at most a piece of cipher text from the socket.
    received fill()
    {
        std::array<char, piece> bytes;
        const auto count =
            ::recv(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (count > 0) {
            tls_.feed({bytes.data(), static_cast<std::size_t>(count)});
            return {.count = static_cast<std::size_t>(count)};
        }
        return {.over = count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)};
    }

    // Sends as much cipher text as the socket takes. False when the socket is broken.
    [[nodiscard]] bool flush() noexcept
    {
        for (auto left = tls_.unsent(); !left.empty(); left = tls_.unsent()) {
            const auto count = ::send(socket_.native_handle(), left.data(), left.size(),
                                      MSG_DONTWAIT | MSG_NOSIGNAL);
            if (count < 0) {
                return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
            }
            tls_.sent(static_cast<std::size_t>(count));
        }
        return true;
    }

    // The socket is broken. Before that the server may have said why: by an alert.
    void hear_last_words()
    {
        std::array<char, piece> dropped;
        for (int pieces = 0; pieces != 32 && fill().count != 0; ++pieces) {
            while (tls_.read(dropped.data(), dropped.size()) != 0) {
            }
        }
    }

private:
    stream socket_;
    tls_session tls_;
};

class tls_wire final : public wire {
public:
    explicit tls_wire(std::unique_ptr<secure_socket> server) noexcept : server_{std::move(server)}
    {
    }

    // Nobody listens there. The kernel tells a connect() that is not to block only after its own return (Linux), and
    // attach() comes first. Should somebody listen, he gets a connection without a byte, which ends at once. The C client
    // takes no port 0.
    [[nodiscard]] const std::string& address_for_client() const noexcept override
    {
        static const std::string nowhere = "127.0.0.1:1";
        return nowhere;
    }
    [[nodiscard]] bool attach(int descriptor) override
    {
        return attached_ = client_.place(descriptor, true);
    }
    [[nodiscard]] bool is_attached() const noexcept override { return attached_; }

    [[nodiscard]] stream& socket() noexcept override { return server_->socket(); }
    [[nodiscard]] bool holds_unread() const noexcept override
    {
        return server_->tls().has_unread();
    }

    [[nodiscard]] bool has_unread() const noexcept override
    {
        int bytes = 0;
        return holds_unread() ||
               (::ioctl(server_->socket().native_handle(), FIONREAD, &bytes) == 0 && bytes > 0);
    }
    [[nodiscard]] received receive(char* into, std::size_t size) override
    {
        for (;;) {
            if (const auto count = server_->tls().read(into, size); count != 0) {
                return {.count = count};
            }
            if (server_->tls().is_over()) {
                return {.over = true};
            }
            if (const auto came = server_->fill(); came.count == 0) {
                return came;
            }
        }
    }
    [[nodiscard]] bool is_direct() const noexcept override { return false; }
    [[nodiscard]] received look(char*, std::size_t) override { return {}; }

    [[nodiscard]] bool begin_giving() noexcept override { return true; }
    [[nodiscard]] bool give(std::string_view& bytes) noexcept override
    {
        return client_.give(bytes);
    }
    void end_giving(bool) noexcept override {}

    // carry() brings on all that there is, in one piece.
    void hold_back(bool) noexcept override {}

    [[nodiscard]] bool say(std::string_view& bytes) override
    {
        return server_->tls().write(std::exchange(bytes, {}));
    }
    [[nodiscard]] bool carry() override
    {
        for (bool has_all = false; !has_all;) {
            while (!has_all && server_->tls().unsent().size() < most_unsent) {
                std::array<char, piece> bytes;
                const auto count = client_.take(bytes.data(), bytes.size());
                const bool written = server_->tls().write({bytes.data(), count});
                ::explicit_bzero(bytes.data(), count); // there may be passwords
                if (!written) {
                    return false;
                }
                has_all = count != bytes.size();
            }
            if (!server_->flush()) {
                server_->hear_last_words();
                return false;
            }
            if (has_unsent()) {
                break; // the socket takes no more
            }
        }
        return true;
    }
    [[nodiscard]] bool has_unsent() const noexcept override
    {
        return !server_->tls().unsent().empty();
    }
    [[nodiscard]] bool takes_at_once() const noexcept override
    {
        return server_->tls().unsent().size() < most_unsent;
    }

    [[nodiscard]] wire_fault fault() const override
    {
        const auto& why = server_->tls().fault();
        return why.empty() ? wire_fault{} : wire_fault{"TLS: " + why, wire_fault::kind::tls};
    }
    void close() noexcept override
    {
        error_code ignored;
        server_->socket().close(ignored);
    }
    [[nodiscard]] int release() override { return server_->socket().release(); }

private:
    std::unique_ptr<secure_socket> server_;
    socket_pair client_;
    bool attached_ = false;
};

// "127.0.0.1:2281" or "::1:2281".
asio::ip::tcp::endpoint endpoint_of(const std::string& address)
{
    const auto colon = address.rfind(':');
    std::uint16_t port = 0;
    std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
    error_code ignored; // it was an address before
    return {asio::ip::make_address(address.substr(0, colon), ignored), port};
}

// Waits on the socket: for the connection, then for what the server says.
class connector final : public tls_connector, public std::enable_shared_from_this<connector> {
public:
    connector(const strand_type& strand, const std::string& address, const tls_terms& terms)
        : strand_{strand}, to_{endpoint_of(address)}, server_{std::make_unique<secure_socket>(
                                                          strand, terms)}
    {
    }

    void start(std::function<void()> reached, std::function<void(outcome)> done) override
    {
        reached_ = std::move(reached);
        done_ = std::move(done);
        const int failed = begin();
        asio::post(strand_, [self = shared_from_this(), failed] {
            if (failed == 0) {
                self->wait(stream::wait_write, &connector::connected);
            } else {
                self->end({.fault = unreachable(failed)});
            }
        });
    }

    void cancel() noexcept override
    {
        if (server_) {
            error_code ignored;
            server_->socket().close(ignored);
        }
        reached_ = nullptr;
        done_ = nullptr;
    }

private:
    // errno; 0 when the connection is being made.
    [[nodiscard]] int begin()
    {
        const int descriptor = new_tcp_socket(to_.protocol().family());
        error_code failed;
        if (descriptor == -1) {
            return errno;
        }
        server_->socket().assign(descriptor, failed);
        if (failed) {
            ::close(descriptor);
            return failed.value();
        }
        const int on = 1;
        static_cast<void>(::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
        const bool begun =
            ::connect(descriptor, to_.data(), static_cast<socklen_t>(to_.size())) == 0 ||
            errno == EINPROGRESS;
        return begun ? 0 : errno;
    }

    void wait(stream::wait_type what, void (connector::*then)())
    {
        server_->socket().async_wait(what, [self = shared_from_this(), then](const error_code& ec) {
            if (ec) {
                self->end({}); // nobody hears of it after cancel()
            } else if (self->done_) {
                (self.get()->*then)();
            }
        });
    }

    void connected()
    {
        int failed = 0;
        socklen_t size = sizeof failed;
        if (::getsockopt(server_->socket().native_handle(), SOL_SOCKET, SO_ERROR, &failed, &size) !=
                0 ||
            failed != 0) {
            end({.fault = unreachable(failed)});
            return;
        }
        reached_();
        if (done_) {
            shake_hands();
        }
    }

    void answered()
    {
        const auto came = server_->fill();
        if (came.over) {
            end(closed());
        } else {
            shake_hands();
        }
    }

    void shake_hands()
    {
        const auto progress = server_->tls().shake_hands();
        const bool sent = server_->flush(); // also an alert
        if (progress == tls_session::progress::failed) {
            end({.fault = server_->tls().fault(), .of_tls = true});
        } else if (!sent) {
            end(closed());
        } else if (progress == tls_session::progress::complete) {
            end({.way = std::make_unique<tls_wire>(std::move(server_))});
        } else if (server_->tls().unsent().empty()) {
            wait(stream::wait_read, &connector::answered);
        } else {
            wait(stream::wait_write, &connector::shake_hands);
        }
    }

    static outcome closed()
    {
        return {.fault =
                    "the server closed the connection within the TLS handshake; does it speak TLS "
                    "at this port?",
                .of_tls = true};
    }

    void end(outcome what)
    {
        reached_ = nullptr;
        if (const auto done = std::exchange(done_, nullptr)) {
            done(std::move(what));
        }
    }

    strand_type strand_;
    asio::ip::tcp::endpoint to_;
    std::unique_ptr<secure_socket> server_; // the wire's, in the end
    std::function<void()> reached_;
    std::function<void(outcome)> done_; // empty once it is over
};

} // namespace

bool speaks_tls() noexcept
{
    return true;
}

std::shared_ptr<tls_connector>
make_tls_connector(const strand_type& strand, const std::string& address, const tls_terms& terms)
{
    try {
        return std::make_shared<connector>(strand, address, terms);
    } catch (const std::bad_alloc&) { // OpenSSL has no memory
        return nullptr;
    }
}

} // namespace colock::zk
