// journeys HOST:PORT: prints the addresses of the functions that two journeys enter, one a line, after a line with the name of
// the journey. Compiled and read by tools/journeys.py.
#include <colock/client.hpp>
#include <colock/mutex.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

thread_local bool traces = false;
std::vector<void*> trace;

// A timer or a heartbeat may fall into a round: the shortest of them has none.
constexpr int rounds = 9;

class shortest {
public:
    void look()
    {
        if (best_.empty() || trace.size() < best_.size()) {
            best_ = trace;
        }
    }
    void print(const char* name) const
    {
        std::printf("%s\n", name);
        for (auto* address : best_) {
            std::printf("%p\n", address);
        }
    }

private:
    std::vector<void*> best_;
};

// Takes the lock on this thread, and traces that until the handler is called, from the beginning or from the moment at which
// `others` is called.
template <class Others>
void journey(asio::io_context& io, colock::mutex& m, bool waits, Others others)
{
    bool done = false;
    colock::unique_lock held;
    trace.clear();
    traces = !waits;
    m.async_lock([&](colock::error_code ec, colock::unique_lock lock) {
        traces = false;
        if (ec) {
            std::fprintf(stderr, "%s\n", ec.message().c_str());
            std::exit(1);
        }
        held = std::move(lock);
        done = true;
    });
    io.restart();
    if (waits) {
        io.run_for(300ms); // it is in the queue then, and watches
        others();
        traces = true;
    }
    while (!done) {
        io.run_one();
    }
    held.async_unlock([&](colock::error_code) { done = false; });
    while (done) {
        io.run_one();
    }
}

} // namespace

extern "C" {
[[gnu::no_instrument_function]] void __cyg_profile_func_enter(void* function, void*)
{
    if (traces) {
        traces = false; // for what the vector enters
        trace.push_back(function);
        traces = true;
    }
}
[[gnu::no_instrument_function]] void __cyg_profile_func_exit(void*, void*)
{
}
}

int main(int, char** argv)
{
    trace.reserve(100'000);

    asio::io_context io;
    const auto busy = asio::make_work_guard(io);
    colock::client zk{io, {.hosts = argv[1]}};
    bool connected = false;
    zk.async_connect([&](colock::error_code ec) { connected = !ec; });
    while (!connected) {
        io.run_one();
    }

    shortest alone;
    for (int i = 0; i != rounds; ++i) {
        colock::mutex m{zk, "/journeys/alone"};
        journey(io, m, false, [] {});
        alone.look();
    }
    alone.print("an uncontended async_lock, until its handler is called");

    asio::io_context other_io;
    const auto other_busy = asio::make_work_guard(other_io);
    std::thread other_thread{[&] { other_io.run(); }};
    {
        colock::client other{other_io, {.hosts = argv[1]}};
        other.async_connect(asio::use_future).get();
        colock::mutex theirs{other, "/journeys/queue"};
        shortest waiter;
        for (int i = 0; i != rounds; ++i) {
            colock::mutex m{zk, "/journeys/queue"};
            auto before = theirs.async_lock(asio::use_future).get();
            journey(io, m, true, [&] { before.async_unlock(asio::detached); });
            waiter.look();
        }
        waiter.print("a predecessor's deletion, until the waiter's handler is called");
        other.async_close(asio::use_future).get();
    }
    other_io.stop();
    other_thread.join();
    std::fflush(stdout);
    std::_Exit(0);
}
