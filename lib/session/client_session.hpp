// The session of a client: carries out what protocol::session::reconnect decides, and reports to it.
#pragma once

#include "report/reminders.hpp"
#include "session/client_basics.hpp"
#include "session/client_timer.hpp"
#include "session/credential_trials.hpp"
#include "session/delayed_calls.hpp"
#include "session/guarding.hpp"
#include "session/listeners.hpp"
#include "session/liveness.hpp"
#include "session/machine_runner.hpp"
#include "session/reconnect.hpp"
#include "session/request_queue.hpp"
#include "session/session_link.hpp"
#include "session/waiting_list.hpp"
#include "zk/connection.hpp"
#include "zk/watch_registry.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace colock::detail {

// On the strand.
class client_session final : private zk::connection::observer, private zk::watch_receiver {
public:
    client_session(client_basics& basics, request_queue& requests, listeners& listening,
                   liveness& alive, zk::watch_registry& watches, delayed_calls& later,
                   reminders& reminding);

    void connect(operation_ptr<error_code> op);
    void close(operation_ptr<error_code> op);
    // The client object is gone.
    void release();
    // Completes when a server has accepted them. Until then they are on trial.
    void add_credentials(zk::secret_credential c, operation_ptr<error_code> op);
    // `for_guard`: of this context.
    void use_tls(std::shared_ptr<asio::ssl::context> context, guard::tls_material&& for_guard);
    // Completes when the client is connected to one of them, or does not want to connect.
    void set_hosts(std::string hosts, operation_ptr<error_code> op);
    [[nodiscard]] bool is_closing() const noexcept { return machine_.is_closing(); }

    // The execution context is being destroyed: first the connection is dropped, and at the end all the rest.
    void drop() noexcept;
    void discard() noexcept;

private:
    friend class request;

    // zk::connection::observer
    void securing() override { machine_.securing(); }
    void offered() override { machine_.offered(); }
    void established() override;
    void broken(zk::handle::status why) override;
    [[nodiscard]] bool expects_answers() const noexcept override { return requests_.has_sent(); }
    void left_behind(const std::string& address,
                     std::shared_ptr<zk::old_socket> socket) noexcept override;
    // zk::watch_receiver
    void watch_fired(watch_event&& event) noexcept override;
    // Of requests.
    void answered(request& r, zk::reply&& reply) noexcept;
    void take_note_of_error(const request& r, const error_code& ec, bool loss);

    // Hands an input to the state machine of the session, and carries out what it decides.
    template <class Input>
    void decide(const Input& input);
    void carry_out(const protocol::session::command& c);
    void look_up();
    void report_addresses();
    void open(const std::string& address, std::chrono::nanoseconds timeout);
    void take_session(const std::string& address, bool resumed);
    void tell_guard();
    [[nodiscard]] request_ptr trial_of_options();
    [[nodiscard]] request_ptr barrier();
    void tell_credentials();
    template <class Call>
    void tell(const Call& call);
    void become_connected();
    void become_suspended();
    void break_later();
    void drop_connection(bool last_words);
    void forget_session();
    void expire_session();
    void give_up(const error_code& ec);
    void answer_callers(const error_code& ec);
    [[nodiscard]] std::string words_for(const error_code& ec) const;
    void stop_timers();
    void begin_close(const error_code& why);
    void report_quiet();
    void take_leave_of_users(const error_code& why);
    void end_session();
    void closed(const error_code& ec);

    client_basics& basics_;
    request_queue& requests_;
    listeners& listeners_;
    liveness& liveness_;
    zk::watch_registry& watches_;
    delayed_calls& delayed_;
    reminders& reminders_;
    credential_trials credentials_{basics_, requests_};
    session_link link_{basics_};
    guarding guard_{basics_};
    protocol::session::reconnect machine_;
    machine_runner<protocol::session::command> runner_;
    client_timer attempt_timer_{basics_.strand};  // a pause, or the limit of an attempt
    client_timer deadline_timer_{basics_.strand}; // of connect or close
    waiting_list<> connecting_;
    waiting_list<> closing_;
    error_code end_; // how it was closed
    waiting_list<> changing_hosts_;
};

} // namespace colock::detail
