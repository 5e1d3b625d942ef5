// The state of a client, on its strand: session, connection, requests, watches, listeners.
#pragma once

#include <colock/client.hpp>

#include "boot_clock.hpp"
#include "boot_timer.hpp"
#include "credentials.hpp"
#include "log_lines.hpp"
#include "protocol/command.hpp"
#include "protocol/directory/memory.hpp"
#include "protocol/session/backoff.hpp"
#include "protocol/session/heartbeat.hpp"
#include "protocol/session/reconnect.hpp"
#include "reminders.hpp"
#include "request.hpp"
#include "telemetry.hpp"
#include "zk/connection.hpp"
#include "zk/hosts.hpp"
#include "zk/old_sockets.hpp"
#include "zk/secret.hpp"
#include "zk/watch_registry.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/intrusive/list.hpp>

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace colock::detail {

// The protocol carries milliseconds in 32 bits.
inline constexpr std::chrono::milliseconds longest_time{0x7fffffff};

// A part of a lock that the client tells what happens to the session. Runs on the strand. contender_driver, permit_lease and
// watch_state are such parts.
class session_listener : public boost::intrusive::list_base_hook<> {
public:
    // A quorum write precedes, on this connection, whatever is sent from now on.
    virtual void connected(std::int64_t session) = 0;
    virtual void suspended() = 0;
    virtual void expired() = 0;
    virtual void closed(const error_code& why) = 0; // the last call; `why` for operations that wait
    // Without a session; no further attempt to connect is made until the user asks for one.
    virtual void given_up(const error_code& /*why*/) {}
    virtual void own_watch_due() {} // see client_core::schedule_own_watch
    virtual void proved() {}        // see client_core::await_proof
    virtual void check() {}         // the bound of some holder, less its margin, has passed
    // Instead of closed() when the execution context is being destroyed: lets go of operations that wait,
    // whose memory and executors are still there now, and calls nothing.
    virtual void discarded() noexcept {}

protected:
    ~session_listener() = default;

private:
    friend class client_core;
    std::shared_ptr<session_listener> self_; // while it is in the client's list
    boost::intrusive::list_member_hook<> own_watch_hook_;
    std::chrono::steady_clock::time_point own_watch_at_;
};

enum class lock_kind; // lock/lock_kind.hpp

// The state that the locks of one path share.
class path_entry {
public:
    virtual ~path_entry() = default;
    // Of all those locks. It tells which class the entry has, also to those who compile without run-time type information.
    [[nodiscard]] virtual lock_kind kind() const noexcept = 0;
    // As session_listener::discarded().
    virtual void discarded() noexcept = 0;
};

class client_core final : public std::enable_shared_from_this<client_core>,
                          private zk::connection::observer,
                          private zk::watch_receiver {
public:
    client_core(asio::any_io_executor executor, client_options options);
    ~client_core();

    // Registers with the execution context, which may be destroyed first.
    void attach();
    // The execution context is being destroyed: everything goes, nothing is called.
    void context_gone() noexcept;

    [[nodiscard]] const asio::any_io_executor& executor() const noexcept { return executor_; }
    [[nodiscard]] const client_options& options() const noexcept { return options_; }

    // Any thread: runs the function on the strand, inside this call when that is possible; but not in the
    // middle of what the client is telling the user's log or observer.
    template <class Function>
    void dispatch(Function&& function)
    {
        if (context_gone_.load(std::memory_order_acquire)) {
            return;
        }
        if ((logging_.load(std::memory_order_relaxed) && strand_->running_in_this_thread()) ||
            (telemetry_ && telemetry::is_telling())) {
            asio::post(*strand_, std::forward<Function>(function));
        } else {
            asio::dispatch(*strand_, std::forward<Function>(function));
        }
    }

    // Any thread: never inside this call.
    template <class Function>
    void post(Function&& function)
    {
        if (!context_gone_.load(std::memory_order_acquire)) {
            asio::post(*strand_, std::forward<Function>(function));
        }
    }

    [[nodiscard]] const zk::strand_type& strand() const noexcept { return *strand_; }

    // ---- on the strand: requests

    // Validates and sends or queues a request.
    void submit(request_ptr r);
    // Sends a request once more that a server was too busy for; after a pause, when that happens again and again.
    void repeat(request_ptr r);
    // Answers a request before its time; whatever the servers say to it later is ignored.
    void abandon(request& r, const error_code& why);
    // True when nothing was sent of it yet.
    [[nodiscard]] bool is_waiting(const request& r) const noexcept { return r.list_ != &sent_; }
    // Sends several requests with one look at the socket behind them.
    class batch {
    public:
        explicit batch(client_core& core) noexcept : core_{core} { ++core_.batches_; }
        batch(const batch&) = delete;
        batch& operator=(const batch&) = delete;
        ~batch() { core_.end_batch(); }

    private:
        client_core& core_;
    };

    // ---- on the strand: watches

    [[nodiscard]] zk::watch_registry& watches() noexcept { return watches_; }

    // ---- on the strand: the session

    void connect(operation_ptr<error_code> op);
    void close(operation_ptr<error_code> op);
    // The client object is gone.
    void release();
    // From the next connection on.
    void use_tls(std::shared_ptr<asio::ssl::context> context) { tls_ = std::move(context); }

    [[nodiscard]] bool is_connected() const noexcept { return connection_id_ != 0; }
    [[nodiscard]] bool is_closing() const noexcept { return reconnect_.is_closing(); }
    [[nodiscard]] std::int64_t session() const noexcept { return session_.id; }
    // Why an operation cannot even be queued; no error when it can.
    [[nodiscard]] error_code unavailable() const noexcept;

    // Completes when a server has accepted them. Until then they are on trial.
    void add_credentials(zk::secret_credential c, operation_ptr<error_code> op);

    void wait_state_change(connection_state seen, operation_ptr<error_code, connection_state> op);

    // Kept alive until it is removed.
    void add(std::shared_ptr<session_listener> listener);
    void remove(session_listener& listener);

    // Calls own_watch_due() once, ten milliseconds from now or a little later, unless the listener is removed before.
    void schedule_own_watch(session_listener& listener);

    // ---- on the strand: proof that the session lives

    // Changes the count of contenders that are next in line; heartbeats run while there are any.
    void count_next_in_line(bool one_more);
    // The same of holders of a lock, which want to be told (session_listener::check) that long before
    // the session may end.
    void add_holder(std::chrono::nanoseconds margin);
    void remove_holder(std::chrono::nanoseconds margin);
    // Proves as soon as possible that the session lives; calls proved() of all.
    void await_proof();

    // ---- on the strand: directories of locks

    // The memory of the one at this path, in this session.
    [[nodiscard]] std::shared_ptr<protocol::directory_memory> directory_at(const std::string& path);

    // Memory for the commands of the contender that is told something: nearly all of them are carried out at once.
    protocol::commands spare_commands;

    // ---- on the strand: diagnosis

    void log(log_level level, const std::string& message) const;
    void note_error(std::string detail);
    // Calls remind() at `when`, or a little later.
    void remind(std::weak_ptr<reminded> who, std::chrono::nanoseconds when);

    // ---- any thread

    struct counters {
        std::atomic<std::uint64_t> connect_attempts{0}, connections{0}, sessions{0}, expirations{0},
            requests{0}, heartbeats{0}, replies{0}, watch_events{0}, wakeups{0}, locks_granted{0},
            locks_released{0}, locks_lost{0}, bodies_cancelled{0}, bodies_overdue{0},
            granted_by_servers{0}, granted_inside{0}, session_expired{0}, node_deleted{0},
            safe_until_passed{0}, client_closed{0};
        std::atomic<std::size_t> in_flight{0}, waiting{0}, contenders{0};
    };
    // Grants are in two of them: those of an acquisition of the user, and those that only an acquisition knows.
    counters count;
    // Grants that are lost for this reason.
    void count_losses(const error_code& why, std::uint64_t n) noexcept;

    // Null when nobody observes the client.
    [[nodiscard]] detail::telemetry* telemetry() const noexcept { return telemetry_.get(); }

    // Whether the user's log wants lines of this level.
    [[nodiscard]] bool logs(log_level level) const noexcept
    {
        return options_.log && level >= options_.log_threshold;
    }
    // The log gets the line on the strand, after send_lines(), and lines in the order in which they were added.
    void add_line(log_level level, std::string text) { lines_.add(level, std::move(text)); }
    void send_lines();
    [[nodiscard]] bool has_lines() const noexcept { return lines_.any(); }

    // The state in use at this path, or what `make` returns.
    [[nodiscard]] std::shared_ptr<path_entry>
    find_path(const std::string& path, const std::function<std::shared_ptr<path_entry>()>& make);
    // Nobody uses it any more.
    void forget_path(const std::string& path) noexcept;

    [[nodiscard]] connection_state state() const noexcept { return state_; }
    // The servers do not end the session before this time of the boot_clock.
    [[nodiscard]] std::chrono::nanoseconds safe_until() const noexcept
    {
        return std::chrono::nanoseconds{safe_until_.load(std::memory_order_acquire)};
    }
    [[nodiscard]] std::int64_t public_session_id() const noexcept { return public_session_id_; }
    [[nodiscard]] std::string session_password() const;
    [[nodiscard]] std::chrono::milliseconds session_timeout() const noexcept
    {
        return std::chrono::milliseconds{public_timeout_};
    }
    [[nodiscard]] std::uint64_t connection_id() const noexcept { return public_connection_id_; }
    [[nodiscard]] std::string last_error_detail() const;

private:
    friend class request;
    friend class batch;

    using clock = std::chrono::steady_clock;

    // zk::connection::observer
    void securing() override { reconnect_.securing(); }
    void offered() override { reconnect_.offered(); }
    void established() override;
    void broken(zk::handle::status why) override;
    [[nodiscard]] bool expects_answers() const noexcept override { return !sent_.empty(); }
    void left_behind(const std::string& address,
                     std::shared_ptr<zk::old_socket> socket) noexcept override;
    // zk::watch_receiver
    void watch_fired(watch_event&& event) noexcept override;

    void answered(request& r, zk::reply&& reply) noexcept;
    void take_note_of_error(const request& r, zk::reply& reply, bool loss);
    void put_into_words(const request& r, zk::reply& reply);
    void send(request_ptr r);
    void end_batch();
    void flush_waiting();
    void send_in_turn(request_ptr r);
    void begin_to_write();
    void end_turns();
    void fail_waiting(const error_code& ec);
    [[nodiscard]] request_list take_resting();
    void send_resting();
    void end_rest();

    // Hands an input to the state machine of the session, and carries out what it decides.
    template <class Input>
    void decide(Input&& input);
    void carry_out(const protocol::session::command& c);
    template <class Input>
    void start(zk::timer& timer, std::size_t& use, std::chrono::nanoseconds time, Input due);
    static void stop(zk::timer& timer, std::size_t& use);

    error_code check_options();
    void look_up();
    void report_addresses();
    [[nodiscard]] zk::server server_at(const std::string& address) const;
    void open(const std::string& address, std::chrono::nanoseconds timeout);
    void take_session(const std::string& address, bool resumed);
    [[nodiscard]] request_ptr trial_of_options();
    [[nodiscard]] request_ptr barrier();
    void break_later();
    struct credential_trial {
        zk::secret_credential value;
        operation_ptr<error_code> op; // empty once it is answered
    };
    void end_trial(const std::shared_ptr<credential_trial>& t, const error_code& ec);
    void refuse_credentials();
    void tell_credentials();
    void become_connected();
    void become_suspended();
    void give_up(const error_code& ec);
    void drop_connection(bool last_words = false);
    void forget_session();
    void expire_session();
    void answer_callers(const error_code& ec);
    void set_state(connection_state state);
    [[nodiscard]] std::vector<std::shared_ptr<session_listener>> listeners() const;
    void notify(const std::function<void(session_listener&)>& call);
    void link(request_list& list, request_ptr r);
    [[nodiscard]] request_ptr unlink(request& r);
    void begin_close(const error_code& why);
    void report_quiet();
    void take_leave_of_users(const error_code& why);
    void end_session();
    void closed(const error_code& ec);
    void publish_session();
    void cancel_timers();
    void end_reminders();
    void take_note(const request& r, const zk::reply& reply);
    void publish_bound();
    void beat();
    void send_beat(request_ptr r);
    void tell_of_beat(const zk::reply& r, bool proves, std::chrono::nanoseconds sent);
    void wait_to_beat();
    void wait_for_own_watch(clock::time_point when);
    void own_watches_due();

    const asio::any_io_executor executor_;
    client_options options_; // not changed before the end
    const std::unique_ptr<detail::telemetry> telemetry_;
    std::optional<zk::strand_type> strand_; // empty once the context is gone
    std::atomic<bool> context_gone_{false};
    mutable std::atomic<bool> logging_{false}; // the user's log is on the strand's stack

    // The connection, and what decides about it.
    std::shared_ptr<zk::connection> connection_;
    std::shared_ptr<zk::address_book> addresses_;
    protocol::session::reconnect reconnect_;
    std::shared_ptr<asio::ssl::context> tls_; // none: plain TCP
    bool established_ = false; // the connection has a session, which need not be in use yet
    credentials credentials_;
    std::vector<std::shared_ptr<credential_trial>> trials_;
    protocol::session::commands decided_; // not all of it is carried out yet
    bool carrying_out_ = false;
    zk::old_sockets old_sockets_;             // of this session
    std::optional<zk::timer> attempt_timer_;  // a pause, or the limit of an attempt
    std::optional<zk::timer> deadline_timer_; // of connect or close
    std::optional<zk::timer> own_watch_timer_;
    std::optional<boot_timer> beat_timer_;
    std::shared_ptr<reminders> reminders_;                               // from the first one on
    std::chrono::nanoseconds beat_at_ = std::chrono::nanoseconds::max(); // of the boot_clock
    std::size_t attempt_timer_use_ = 0; // tells an expiry that was too late to be cancelled
    std::size_t deadline_timer_use_ = 0;
    std::list<operation_ptr<error_code>> connecting_;
    std::list<operation_ptr<error_code>> closing_ops_;

    zk::session_identity session_;
    protocol::heartbeat heartbeat_;
    std::chrono::nanoseconds attempt_began_{0};
    bool proof_has_come_ = false;     // of those that were waited for
    bool lost_write_ = false;         // a write on this connection was answered with its loss
    bool writable_ = false;           // the connection: no barrier is to be waited for
    std::uint64_t connection_id_ = 0; // 0 while not connected
    std::uint64_t connections_made_ = 0;

    // Requests.
    request_list sent_;           // on the connection of now
    request_list waiting_;        // to be sent once connected, in order
    request_list behind_barrier_; // to be sent once it is answered, in order
    request_list lost_;    // were sent on a connection that broke, and go first on the next one
    request_list resting_; // to be repeated on the connection of now, when the timer fires
    protocol::backoff repetitions_{std::chrono::milliseconds{1}, std::chrono::seconds{1},
                                   zk::random_seed()};
    std::optional<zk::timer> rest_timer_;
    std::size_t rest_timer_use_ = 0;
    std::size_t batches_ = 0;
    bool unflushed_ = false;

    zk::watch_registry watches_;
    boost::intrusive::list<session_listener> listeners_; // in the order in which they came

    boost::intrusive::list<
        session_listener,
        boost::intrusive::member_hook<session_listener, boost::intrusive::list_member_hook<>,
                                      &session_listener::own_watch_hook_>>
        own_watches_; // by time
    bool own_watch_timer_runs_ = false;

    std::unordered_map<std::string, std::shared_ptr<protocol::directory_memory>> directories_;

    struct state_waiter {
        connection_state seen;
        operation_ptr<error_code, connection_state> op;
    };
    std::list<state_waiter> state_waiters_;

    // Copies for other threads.
    std::atomic<connection_state> state_{connection_state::idle};
    std::atomic<std::int64_t> public_session_id_{0};
    std::atomic<std::int64_t> public_timeout_{0};
    std::atomic<std::uint64_t> public_connection_id_{0};
    std::atomic<std::int64_t> safe_until_{0};
    log_lines lines_;
    std::mutex paths_mutex_;
    std::unordered_map<std::string, std::weak_ptr<path_entry>> paths_;
    mutable std::mutex text_mutex_; // of the two below
    std::string last_error_detail_;
    std::string session_password_;
};

} // namespace colock::detail
