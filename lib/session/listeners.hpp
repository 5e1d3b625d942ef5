// Who hears what happens to the session.
#pragma once

#include <colock/error.hpp>

#include <boost/intrusive/list.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace colock::detail {

// A part of a lock that the client tells what happens to the session. Runs on the strand. contender_driver, permit_lease and
// watch_state are such parts.
class session_listener : public boost::intrusive::list_base_hook<> {
public:
    // A quorum write precedes, on this connection, whatever is sent from now on.
    virtual void connected(std::int64_t /*session*/) {}
    virtual void suspended() {}
    virtual void expired() {}
    virtual void closed(const error_code& /*why*/) {
    } // the last call; `why` for operations that wait
    // Without a session; no further attempt to connect is made until the user asks for one.
    virtual void given_up(const error_code& /*why*/) {}
    virtual void own_watch_due() {} // see own_watches
    virtual void proved() {}        // see liveness::await_proof
    virtual void check() {}         // the bound of some holder, less its margin, has passed
    virtual void catch_up() {}      // see liveness::catch_up_later
    // Instead of closed() when the execution context is being destroyed: destroys operations that wait,
    // whose memory and executors are still there now, and calls nothing.
    virtual void discarded() noexcept {}

protected:
    ~session_listener() = default;

private:
    friend class listeners;
    friend class own_watches;
    using own_watch_hook = boost::intrusive::list_member_hook<
        boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

    std::shared_ptr<session_listener> self_; // while it is in the list
    own_watch_hook own_watch_hook_;
    std::chrono::steady_clock::time_point own_watch_at_;
};

// In the order in which they came. On the strand.
class listeners {
public:
    // Kept alive until it is removed.
    void add(std::shared_ptr<session_listener> listener)
    {
        list_.push_back(*listener);
        auto& self = listener->self_;
        self = std::move(listener);
    }
    void remove(session_listener& listener)
    {
        if (listener.is_linked()) {
            list_.erase(list_.iterator_to(listener));
            listener.own_watch_hook_.unlink();
            const auto last = std::move(listener.self_);
        }
    }

    // They come and go while they are told.
    template <class Call>
    void tell(const Call& call) const
    {
        for (const auto& each : all()) {
            if (each->is_linked()) {
                call(*each);
            }
        }
    }
    // The last call of each.
    template <class Call>
    void dismiss(const Call& call)
    {
        for (const auto& each : all()) {
            remove(*each);
            call(*each);
        }
    }

private:
    [[nodiscard]] std::vector<std::shared_ptr<session_listener>> all() const
    {
        std::vector<std::shared_ptr<session_listener>> all;
        for (const auto& each : list_) {
            all.push_back(each.self_);
        }
        return all;
    }

    boost::intrusive::list<session_listener> list_;
};

} // namespace colock::detail
