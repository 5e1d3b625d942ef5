// A connection of the library, in the simulated world: what lib/zk and the C client do together, over a stream.
#include "zk/connection.hpp"

#include "../process.hpp"
#include "chroot.hpp"
#include "old_stream.hpp"
#include "translation.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
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
using status = zk::handle::status;

// So many packets are processed before other handlers of the executor get their turn.
constexpr int packets_a_turn = 64;

// What a server answers that has ended the session a moment ago.
constexpr int unknown_session = -12;

// The C client counts whole milliseconds.
milliseconds since(clock::time_point then, clock::time_point now) noexcept
{
    return std::chrono::duration_cast<milliseconds>(now - then);
}

// What the C client makes of an answer: without success there is nothing but the error.
zk::reply shown(zk::opcode op, zk::reply&& r, const chroot& root)
{
    if (r.error.value() == unknown_session) {
        r.error = zookeeper_errc::session_expired;
    }
    if (op == zk::opcode::multi) {
        if (colock::outcome_unknown(r.error)) {
            r.results.clear();
        }
        for (auto& result : r.results) {
            if (r.error) {
                result = {result.error, {}, {}};
            }
            root.strip(result.path);
        }
        return {.error = r.error, .results = std::move(r.results)};
    }
    if (r.error) {
        return {.error = r.error};
    }
    if (op == zk::opcode::create) {
        root.strip(r.text);
    }
    if (op == zk::opcode::remove || op == zk::opcode::sync || op == zk::opcode::set_acl ||
        op == zk::opcode::forget_watches) {
        return {};
    }
    return std::move(r);
}

class simulated_connection final : public zk::connection,
                                   public std::enable_shared_from_this<simulated_connection> {
public:
    simulated_connection(const zk::strand_type& strand, std::shared_ptr<void> owner, observer& told,
                         std::atomic<std::uint64_t>& wakeups)
        : strand_{strand}, owner_{std::move(owner)}, observer_{told}, wakeups_{wakeups},
          timer_{strand_}
    {
    }
    ~simulated_connection() override
    {
        break_off(status::broken, zookeeper_errc::connection_loss, "");
    }

    [[nodiscard]] bool open(const zk::server& to, const std::string& prefix,
                            milliseconds session_timeout, const zk::session_identity& session,
                            const std::vector<colock::credential>& credentials,
                            zk::watch_receiver& watches) override;
    [[nodiscard]] error_code send(const zk::call& c, zk::receiver& to) override;
    [[nodiscard]] bool authenticate(const colock::credential& c) override;
    void flush() override;
    void end_session(std::function<void(bool confirmed)> done) override;
    void close(bool last_words = false) noexcept override;

    [[nodiscard]] fault_report fault() const override { return {fault_}; }
    [[nodiscard]] zk::session_identity session() const noexcept override { return session_; }
    [[nodiscard]] milliseconds session_timeout() const noexcept override { return timeout_; }

private:
    class library_call;
    struct sent_request {
        std::int32_t number;
        zk::opcode op;
        zk::receiver* to;
    };

    // As the C client has them.
    void connect();
    void process_connected();
    [[nodiscard]] bool process_read();
    void understand(message&& m);
    [[nodiscard]] clock::duration next_interest();
    void break_off(status s, const error_code& why, std::string fault);

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
    void let_go();

    zk::strand_type strand_;
    std::shared_ptr<void> owner_;
    observer& observer_;
    std::atomic<std::uint64_t>& wakeups_;

    std::string address_;
    chroot root_;
    milliseconds timeout_{}; // that of the session, once there is one
    zk::session_identity session_;
    std::vector<colock::credential> credentials_;
    zk::watch_receiver* watches_ = nullptr;

    std::shared_ptr<stream> stream_;
    status state_ = status::connecting;
    std::string fault_;
    fifo<message> arrived_;
    bool end_arrived_ = false; // behind all that has arrived
    fifo<sent_request> outstanding_;
    std::vector<message> held_back_; // until flush()
    std::int32_t numbers_ = 0;
    clock::time_point last_received_;
    clock::time_point last_sent_;
    clock::time_point unanswered_since_; // see zk::handle

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
    address_ = to.address;
    root_.assign(prefix);
    timeout_ = session_timeout;
    session_ = session;
    credentials_ = credentials;
    watches_ = &watches;
    open_ = true;
    asio::post(strand_, [self = shared_from_this()] { self->step(); });
    return true;
}

