// A process of the soak: owns shards, and writes for each of them to a store.
//
//   shard_soak_worker HOSTS JOURNAL STORE NAME SHARDS SESSION_MS TICK_MS HELPER
//
// HELPER is that of session guards. At SIGTERM it hands its shards on, and returns 0.
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chaos/journal.hpp>
#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using chaos::nanoseconds;
using chaos::now;
using std::chrono::milliseconds;

namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
// Of the bound, for what a body has begun when the guard still held.
constexpr auto margin = 500ms;
// Files to open, a cache to warm.
constexpr auto time_to_prepare = 20ms;

struct settings {
    std::string hosts, journal, store, name;
    std::size_t shards = 0;
    milliseconds session{0}, tick{0};
    std::string helper;
};

void rethrow(std::exception_ptr failure)
{
    if (failure) {
        std::rethrow_exception(failure);
    }
}

// Each line by one system call, so that it is there whole, or not at all.
class journal {
public:
    explicit journal(const std::string& file)
        : fd_{::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)}
    {
        if (fd_ < 0) {
            throw std::runtime_error{"cannot write " + file};
        }
    }
    journal(const journal&) = delete;
    journal& operator=(const journal&) = delete;
    ~journal() { ::close(fd_); }

    void write(std::string_view what, std::uint32_t shard, const std::string& token) const
    {
        std::ostringstream line;
        line << now() << ' ' << what << ' ' << shard << ' ' << token << '\n';
        const auto text = line.str();
        if (::write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
            std::terminate(); // also from destructors; without a journal nothing is proved
        }
    }

private:
    int fd_;
};

class worker {
public:
    worker(asio::io_context& io, const settings& s)
        : io_{io}, settings_{s}, journal_{s.journal}, zk_{io, options()},
          pieces_{zk_, "/shards/soak", what()}, store_{io}, signals_{io, SIGTERM}
    {
        store_.connect(asio::local::stream_protocol::endpoint{s.store});
        asio::co_spawn(io_, run(), rethrow);
        asio::co_spawn(io_, await_signal(), rethrow);
        asio::co_spawn(io_, read_answers(), rethrow);
    }

private:
    [[nodiscard]] colock::client_options options() const
    {
        return {
            .hosts = settings_.hosts,
            .session_timeout = settings_.session,
            .connect_timeout = milliseconds::max(),
            .tick = settings_.tick,
            .session_guard = {settings_.helper},
            .log = [](colock::log_level,
                      std::string_view line) { std::cerr << now() << ' ' << line << std::endl; },
            .log_threshold = colock::log_level::warning};
    }

    [[nodiscard]] colock::shards_options what() const
    {
        colock::shards_options o;
        o.count = settings_.shards;
        o.member = settings_.name;
        o.settle = 1s;
        o.take_limit = 10s;
        o.prepare_limit = 5s;
        o.safety_margin = margin;
        o.prepare = [this](const colock::shard_id&) -> asio::awaitable<void> {
            asio::steady_timer warm{io_, time_to_prepare};
            co_await warm.async_wait(asio::use_awaitable);
        };
        return o;
    }

    asio::awaitable<void> run()
    {
        const auto [failed] = co_await zk_.async_connect(as_result);
        if (!failed && !ending_) {
            running_ = true;
            const auto body = [this](const colock::owned_shard& mine) { return work(mine); };
            co_await pieces_.async_run(body);
        } else if (!ending_) {
            throw std::runtime_error{"cannot connect: " + failed.message()};
        }
        const auto [ignored] = co_await zk_.async_close(as_result);
        static_cast<void>(ignored);
        signals_.cancel();
        store_.close();
    }

    asio::awaitable<void> await_signal()
    {
        const auto [none, number] = co_await signals_.async_wait(as_result);
        if (none) {
            co_return;
        }
        ending_ = true;
        if (running_) {
            co_await pieces_.async_leave(20s, as_result);
        } else {
            co_await zk_.async_close(as_result);
        }
    }

    // The session of a process that was stopped is over, or will be: what is begun then is late.
    asio::awaitable<void> work(const colock::owned_shard& mine)
    {
        const auto token = to_string(mine.token());
        journal_.write("began", mine.index(), token);
        struct ending {
            const journal& to;
            const colock::owned_shard& mine;
            const std::string& token;
            ~ending()
            {
                to.write(mine.lock().loss_reason() ? "lost" : "ended", mine.index(), token);
            }
        } at_the_end{journal_, mine, token};
        asio::steady_timer step{io_};
        for (std::uint64_t number = 1;; ++number) {
            step.expires_after(milliseconds{draw(300, 1500)});
            co_await step.async_wait(asio::use_awaitable);
            const auto looked = now();
            const auto remaining = std::chrono::nanoseconds{mine.lock().remaining()}.count();
            if (!mine.lock()) {
                break;
            }
            step.expires_after(milliseconds{draw(2, 20)});
            co_await step.async_wait(asio::use_awaitable);
            std::ostringstream line;
            line << mine.index() << ' ' << settings_.name << ' ' << number << ' ' << token << ' '
                 << looked << ' ' << looked + remaining + std::chrono::nanoseconds{margin}.count()
                 << '\n';
            asio::write(store_, asio::buffer(line.str()));
        }
    }

    // It does not ask whether the fence has refused anything: the store tells at the end.
    asio::awaitable<void> read_answers()
    {
        std::array<char, 4096> answers;
        for (;;) {
            const auto into = asio::buffer(answers);
            const auto [over, size] = co_await store_.async_read_some(into, as_result);
            if (over) {
                co_return;
            }
        }
    }

    int draw(int least, int most) { return std::uniform_int_distribution{least, most}(random_); }

    asio::io_context& io_;
    const settings settings_;
    const journal journal_;
    std::minstd_rand random_{std::random_device{}()};
    colock::client zk_;
    colock::shards pieces_;
    asio::local::stream_protocol::socket store_;
    asio::signal_set signals_;
    bool running_ = false;
    bool ending_ = false;
};

} // namespace

int main(int argc, char** argv)
{
    if (argc != 9) {
        return 2;
    }
    try {
        asio::io_context io{1};
        const settings s{.hosts = argv[1],
                         .journal = argv[2],
                         .store = argv[3],
                         .name = argv[4],
                         .shards = std::stoul(argv[5]),
                         .session = milliseconds{std::stoi(argv[6])},
                         .tick = milliseconds{std::stoi(argv[7])},
                         .helper = argv[8]};
        const worker w{io, s};
        io.run();
        return 0;
    } catch (const std::exception& e) {
        std::cerr << "shard_soak_worker: " << e.what() << '\n';
        return 1;
    }
}
