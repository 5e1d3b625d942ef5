// A connection of the library, in the simulated world: what lib/zk and the C client do together, over a stream.
#include "zk/connection.hpp"

#include "old_stream.hpp"
#include "simulated_handle.hpp"

#include <boost/asio/post.hpp>

#include <chrono>
#include <utility>

namespace colock::simulated {

namespace {

namespace asio = boost::asio;
namespace zk = colock::zk;
using colock::error_code;
using colock::zookeeper_errc;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using handle_status = simulated_handle::status;

// So many packets are processed before other handlers of the executor get their turn.
constexpr int packets_a_turn = 64;

class simulated_connection final : public zk::connection,
                                   public std::enable_shared_from_this<simulated_connection> {
public:
    simulated_connection(const zk::strand_type& strand, std::shared_ptr<void> owner, observer& told,
                         std::atomic<std::uint64_t>& wakeups)
        : strand_{strand}, owner_{std::move(owner)}, observer_{told}, wakeups_{wakeups},
          timer_{strand_}
    {
    }
    ~simulated_connection() override { break_off(); }

    [[nodiscard]] bool open(const zk::server& to, const std::string& prefix,
                            milliseconds session_timeout, const zk::session_identity& session,
                            const std::vector<colock::credential>& credentials,
                            zk::watch_receiver& watches) override;
    [[nodiscard]] error_code send(const zk::call& c, zk::receiver& to) override;
    [[nodiscard]] bool authenticate(const colock::credential& c) override;
    void flush() override;
    void end_session(std::function<void(bool confirmed)> done) override;
    void close(bool last_words = false) noexcept override;

    [[nodiscard]] fault_report fault() const override { return {client_.fault()}; }
    [[nodiscard]] zk::session_identity session() const noexcept override
    {
        return client_.session();
    }
    [[nodiscard]] milliseconds session_timeout() const noexcept override
    {
        return client_.session_timeout();
    }

private:
    class library_call;

    void process_connected();
    void break_off();

    // As lib/zk/c_client_connection.cpp has them.
    bool settle();
    void step();
    void drain();
    void wait_readable();
    void wait_until(clock::time_point when);
    void on_readable();
    void on_timer();
    void try_to_end();
    void await_end();

    zk::strand_type strand_;
    std::shared_ptr<void> owner_;
    observer& observer_;
    std::atomic<std::uint64_t>& wakeups_;

    simulated_handle client_;

    zk::timer timer_;
    clock::time_point timer_at_ = clock::time_point::max();
    clock::time_point due_ = clock::time_point::max();

    bool open_ = false;
    bool established_ = false;
    bool reading_ = false; // on_readable() has been posted
    bool in_library_ = false;
    bool in_step_ = false;
    bool close_requested_ = false;
    bool last_words_ = false;
    std::function<void(bool)> ended_; // set while the session is being ended
    bool end_sent_ = false;
    bool end_confirmed_ = false;
};

class simulated_connection::library_call {
public:
    explicit library_call(simulated_connection& c) noexcept
        : flag_{c.in_library_}, before_{c.in_library_}
    {
        flag_ = true;
    }
    library_call(const library_call&) = delete;
    library_call& operator=(const library_call&) = delete;
    ~library_call() { flag_ = before_; }

private:
    bool& flag_;
    bool before_;
};

bool simulated_connection::open(const zk::server& to, const std::string& prefix,
                                milliseconds session_timeout, const zk::session_identity& session,
                                const std::vector<colock::credential>& credentials,
                                zk::watch_receiver& watches)
{
    client_.open({to.address, prefix, session_timeout, session, credentials}, watches,
                 {.connected =
                      [this] {
                          asio::post(strand_,
                                     [self = shared_from_this()] { self->process_connected(); });
                      },
                  .readable = [this] { wait_readable(); }});
    open_ = true;
    asio::post(strand_, [self = shared_from_this()] { self->step(); });
    return true;
}

void simulated_connection::process_connected()
{
    if (!open_ || client_.state() != handle_status::connecting) {
        return;
    }
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    client_.offer();
    observer_.offered();
    step();
}

void simulated_connection::break_off()
{
    const library_call guard{*this};
    client_.break_off(handle_status::broken, zookeeper_errc::connection_loss, "");
}

error_code simulated_connection::send(const zk::call& c, zk::receiver& to)
{
    if (!open_ || close_requested_ || end_sent_) {
        return zookeeper_errc::connection_loss;
    }
    return client_.send(c, to);
}

bool simulated_connection::authenticate(const colock::credential& c)
{
    if (!open_ || close_requested_ || end_sent_ || in_library_ ||
        client_.state() != handle_status::connected) {
        return false;
    }
    client_.authenticate(c);
    return true;
}

void simulated_connection::flush()
{
    client_.flush();
    step();
}

// Acts on what the last call of the library came to; false when the connection is over.
bool simulated_connection::settle()
{
    if (!open_ || in_library_) {
        return false;
    }
    if (close_requested_) {
        close(last_words_);
        return false;
    }
    switch (client_.state()) {
    case handle_status::connecting: return true;
    case handle_status::connected:
        if (!established_) {
            established_ = true;
            observer_.established();
        }
        return open_;
    default: observer_.broken(client_.state()); return false;
    }
}

void simulated_connection::step()
{
    if (in_library_ || in_step_ || end_sent_) {
        return; // whoever is further down the stack goes on from here
    }
    const auto self = shared_from_this();
    in_step_ = true;
    if (settle()) {
        if (established_ && clock::now() >= due_) {
            drain();
        }
    }
    if (settle()) {
        clock::duration next{};
        {
            const library_call guard{*this};
            next = client_.next_interest();
        }
        const auto when = clock::now() + next;
        due_ = when - milliseconds{5};
        if (settle()) {
            wait_until(when);
            wait_readable();
        }
    }
    in_step_ = false;
    if (open_ && ended_) {
        try_to_end();
    }
}

void simulated_connection::drain()
{
    for (int i = 0; open_ && !close_requested_ && i != packets_a_turn; ++i) {
        bool more = false;
        {
            const library_call guard{*this};
            more = client_.process_read();
        }
        if (!settle() || !more || !observer_.expects_answers()) {
            break;
        }
    }
}

void simulated_connection::wait_readable()
{
    if (!reading_ && open_ && client_.is_readable()) {
        reading_ = true;
        asio::post(strand_, [self = shared_from_this()] {
            self->reading_ = false;
            self->on_readable();
        });
    }
}

void simulated_connection::wait_until(clock::time_point when)
{
    if (when >= timer_at_) {
        return;
    }
    timer_at_ = when;
    timer_.expires_at(when);
    timer_.async_wait([self = shared_from_this()](const error_code& ec) {
        if (!ec) {
            self->timer_at_ = clock::time_point::max();
            self->on_timer();
        }
    });
}

void simulated_connection::on_readable()
{
    if (!open_) {
        return;
    }
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    if (end_sent_) {
        await_end();
        return;
    }
    drain();
    step();
}

void simulated_connection::on_timer()
{
    if (!open_ || end_sent_) {
        return;
    }
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    if (established_) {
        drain();
    }
    step();
}

void simulated_connection::end_session(std::function<void(bool confirmed)> done)
{
    ended_ = std::move(done);
    if (open_ && !in_library_ && !in_step_) {
        try_to_end();
    }
}

void simulated_connection::try_to_end()
{
    if (end_sent_ || !established_) {
        return;
    }
    {
        const library_call guard{*this};
        static_cast<void>(client_.next_interest());
    }
    if (!settle()) {
        return;
    }
    client_.end_session();
    end_sent_ = true;
    wait_readable();
}

void simulated_connection::await_end()
{
    end_confirmed_ = client_.read_confirmation() || end_confirmed_;
    if (client_.has_seen_the_end()) {
        const auto self = shared_from_this();
        const auto done = std::move(ended_);
        close();
        done(end_confirmed_);
    }
}

void simulated_connection::close(bool last_words) noexcept
{
    if (!open_) {
        return;
    }
    if (in_library_) {
        close_requested_ = true;
        last_words_ = last_words;
        return;
    }
    // Whatever the callbacks below drop, this object and its owner stay until the end of this function.
    const auto owner = std::move(owner_);
    const auto self = weak_from_this().lock();
    open_ = false;
    ended_ = nullptr;
    timer_.cancel();
    const auto left = client_.leave();
    if (left && established_ && !end_sent_) {
        if (!last_words) {
            observer_.left_behind(client_.address(),
                                  make_old_stream(strand_, left, client_.has_seen_the_end()));
        } else if (client_.state() == handle_status::connected) {
            left->send(close_request{});
        }
    }
    break_off();
}

} // namespace

} // namespace colock::simulated

bool colock::zk::speaks_tls() noexcept
{
    return false;
}

bool colock::zk::calls_multi_threaded_client() noexcept
{
    return false;
}

bool colock::zk::speaks_sasl() noexcept
{
    return false;
}

std::shared_ptr<colock::zk::sasl_mechanism> colock::zk::make_sasl_mechanism(sasl_terms)
{
    return nullptr;
}

std::shared_ptr<colock::zk::connection>
colock::zk::make_connection(const strand_type& strand, std::shared_ptr<void> owner,
                            connection::observer& told, std::atomic<std::uint64_t>& wakeups)
{
    return std::make_shared<colock::simulated::simulated_connection>(strand, std::move(owner), told,
                                                                     wakeups);
}
