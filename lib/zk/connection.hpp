// Drives one handle from the user's executor: a dup of its socket, waited for, and one timer.
#pragma once

#include "handle.hpp"
#include "strand.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace colock::zk {

// Everything here runs on the strand. The connection keeps its owner alive until it is closed.
class connection : public std::enable_shared_from_this<connection> {
public:
    // Told about the connection, never from within send().
    class observer {
    public:
        virtual void established() = 0;
        virtual void broken(handle::status why) = 0;
        // Whether an answer is still to come.
        [[nodiscard]] virtual bool expects_answers() const noexcept = 0;
        // The socket of an established connection that is dropped, for the observer to keep: see old_sockets.
        virtual void left_behind(const std::string& address, int descriptor) noexcept = 0;

    protected:
        ~observer() = default;
    };

    connection(const strand_type& strand, std::shared_ptr<void> owner, observer& told,
               std::atomic<std::uint64_t>& wakeups);

    // Starts to connect. False when the C client refuses the address or has no memory.
    [[nodiscard]] bool open(const std::string& address, const std::string& chroot,
                            std::chrono::milliseconds session_timeout,
                            const session_identity& session,
                            const std::vector<credential>& credentials, watch_receiver& watches);

    // Hands a request to the C client, which writes what the socket takes. It leaves with the flush() that has to
    // follow. When this fails, `to` is not called.
    [[nodiscard]] error_code send(const call& c, receiver& to);

    // Lets go what was sent, and looks after what that left behind: bytes that did not fit, a socket that broke.
    void flush();

    // Ends the session: writes the close and waits until the server has closed the connection. Nothing
    // may be sent afterwards. `done` is told whether the server confirmed; not called after close().
    void end_session(std::function<void(bool confirmed)> done);

    // Drops the connection at once, and answers what is outstanding. The observer is told of no loss; it gets the
    // socket, unless the session has ended.
    // `last_words`: tell the server, if it can be done without waiting, that the session is over.
    void close(bool last_words = false) noexcept;

    // Why it broke, if anything is known; only within broken().
    [[nodiscard]] std::string fault() const { return handle_ ? handle_->fault() : std::string{}; }

    [[nodiscard]] session_identity session() const noexcept { return handle_->session(); }
    [[nodiscard]] std::chrono::milliseconds session_timeout() const noexcept
    {
        return handle_->session_timeout();
    }

private:
    class library_call;

    void hold_back(bool on);
    void step();
    void drain();
    bool settle();
    [[nodiscard]] bool take(stream& into, int descriptor);
    void wait_readable();
    void wait_writable();
    void wait_until(std::chrono::steady_clock::time_point when);
    void on_readable();
    void on_writable();
    void on_timer();
    void try_to_end();
    void await_end();

    strand_type strand_;
    std::shared_ptr<void> owner_;
    observer& observer_;
    std::atomic<std::uint64_t>& wakeups_;

    std::string address_;
    std::unique_ptr<handle> handle_; // empty once closed
    stream descriptor_;
    stream writable_; // the same socket, while it is waited for
    timer timer_;
    std::chrono::steady_clock::time_point timer_at_ = std::chrono::steady_clock::time_point::max();
    // Until then the C client has nothing to time out. A little early: it counts whole milliseconds.
    std::chrono::steady_clock::time_point due_ = std::chrono::steady_clock::time_point::max();

    bool established_ = false;
    bool reading_ = false;
    bool writing_ = false;
    bool held_back_ = false;  // what is sent, until flush()
    bool in_library_ = false; // a function of the C client is on the stack
    bool in_step_ = false;
    bool close_requested_ = false;
    bool last_words_ = false;
    std::function<void(bool)> ended_; // set while the session is being ended
    bool end_sent_ = false;
    std::string end_tail_; // of what came behind the close, where the confirmation may begin
    bool end_confirmed_ = false;
};

} // namespace colock::zk
