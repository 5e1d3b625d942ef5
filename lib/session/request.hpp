// A request on its way through the client.
#pragma once

#include "zk/call.hpp"
#include "zk/recycled.hpp"
#include "zk/watch_registry.hpp"

#include <boost/intrusive/list.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace colock::detail {

class client_session;
class request;

using request_list = boost::intrusive::list<request>;

// How a request ends when the connection breaks under it.
enum class on_loss {
    fail,   // it is answered with the loss; it is refused while there is no connection
    report, // a write: waits until it can be sent, and is answered with the loss once it was
    repeat, // a read: waits, and is sent again
};

class request : public zk::receiver, public recycled, public boost::intrusive::list_base_hook<> {
public:
    request(zk::call&& c, on_loss p) : call{std::move(c)}, policy{p} {}
    request(const request&) = delete;
    request& operator=(const request&) = delete;
    virtual ~request() = default;

    // The answer, or why there is none. The request is destroyed afterwards. On the strand; must neither
    // block nor run the user's code.
    virtual void done(zk::reply&& r) noexcept = 0;

    void answered(zk::reply&& r) noexcept final;

    const zk::call call;
    const on_loss policy;

    // A lock's. Its paths need no look: the lock's constructor has looked. No other client gives such names to sequential
    // nodes.
    bool of_lock = false;

    // Bytes of the session's room (ephemerals.hpp). Of a create: kept for a longer node that may replace this one. Of a
    // transaction without steps: kept until the owner gives them back, and that is all it does.
    std::size_t room_kept = 0;
    // Of a create: the owner watches the node for as long as it is there, on each connection.
    bool owner_hears = false;
    // What the owner has kept for this request before.
    std::size_t room_had = 0;

    // Of a watched read: whom the watch will tell. Subscribed before done() is called.
    zk::watch_registry::subscriber* subscriber = nullptr;

    // Where a request is while it is not answered.
    enum class place : std::uint8_t {
        sent,    // on the current connection
        lost,    // was sent on a connection that broke, and goes first on the next one
        held,    // until the barrier is answered, and there is room
        waiting, // for a connection
        resting, // to be repeated on the current connection after a pause
    };

private:
    friend class liveness;
    friend class request_lists;
    friend class request_queue;
    client_session* session_ = nullptr;   // gets the answer
    place place_ = place::waiting;        // if it is in a list
    std::chrono::nanoseconds sent_at_{0}; // of the boot_clock
    std::size_t claimed_ = 0;             // of the session's room, until it is answered
    bool abandoned_ = false;              // done() has been called; the answer is only awaited
};

using request_ptr = std::unique_ptr<request>;

template <class Done>
class request_of final : public request {
public:
    request_of(zk::call&& c, on_loss p, Done d) : request{std::move(c), p}, done_{std::move(d)} {}

    void done(zk::reply&& r) noexcept override { done_(std::move(r)); }

private:
    Done done_;
};

template <class Done>
[[nodiscard]] request_ptr make_request(zk::call&& c, on_loss policy, Done done)
{
    static_assert(alignof(request_of<Done>) <= alignof(std::max_align_t));
    return std::make_unique<request_of<Done>>(std::move(c), policy, std::move(done));
}

// The request was sent, and no answer came, or only the word that the session or the server has changed.
[[nodiscard]] inline bool is_loss(const error_code& ec) noexcept
{
    return ec.category() == zookeeper_category() &&
           (outcome_unknown(ec) || ec == zookeeper_errc::session_moved);
}

} // namespace colock::detail
