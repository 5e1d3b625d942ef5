// A client: the parts that it is made of, for those who use them.
#pragma once

#include <colock/client.hpp>

#include "report/boot_clock.hpp"
#include "report/client_log.hpp"
#include "report/counters.hpp"
#include "report/reminders.hpp"
#include "report/telemetry.hpp"
#include "session/client_basics.hpp"
#include "session/client_session.hpp"
#include "session/delayed_calls.hpp"
#include "session/listeners.hpp"
#include "session/liveness.hpp"
#include "session/own_watches.hpp"
#include "session/path_table.hpp"
#include "session/request.hpp"
#include "session/request_queue.hpp"
#include "zk/watch_registry.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace colock::detail {

class client_core final : public std::enable_shared_from_this<client_core> {
public:
    // Registers with the execution context, which may be destroyed first.
    [[nodiscard]] static std::shared_ptr<client_core> make(asio::any_io_executor executor,
                                                           client_options options);

    // The execution context is being destroyed: everything goes, nothing is called.
    void context_gone() noexcept;

    [[nodiscard]] const asio::any_io_executor& executor() const noexcept
    {
        return basics_.strand.executor();
    }
    [[nodiscard]] const client_options& options() const noexcept { return basics_.options; }
    [[nodiscard]] const zk::strand_type& strand() const noexcept { return *basics_.strand; }

    // Any thread: see client_strand.
    [[nodiscard]] bool is_inherited() const noexcept { return basics_.strand.is_inherited(); }

    // Any thread: runs the function on the strand, inside this call when that is possible; but not in the
    // middle of what the client is telling the user's log or observer.
    template <class Function>
    void dispatch(Function&& function)
    {
        if ((basics_.log.is_writing() && basics_.strand.runs_here()) ||
            (basics_.telemetry && telemetry::is_telling())) {
            post(std::forward<Function>(function));
        } else {
            basics_.strand.dispatch(std::forward<Function>(function));
        }
    }

    // The same; returns false, and has done nothing, where there is no memory to post the function.
    template <class Function>
    [[nodiscard]] bool try_dispatch(Function&& function)
    {
        try {
            dispatch(std::forward<Function>(function));
        } catch (const std::bad_alloc&) {
            if (basics_.strand.runs_here()) {
                throw; // of the function
            }
            return false;
        }
        return true;
    }

    // Any thread: never inside this call.
    template <class Function>
    void post(Function&& function)
    {
        basics_.strand.post(std::forward<Function>(function));
    }

    // ---- on the strand: requests, see request_queue

    void submit(request_ptr r) { requests_.submit(std::move(r)); }
    void repeat(request_ptr r) { requests_.repeat(std::move(r)); }
    void abandon(request& r, const error_code& why) { requests_.abandon(r, why); }
    [[nodiscard]] static bool is_waiting(const request& r) noexcept
    {
        return request_queue::is_waiting(r);
    }
    [[nodiscard]] error_code unavailable() const noexcept { return requests_.unavailable(); }
    class batch : public request_queue::batch {
    public:
        explicit batch(client_core& core) noexcept : request_queue::batch{core.requests_} {}
    };
    void after(std::chrono::nanoseconds pause, std::function<void()> then)
    {
        delayed_.after(pause, std::move(then));
    }

    // What a node takes of the session's room.
    [[nodiscard]] std::size_t room_for_node(std::string_view path, bool sequential) noexcept
    {
        return requests_.nodes().size_of(path, sequential);
    }
    // A lock's node that others have deleted, as a listing shows.
    void node_gone(std::string_view path) { requests_.nodes().gone(path); }
    // Of a request that has kept some of it.
    void give_back_room(std::size_t bytes) noexcept { requests_.nodes().give_back(bytes); }

    // ---- on the strand: watches

    [[nodiscard]] zk::watch_registry& watches() noexcept { return watches_; }

    // ---- on the strand: the session

    // For the public client.
    [[nodiscard]] client_session& own_session() noexcept { return session_; }
    // The client object is gone.
    void release();

