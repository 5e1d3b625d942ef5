// The requests of a client on their way to the servers.
#pragma once

#include "session/client_basics.hpp"
#include "session/client_timer.hpp"
#include "session/ephemerals.hpp"
#include "session/pacer.hpp"
#include "session/request.hpp"
#include "session/request_lists.hpp"
#include "zk/connection.hpp"
#include "zk/entropy.hpp"
#include "zk/watch_registry.hpp"

#include <chrono>
#include <cstddef>
#include <memory>

namespace colock::detail {

// Sends requests in their order, keeps for the next connection what may be sent there, and repeats what a server was too busy
// for. On the strand.
//
// No write, and nothing that follows one, is sent while the barrier is not answered. Nor is anything that follows a create
// which waits for room, except a lock's release: no request of that lock is before it, and it makes room.
class request_queue {
public:
    // Answers go to `session`, which passes them on to settle() and finish().
    request_queue(client_session* session, client_basics& basics, zk::watch_registry& watches);

    // Sends several requests with one look at the socket after them.
    class batch {
    public:
        explicit batch(request_queue& queue) noexcept : queue_{queue} { ++queue_.batches_; }
        batch(const batch&) = delete;
        batch& operator=(const batch&) = delete;
        ~batch() { queue_.end_batch(); }

    private:
        request_queue& queue_;
    };

    // ---- the connection

    // It takes requests of send() from now on.
    void open(std::shared_ptr<zk::connection> c) noexcept { connection_ = std::move(c); }
    // It is about to be closed, and answers what was sent on it.
    void detach() noexcept { connection_.reset(); }
    // It is gone. What is not answered is kept for the next one, or answered with the loss.
    void disconnected();
    // The session's: what has waited for a connection is sent.
    void connected();
    // Nothing but the client's own is sent on this connection any more.
    void hold() noexcept { holding_ = true; }
    // The barrier was answered, or none is needed.
    void begin_to_write();
    // False when the connection cannot take it now, or not any more.
    [[nodiscard]] bool authenticate(const credential& c);

    // ---- requests

    // Why a request cannot even be queued; no error when it can.
    [[nodiscard]] error_code unavailable() const noexcept;
    [[nodiscard]] bool is_closing() const noexcept { return closing_; }
    // Validates and sends or queues a request.
    void submit(request_ptr r);
    // Sends a request of the client's own, at once, on the connection as it is.
    void send(request_ptr r);
    // Sends a request once more that a server was too busy for; after a pause, when that happens again and again.
    void repeat(request_ptr r);
    // Answers a request before its time; whatever the servers say to it later is ignored.
    void abandon(request& r, const error_code& why);
    // Those that were sent and are not answered, but the client's own.
    void abandon_sent(const error_code& why);
    // Answers all that were not sent.
    void fail_waiting(const error_code& ec);
    // Nothing is taken any more, or repeated.
    void close() noexcept { closing_ = true; }
    // Destroys those that were not sent, without a word.
    void discard() noexcept;

    // ---- answers, in this order

    [[nodiscard]] request_ptr take(request& r) { return lists_.take(r); }
    void settle(request& r, zk::reply& reply);
    void finish(request_ptr r, zk::reply&& reply);

    // ---- what is under way

    // True when nothing was sent of it yet.
    [[nodiscard]] static bool is_waiting(const request& r) noexcept
    {
        return r.place_ != request::place::sent;
    }
    [[nodiscard]] bool has_sent() const noexcept { return lists_.has(request::place::sent); }
    [[nodiscard]] bool owes_write();
    // Any thread: see request_lists.
    [[nodiscard]] std::chrono::nanoseconds unanswered_since() const noexcept
    {
        return lists_.unanswered_since();
    }
    // The nodes of the session, which is what takes its room.
    [[nodiscard]] protocol::ephemerals& nodes() noexcept { return nodes_; }

private:
    void send_in_turn(request_ptr r);
    void send_turns();
    void send_resting();
    void send_if_room(request_ptr r);
    [[nodiscard]] bool has_to_ask(const request& r) const;
    void ask_about_nodes();
    void ask_next();
    [[nodiscard]] request_ptr question(protocol::ephemerals::question q);
    void put_into_words(const request& r, zk::reply& reply);
    void end_batch();

    client_session* const session_;
    client_basics& basics_;
    zk::watch_registry& watches_;
    request_lists lists_;
    protocol::ephemerals nodes_;
    bool asks_ = false; // sends questions about them
    std::shared_ptr<zk::connection> connection_;
    bool writable_ = false; // the connection: no barrier is to be waited for
    bool holding_ = false;  // what comes waits for another connection
    bool closing_ = false;
    std::size_t batches_ = 0;
    bool unflushed_ = false;
    client_timer rest_timer_;
    protocol::pacer repetitions_{zk::random_seed()};
};

} // namespace colock::detail
