// colock, as its documentation has it, with the options that it comes with.
#include <colock/colock.hpp>

#include "coroutines.hpp"
#include "stamps.hpp"

#ifdef COLOCK_TEST_TLS
#include <support/tls_contexts.hpp>
#endif

#include <boost/asio/redirect_error.hpp>

#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <random>

namespace bench {

namespace {

class colock_system final : public coroutine_system<colock::mutex, colock::unique_lock> {
public:
    using coroutine_system::coroutine_system;

    ~colock_system() override
    {
        leave();
        close(); // nobody waits any longer but the one who holds
        io_.start(give_way()).get();
        for (auto& waiter : queue_) {
            waiter.wait();
        }
    }

    // Another thread than the client's may look at a guard; it looks at the clock, too.
    std::string work(const std::string& path, const std::string& file) override
    {
        stamps own{file};
        lock(path);
        const auto& held = held_.at(path);
        while (held) {
            own.append();
        }
        return held.loss_reason().message();
    }

    long rw_contend(const std::string& path, contention c, int read_percent) override
    {
        connect(c.sessions);
        std::vector<std::future<long>> turns;
        const auto end = clock::now() + c.time;
        for (int i = 0; i != c.sessions; ++i) {
            turns.push_back(io_.start(
                read_and_write(colock::shared_mutex{clients_[static_cast<std::size_t>(i)], path},
                               end, read_percent)));
        }
        return sum(turns);
    }

    // Those who wait on one client share a node, unless they are told not to.
    void queue_up(const std::string& path, int waiters) override
    {
        for (int i = 0; i != waiters; ++i) {
            queue_.push_back(io_.start(
                wait_and_pass_on(colock::mutex{clients_.front(), path, {.max_local_grants = 0}})));
        }
        waiting_ += waiters;
        for (;;) {
            const auto found = clients_.front().async_exists(path, asio::use_future).get();
            if (found && found->num_children >= waiting_) {
                return;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    }

    clock::duration drain(const std::string&, int grants) override
    {
        const auto begin = clock::now();
        io_.start(pass_on(grants)).get();
        waiting_ -= grants;
        return clock::now() - begin;
    }

    void share(const std::string& path, int shards, int members, const std::string& file) override
    {
        connect(members);
        log_.open(file, std::ios::app);
        for (int i = 0; i != members; ++i) {
            auto& m = sharing_.emplace_back(
                member{.name = std::to_string(::getpid()) + '-' + std::to_string(i)});
            colock::shards_options what;
            what.count = static_cast<std::size_t>(shards);
            what.member = m.name;
            m.shards.emplace(clients_[static_cast<std::size_t>(i)], path, what);
            m.run = io_.start(own_shards(m));
        }
    }

    void leave() override
    {
        std::vector<std::future<void>> pending;
        for (auto& m : sharing_) {
            pending.push_back(m.shards->async_leave(std::chrono::seconds{30}, asio::use_future));
        }
        for (auto& p : pending) {
            p.wait();
        }
        for (auto& m : sharing_) {
            m.run.get();
        }
        sharing_.clear();
    }

private:
    struct member {
        std::string name;
        std::optional<colock::shards> shards = {};
        std::future<void> run = {};
    };

    asio::awaitable<void> own_shards(member& m)
    {
        const auto body = [&](const colock::owned_shard& mine) -> asio::awaitable<void> {
            struct noted {
                std::ofstream& log;
                std::string rest;
                void write(const char* what)
                {
                    log << clock::now().time_since_epoch().count() << what << rest << std::flush;
                }
                ~noted() { write(" ended "); }
            } note{log_, mine.name() + ' ' + m.name + '\n'};
            note.write(" began ");
            asio::steady_timer forever{io_.context(), asio::steady_timer::time_point::max()};
            co_await forever.async_wait(asio::use_awaitable);
        };
        co_await m.shards->async_run(body);
    }

    static asio::awaitable<long> read_and_write(colock::shared_mutex m, clock::time_point end,
                                                int read_percent)
    {
        std::minstd_rand random{std::random_device{}()};
        std::uniform_int_distribution percent{0, 99};
        long turns = 0;
        while (clock::now() < end) {
            if (percent(random) < read_percent) {
                auto held = co_await m.async_lock_shared();
                turns += clock::now() < end ? 1 : 0;
                co_await held.async_unlock();
            } else {
                auto held = co_await m.async_lock();
                turns += clock::now() < end ? 1 : 0;
                co_await held.async_unlock();
            }
        }
        co_return turns;
    }

    // The rest is on the context's thread.
    asio::awaitable<void> wait_and_pass_on(colock::mutex m)
    {
        auto held = co_await m.async_lock();
        ++granted_;
        changed_.cancel();
        while (granted_ > allowed_) {
            co_await wait_for_change();
        }
        co_await held.async_unlock();
    }

    // Whoever is granted last keeps the lock.
    asio::awaitable<void> pass_on(int grants)
    {
        const auto last = granted_ + grants;
        allowed_ = last - 1;
        changed_.cancel();
        while (granted_ < last && granted_ != static_cast<long>(queue_.size())) {
            co_await wait_for_change();
        }
    }

    asio::awaitable<void> give_way()
    {
        allowed_ = std::numeric_limits<long>::max();
        changed_.cancel();
        co_return;
    }

    asio::awaitable<void> wait_for_change()
    {
        boost::system::error_code ignored; // cancelled: it has changed
        co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }

    std::ofstream log_; // on the context's thread
    std::deque<member> sharing_;
    std::vector<std::future<void>> queue_;
    int waiting_ = 0;
    long granted_ = 0;
    long allowed_ = 0;
    asio::steady_timer changed_{io_.context(), asio::steady_timer::time_point::max()};
};

} // namespace

std::unique_ptr<own_system> make_colock(const std::string& hosts, std::chrono::milliseconds timeout)
{
    return std::make_unique<colock_system>(
        colock::client_options{.hosts = hosts, .session_timeout = timeout});
}

std::unique_ptr<own_system> make_colock_guarded(const std::string& hosts,
                                                std::chrono::milliseconds timeout)
{
    const auto self = std::filesystem::read_symlink("/proc/self/exe");
    return std::make_unique<colock_system>(colock::client_options{
        .hosts = hosts,
        .session_timeout = timeout,
        .session_guard = {(self.parent_path() / "colock-session-guard").string()}});
}

std::unique_ptr<own_system> make_colock_tls([[maybe_unused]] const std::string& hosts,
                                            [[maybe_unused]] std::chrono::milliseconds timeout)
{
#ifdef COLOCK_TEST_TLS
    if (const auto* const files = std::getenv(tls_files)) {
        const std::string own = std::string{files} + "/client";
        return std::make_unique<colock_system>(
            colock::client_options{.hosts = hosts,
                                   .session_timeout = timeout,
                                   .tls = colock::test::client_context(
                                       std::string{files} + "/ca.pem",
                                       colock::test::certificate{own + ".pem", own + ".key", {}})});
    }
    throw std::runtime_error{std::string{tls_files} + " does not tell where the certificates are"};
#else
    throw std::runtime_error{"this build is without TLS"};
#endif
}

} // namespace bench
