#include "door.hpp"

#include "client_port.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <fcntl.h>

#include <array>
#include <random>
#include <sstream>
#include <utility>

namespace colock::testing {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

namespace {

// A program that is started from this process has no part in it.
void keep_here(int socket)
{
    ::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

} // namespace

std::string text_of(const tcp::endpoint& e)
{
    std::ostringstream text;
    text << e;
    return text.str();
}

tcp::endpoint without_mapping(const tcp::endpoint& e)
{
    const auto address = e.address();
    return address.is_v6() && address.to_v6().is_v4_mapped()
               ? tcp::endpoint{asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()),
                               e.port()}
               : e;
}

// A connection. It lives while something is under way on its socket.
class door::visitor : public std::enable_shared_from_this<visitor> {
public:
    visitor(door& at, tcp::socket&& socket, const tcp::endpoint& from)
        : door_{&at}, socket_{std::move(socket)}, ending_{socket_.get_executor()},
          wrapping_{at.wrap_ ? at.wrap_() : nullptr}, port_{std::make_unique<client_port>(
                                                          at.server_, from.address().to_string(),
                                                          text_of(from), [this] { stir(); })}
    {
    }

    // It goes on before anybody waits again.
    void stir()
    {
        const auto self = weak_from_this().lock();
        if (self && door_ && !std::exchange(stirred_, true)) {
            door_->stirred_.push_back(self);
        }
    }

    // What the server has to say, and what it wants to hear.
    void go_on()
    {
        stirred_ = false;
        if (!port_) {
            return;
        }
        if (!writing_) {
            write();
        }
        if (port_->is_over()) {
            if (!writing_) {
                leave();
            } else if (!std::exchange(ends_, true)) {
                end_in_time();
            }
        } else if (!reading_ && !port_->is_held()) {
            read();
        }
    }

    // The server has gone, or the client.
    void leave()
    {
        auto* const at = std::exchange(door_, nullptr);
        port_.reset();
        error_code ignored;
        socket_.shutdown(tcp::socket::shutdown_both, ignored);
        socket_.close(ignored);
        ending_.cancel();
        if (at) {
            at->visitors_.erase(shared_from_this());
        }
    }

private:
    // A client that has stopped reads nothing, and its kernel goes on to say so.
    void end_in_time()
    {
        ending_.expires_after(door_->server_.settings().limits.last_words);
        ending_.async_wait([self = shared_from_this()](error_code ec) {
            if (!ec) {
                self->leave();
            }
        });
    }

    void read()
    {
        reading_ = true;
        socket_.async_read_some(asio::buffer(read_),
                                [self = shared_from_this()](error_code ec, std::size_t size) {
                                    self->reading_ = false;
                                    self->heard(ec, size);
                                });
    }

    void heard(error_code ec, std::size_t size)
    {
        if (!port_) {
            return;
        }
        auto& at = *door_;
        at.server_.advance(clock::now() - at.begin_);
        if (!port_) {
            return;
        }
        if (ec) {
            port_->end();
        } else {
            receive({read_.data(), size});
        }
        stir();
        at.catch_up();
    }

    void receive(std::string_view bytes)
    {
        if (!wrapping_) {
            port_->receive(bytes);
            return;
        }
        const auto said = wrapping_->unwrap(bytes);
        if (wrapping_->subject()) {
            port_->introduce(*wrapping_->subject());
        }
        port_->writing(written_.size() + wrapping_->unsent());
        port_->receive(said);
        if (wrapping_->is_over()) {
            port_->end();
        }
    }

    void write()
    {
        written_ = std::exchange(port_->out(), {});
        if (wrapping_) {
            written_ = wrapping_->wrap(written_, port_->is_over());
        }
        if (written_.empty()) {
            return;
        }
        writing_ = true;
        port_->writing(written_.size());
        asio::async_write(socket_, asio::buffer(written_),
                          [self = shared_from_this()](error_code ec, std::size_t) {
                              self->writing_ = false;
                              self->said(ec);
                          });
    }

    void said(error_code ec)
    {
        written_.clear();
        if (!port_) {
            return;
        }
        port_->writing(0);
        auto& at = *door_;
        at.server_.advance(clock::now() - at.begin_);
        if (ec) {
            port_->end();
            port_->out().clear();
        } else {
            port_->work();
        }
        stir();
        at.catch_up();
    }

    door* door_;
    tcp::socket socket_;
    asio::steady_timer ending_;
    std::unique_ptr<wrapping> wrapping_; // null: plain text
    std::unique_ptr<client_port> port_;
    std::array<char, 16'384> read_{};
    std::string written_; // under way
    bool reading_ = false;
    bool writing_ = false;
    bool stirred_ = false;
    bool ends_ = false;
};

door::door(asio::io_context& on, const tcp::endpoint& at, server_settings settings,
           make_wrapping wrap)
    : acceptor_{on, at}, due_{on}, recover_{on}, server_{std::move(settings)}, wrap_{
                                                                                   std::move(wrap)}
{
    keep_here(acceptor_.native_handle());
    accept();
    wait();
}

door::~door()
{
    cut();
}

tcp::endpoint door::address() const
{
    return acceptor_.local_endpoint();
}

void door::accept()
{
    acceptor_.async_accept(
        [this, here = std::weak_ptr<bool>{here_}](error_code ec, tcp::socket socket) {
            if (here.expired() || ec == asio::error::operation_aborted) {
                return;
            }
            if (ec) { // such as too many descriptors
                recover_.expires_after(100ms);
                call_when_due(recover_, [this] { accept(); });
                return;
            }
            accepted(std::move(socket));
            accept();
        });
}

void door::accepted(tcp::socket&& socket)
{
    error_code ec;
    keep_here(socket.native_handle());
    const auto from = without_mapping(socket.remote_endpoint(ec));
    if (ec || refuses_) {
        return; // it has gone again, or goes
    }
    socket.set_option(tcp::no_delay{true}, ec);
    server_.advance(clock::now() - begin_);
    (*visitors_.insert(std::make_shared<visitor>(*this, std::move(socket), from)).first)->stir();
    catch_up();
}

void door::settle()
{
    server_.advance(clock::now() - begin_);
    catch_up();
}

void door::cut()
{
    for (const auto& v : std::exchange(visitors_, {})) {
        v->leave();
    }
}

void door::catch_up()
{
    // What one client has asked for may concern others.
    while (!stirred_.empty()) {
        for (const auto& v : std::exchange(stirred_, {})) {
            v->go_on();
        }
    }
    wait();
}

void door::wait()
{
    const auto next = server_.next();
    const auto when = next ? begin_ + std::chrono::duration_cast<clock::duration>(*next)
                           : clock::time_point::max();
    if (when == due_at_) {
        return;
    }
    due_at_ = when;
    due_.expires_at(when);
    call_when_due(due_, [this] {
        due_at_ = clock::time_point::max();
        settle();
    });
}

// What is due before the timer goes is called all the same.
void door::call_when_due(asio::steady_timer& timer, std::function<void()> what)
{
    timer.async_wait([here = std::weak_ptr<bool>{here_}, what = std::move(what)](error_code ec) {
        if (!ec && !here.expired()) {
            what();
        }
    });
}

server_settings fresh_settings()
{
    std::random_device chance;
    server_settings s;
    s.since_1970 = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    s.seed = std::uint64_t{chance()} << 32 | chance();
    for (int i = 0; i != 8; ++i) {
        const auto word = chance();
        for (int shift = 0; shift != 32; shift += 8) {
            s.secret += static_cast<char>(word >> shift & 0xffu);
        }
    }
    return s;
}

} // namespace colock::testing