    [[nodiscard]] bool is_connected() const noexcept { return basics_.session.is_connected(); }
    [[nodiscard]] bool is_closing() const noexcept { return session_.is_closing(); }
    [[nodiscard]] std::int64_t session() const noexcept { return basics_.session.id(); }

    void add(std::shared_ptr<session_listener> listener) { listeners_.add(std::move(listener)); }
    void remove(session_listener& listener) { listeners_.remove(listener); }
    void schedule_own_watch(session_listener& listener) { own_watches_.schedule(listener); }

    // ---- on the strand: proof that the session lives, see liveness

    void count_next_in_line(bool one_more) { liveness_.count_next_in_line(one_more); }
    void add_holder(std::chrono::nanoseconds margin) { liveness_.add_holder(margin); }
    void remove_holder(std::chrono::nanoseconds margin) { liveness_.remove_holder(margin); }
    void await_proof() { liveness_.await_proof(); }
    void catch_up_later() noexcept { liveness_.catch_up_later(); } // any thread

    // ---- on the strand: diagnosis

    void log(log_level level, const std::string& message) { basics_.log.write(level, message); }
    // Calls remind() at `when`, or a little later.
    void remind(std::weak_ptr<reminded> who, std::chrono::nanoseconds when)
    {
        reminders_->add(std::move(who), when);
    }

    // ---- any thread

    // Null when nobody observes the client.
    [[nodiscard]] detail::telemetry* telemetry() const noexcept { return basics_.telemetry.get(); }
    void count_losses(const error_code& why, std::uint64_t n) noexcept { count.lost.add(why, n); }

    [[nodiscard]] bool logs(log_level level) const noexcept { return basics_.log.wants(level); }
    // The log gets the line on the strand, after send_lines(), and lines in the order in which they were added.
    void add_line(log_level level, std::string text)
    {
        basics_.log.lines().add(level, std::move(text));
    }
    void send_lines();
    [[nodiscard]] bool has_lines() noexcept { return basics_.log.lines().any(); }
    void note_error(const std::string& detail) { basics_.log.note_error(detail); }
    [[nodiscard]] std::string last_error_detail() const { return basics_.log.last_error(); }

    // See path_table. In a forked child nobody will use what it returns.
    [[nodiscard]] path_table::entry find_path(const std::string& path,
                                              const std::function<path_table::entry()>& make)
    {
        return is_inherited() ? make() : paths_.find(path, make);
    }
    void forget_path(const std::string& path) noexcept
    {
        if (!is_inherited()) {
            paths_.forget(path);
        }
    }

    // The session as everybody may look at it.
    [[nodiscard]] session_state& published() noexcept { return basics_.session; }
    [[nodiscard]] std::chrono::nanoseconds safe_until() const noexcept
    {
        return liveness_.safe_until();
    }
    [[nodiscard]] std::chrono::milliseconds session_timeout() const noexcept
    {
        return basics_.session.timeout();
    }
    [[nodiscard]] std::uint64_t connection_id() const noexcept
    {
        return basics_.session.connection_id();
    }
    // Of a try whose time is over: why nobody knows whether the lock is busy; no error when it is.
    [[nodiscard]] error_code end_of_wait() const noexcept;
    // Some time before that: asks the servers, unless they owe an answer already.
    void ask_for_end_of_wait();

private:
    struct destroyer;

    client_core(asio::any_io_executor executor, client_options options);
    ~client_core();

    void forget_watches(const std::string& path, zk::watch_kind kind);

    client_basics basics_;
    path_table paths_;
    std::shared_ptr<reminders> reminders_;
    listeners listeners_;
    zk::watch_registry watches_;
    protocol::pacer forgetting_{zk::random_seed()}; // of watches
    delayed_calls delayed_{basics_.strand};
    request_queue requests_;
    own_watches own_watches_{basics_.strand, requests_};
    liveness liveness_{basics_, requests_, listeners_};
    client_session session_{basics_,  requests_, listeners_, liveness_,
                            watches_, delayed_,  *reminders_};

public:
    counters& count = basics_.count;
};

} // namespace colock::detail