// ---- the C client's part

void simulated_connection::connect()
{
    auto& here = process::current();
    stream_ = here.net().connect(
        here.on(), address_,
        {.connected =
             [this] {
                 asio::post(strand_, [self = shared_from_this()] { self->process_connected(); });
             },
         .received =
             [this](message&& m) {
                 arrived_.push(std::move(m));
                 wait_readable();
             },
         .ended =
             [this] {
                 end_arrived_ = true;
                 wait_readable();
             }});
    last_received_ = last_sent_ = clock::now();
}

void simulated_connection::process_connected()
{
    if (!open_ || state_ != status::connecting) {
        return;
    }
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    last_sent_ = clock::now();
    stream_->send(connect_request{to_servers(session_), timeout_});
    observer_.offered();
    step();
}

void simulated_connection::break_off(status s, const error_code& why, std::string fault)
{
    state_ = s;
    fault_ = std::move(fault);
    const library_call guard{*this};
    while (!outstanding_.empty()) {
        outstanding_.pop().to->answered({.error = why});
    }
}

// Reads at most one packet. True when there may be more.
bool simulated_connection::process_read()
{
    if (!arrived_.empty()) {
        last_received_ = clock::now();
        const library_call guard{*this};
        understand(arrived_.pop());
        return !arrived_.empty() || end_arrived_;
    }
    if (end_arrived_) {
        break_off(status::broken, zookeeper_errc::connection_loss, "");
    }
    return false;
}

void simulated_connection::understand(message&& m)
{
    if (auto* answer = std::get_if<reply>(&m)) {
        if (outstanding_.empty() || outstanding_.front().number != answer->number) {
            break_off(status::broken, zookeeper_errc::runtime_inconsistency,
                      "the server sent the reply to another request than the first outstanding "
                      "one");
            return;
        }
        unanswered_since_ = clock::now();
        const auto to = outstanding_.pop();
        to.to->answered(shown(to.op, to_library(std::move(answer->body)), root_));
    } else if (auto* fired = std::get_if<event>(&m)) {
        root_.strip(fired->what.path);
        watches_->watch_fired(std::move(fired->what));
    } else if (const auto* accepted = std::get_if<connect_reply>(&m)) {
        if (accepted->session.id == 0 && session_.id != 0) {
            break_off(status::expired, zookeeper_errc::session_expired, "");
            return;
        }
        // As zk::frame_guard has it.
        if (session_.id != 0 && session_.id != accepted->session.id) {
            break_off(status::broken, zookeeper_errc::connection_loss,
                      "the server sent the server takes the session over under another number");
            return;
        }
        session_ = to_library(accepted->session);
        timeout_ = accepted->timeout;
        state_ = status::connected;
        for (auto& c : credentials_) {
            last_sent_ = clock::now();
            stream_->send(to_servers(std::move(c)));
        }
    } else if (const auto* checked = std::get_if<auth_reply>(&m); checked && checked->error) {
        break_off(status::auth_failed, zookeeper_errc::auth_failed, "");
    }
}

