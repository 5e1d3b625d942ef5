// One client, for as long as it is used, and what is common to all who use it.
#pragma once

#include <colock/colock.hpp>

#include "scene.hpp"
#include "simulated.hpp"
#include "world/process.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace world::workload {

class customer : public std::enable_shared_from_this<customer> {
public:
    using ptr = std::shared_ptr<customer>;

    customer(scene& in, process& on, std::shared_ptr<const check::life> of,
             check::journal::actor name, random r);
    customer(const customer&) = delete;
    ~customer() { all.customers.erase(this); }
    customer& operator=(const customer&) = delete;

    scene& all;
    process& home;
    const std::shared_ptr<const check::life> life;
    const check::journal::actor who;
    random chance;
    std::optional<colock::client> zk; // gone when it was destroyed before its users
    bool leaving = false;             // its users end what they do
    const bool foreign;               // has no credentials, where the others need some

    [[nodiscard]] bool is_over() const noexcept { return leaving || all.draining || !zk; }
    [[nodiscard]] const place& at(std::size_t number) const { return all.places[number]; }
    // As its client knows it, which may have a chroot.
    [[nodiscard]] std::string path(const std::string& whole) const;
    [[nodiscard]] std::string whole(const std::string& path) const { return chroot_ + path; }
    // All objects of a client for one path need the same.
    [[nodiscard]] const colock::lock_options& options(std::size_t number) const
    {
        return options_[number];
    }

    template <class Token = asio::use_awaitable_t<>>
    [[nodiscard]] check::counted_t<Token> counted(const char* what, Token token = {}) const
    {
        return {all.operations, life, who, what, std::move(token)};
    }
    // For what is awaited without exceptions.
    [[nodiscard]] auto tuple(const char* what) const { return asio::as_tuple(counted(what)); }
    [[nodiscard]] auto tuple(const char* what, asio::cancellation_slot slot) const
    {
        return asio::as_tuple(
            counted(what, asio::bind_cancellation_slot(slot, asio::use_awaitable)));
    }

    [[nodiscard]] asio::awaitable<void> pause(std::chrono::nanoseconds least,
                                              std::chrono::nanoseconds most);
    void remark(std::string_view text) const;
    // An operation has ended with it. Whether that is to be expected in this world.
    void ended(const char* what, colock::error_code ec) const;

    // An operation with a limit has ended. It is late only if its process was stopped meanwhile, or if it was
    // cancelled, and waits for the removal of its node.
    struct limited {
        std::chrono::nanoseconds limit;
        instant since;
        std::uint64_t stops;
    };
    [[nodiscard]] limited begin_limited(std::chrono::nanoseconds limit) const;
    void ended_limited(const char* what, const limited& of, colock::error_code ec) const;

    // G2: those who wait for a place without a limit are granted it in the order in which they came.
    [[nodiscard]] std::uint64_t stand_in_line(std::size_t place);
    void leave_line(std::size_t place, std::uint64_t number, bool granted);

    // Runs it beside the others. The customer is done when all of them have ended.
    void engage(asio::awaitable<void> user);
    [[nodiscard]] asio::awaitable<void> all_done();

private:
    [[nodiscard]] std::chrono::milliseconds draw_tick(std::chrono::milliseconds session);
    [[nodiscard]] std::chrono::milliseconds longest_lead() const; // of lock_options::safety_margin
    void draw_lock_options();

    const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
    std::string chroot_;
    std::vector<colock::lock_options> options_;
    std::uint64_t came_ = 0;
    std::vector<std::set<std::uint64_t>> lines_; // a place each
    std::size_t users_ = 0;
    asio::steady_timer done_;
};

// Cancels an operation after a time, in one of the ways.
class canceller {
public:
    canceller(customer& of, random& chance);
    canceller(const canceller&) = delete;
    canceller& operator=(const canceller&) = delete;

    void after(std::chrono::nanoseconds delay, asio::cancellation_type type);
    // Of so many in a thousand, at any instant.
    void perhaps(unsigned per_mille);
    [[nodiscard]] asio::cancellation_slot slot();
    // An acquisition has completed: at once, if it was cancelled so.
    void completed(const char* what) const;

private:
    struct state;
    const customer& of_;
    random& chance_;
    std::shared_ptr<state> state_;
};

// Whether any client takes it for its session.
[[nodiscard]] bool is_known(const scene& in, std::int64_t session);

// From next to nothing to a while; short ones are more likely.
[[nodiscard]] std::chrono::nanoseconds some_time(random& chance, std::chrono::nanoseconds most);

} // namespace world::workload
