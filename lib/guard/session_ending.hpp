// Resumes a session at a server, and ends it.
#pragma once

#include "guard/ending.hpp"
#include "zk/connection.hpp"
#include "zk/hosts.hpp"
#include "zk/strand.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace colock::guard {

namespace asio = boost::asio;

// At once, in one thread. `done` is called when all are over.
void end_sessions(const asio::any_io_executor& executor, std::vector<ending> all,
                  const std::function<void()>& done);

// On the strand. It tries one server after the other, and never begins a session. No barrier comes before the end: the
// servers refuse what the dead owner has still under way to another one.
class session_ending final : public std::enable_shared_from_this<session_ending>,
                             private zk::connection::observer,
                             private zk::watch_receiver {
public:
    // `context`: for TLS, if the session needs it.
    session_ending(const asio::any_io_executor& executor, const zk::strand_type& strand,
                   guarded_session session, std::shared_ptr<asio::ssl::context> context);

    // `done` is called when the session is over, or at `last`; then the servers end it by its time-out.
    // `last` is a time of boot_clock.
    void start(std::chrono::nanoseconds last, std::function<void()> done);

private:
    void securing() override {}
    void offered() override {}
    void established() override;
    void broken(zk::handle::status why) override;
    [[nodiscard]] bool expects_answers() const noexcept override { return false; }
    void left_behind(const std::string&, std::shared_ptr<zk::old_socket>) noexcept override {}
    void watch_fired(watch_event&&) noexcept override {}

    void begin_pass();
    [[nodiscard]] bool is_too_late() const;
    void try_next();
    [[nodiscard]] bool open(const std::string& address);
    template <class Then>
    void after(std::chrono::nanoseconds time, Then then);
    void drop() noexcept;
    void finish();

    const zk::strand_type strand_;
    const guarded_session session_;
    const std::shared_ptr<asio::ssl::context> context_;
    const std::shared_ptr<zk::address_book> servers_;
    std::chrono::nanoseconds last_{0};
    std::function<void()> done_; // empty once it was called

    std::vector<std::string> left_; // to be tried in this pass
    unsigned passes_ = 0;
    std::shared_ptr<zk::connection> connection_;
    zk::timer timer_;        // of an attempt, or a pause
    std::uint64_t turn_ = 0; // tells an expiry that was too late to be cancelled
    std::atomic<std::uint64_t> wakeups_{0};
};

} // namespace colock::guard