// How long there is nothing to do. May break the connection.
clock::duration simulated_connection::next_interest()
{
    if (!stream_) {
        connect();
    }
    const auto now = clock::now();
    const auto receive = timeout_ * 2 / 3 - since(last_received_, now);
    if (receive <= milliseconds{0}) {
        break_off(status::broken, zookeeper_errc::operation_timeout, "the server is silent");
        return {};
    }
    auto send = timeout_ / 3;
    if (state_ == status::connected && send <= since(last_sent_, now)) {
        if (outstanding_.empty()) {
            stream_->send(ping_request{});
            last_sent_ = now;
        }
    } else if (state_ == status::connected) {
        send -= since(last_sent_, now);
    }
    clock::duration next = std::min(receive, send);
    if (!outstanding_.empty() && state_ == status::connected) {
        const auto patience = timeout_ * 2 / 3;
        auto left = unanswered_since_ + patience - now;
        if (left <= clock::duration{}) {
            if (left <= -patience || (arrived_.empty() && !end_arrived_)) {
                break_off(status::broken, zookeeper_errc::connection_loss,
                          "the server has answered no request for " +
                              std::to_string(patience.count()) + " ms");
                return {};
            }
            left = {};
        }
        next = std::min(next, left);
    }
    return next;
}

error_code simulated_connection::send(const zk::call& c, zk::receiver& to)
{
    if (!open_ || close_requested_ || end_sent_) {
        return zookeeper_errc::connection_loss;
    }
    if (state_ == status::expired || state_ == status::auth_failed) {
        return zookeeper_errc::invalid_state;
    }
    if (outstanding_.empty()) {
        unanswered_since_ = clock::now();
    }
    outstanding_.push({++numbers_, c.op, &to});
    held_back_.push_back(request{numbers_, to_servers(root_.whole(c))});
    last_sent_ = clock::now();
    return {};
}

bool simulated_connection::authenticate(const colock::credential& c)
{
    if (!open_ || close_requested_ || end_sent_ || in_library_ || state_ != status::connected) {
        return false;
    }
    held_back_.push_back(to_servers(c));
    last_sent_ = clock::now();
    return true;
}

// ---- the connection's part

void simulated_connection::let_go()
{
    for (auto& m : held_back_) {
        stream_->send(std::move(m));
    }
    held_back_.clear();
}

void simulated_connection::flush()
{
    if (stream_) {
        let_go();
    }
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
    switch (state_) {
    case status::connecting: return true;
    case status::connected:
        if (!established_) {
            established_ = true;
            observer_.established();
        }
        return open_;
    default: observer_.broken(state_); return false;
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
            next = next_interest();
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
        const bool more = process_read();
        if (!settle() || !more || !observer_.expects_answers()) {
            break;
        }
    }
}

void simulated_connection::wait_readable()
{
    if (!reading_ && open_ && (!arrived_.empty() || end_arrived_)) {
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
        static_cast<void>(next_interest());
    }
    if (!settle()) {
        return;
    }
    let_go();
    stream_->send(close_request{});
    end_sent_ = true;
    wait_readable();
}

void simulated_connection::await_end()
{
    while (!arrived_.empty()) {
        const auto m = arrived_.pop();
        end_confirmed_ = end_confirmed_ || std::holds_alternative<close_reply>(m);
    }
    if (end_arrived_) {
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
    const auto left = std::move(stream_);
    if (left) {
        left->handle({});
        for (auto& m : held_back_) {
            left->send(std::move(m));
        }
    }
    if (left && established_ && !end_sent_) {
        if (!last_words) {
            observer_.left_behind(address_, make_old_stream(strand_, left, end_arrived_));
        } else if (state_ == status::connected) {
            left->send(close_request{});
        }
    }
    break_off(status::broken, zookeeper_errc::connection_loss, "");
}

} // namespace

} // namespace colock::simulated

bool colock::zk::speaks_tls() noexcept
{
    return false;
}

std::shared_ptr<colock::zk::connection>
colock::zk::make_connection(const strand_type& strand, std::shared_ptr<void> owner,
                            connection::observer& told, std::atomic<std::uint64_t>& wakeups)
{
    return std::make_shared<colock::simulated::simulated_connection>(strand, std::move(owner), told,
                                                                     wakeups);
}
