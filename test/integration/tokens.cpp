// Every kind of completion token, at one operation of the client, its connect, and the mutex's lock and
// unlock: completes once, never inside the initiating function, on the handler's executor, with the
// handler's memory given back before the handler runs (G6).
#include <support/lock_scene.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

using namespace colock;
using namespace colock::test;

namespace {

struct token_scene : lock_scene {
    token_scene() { admin.create(directory); }

    client idle{io, {.hosts = server.connect_string()}}; // to be connected by the test
    client& zk = connect();
    mutex lock{zk, directory};
};

// Counts what is allocated by all copies; a copy that was moved from is of no more use.
template <class T>
class counting_allocator {
public:
    using value_type = T;

    explicit counting_allocator(std::ptrdiff_t& balance)
        : balance_{std::make_shared<std::ptrdiff_t*>(&balance)}
    {
    }
    template <class U>
    counting_allocator(const counting_allocator<U>& other) noexcept : balance_{other.balance_}
    {
    }

    T* allocate(std::size_t n)
    {
        **balance_ += static_cast<std::ptrdiff_t>(n * sizeof(T));
        return std::allocator<T>{}.allocate(n);
    }
    void deallocate(T* p, std::size_t n) noexcept
    {
        **balance_ -= static_cast<std::ptrdiff_t>(n * sizeof(T));
        std::allocator<T>{}.deallocate(p, n);
    }

    friend bool operator==(const counting_allocator&, const counting_allocator&) = default;

    std::shared_ptr<std::ptrdiff_t*> balance_;
};

// Runs `test(name, start)` for each operation in turn, where `start(handler)` initiates it; the handler gets an
// error and maybe a result. With `bound` handlers that have an executor of their own, also an operation for
// which there is no client's executor.
template <class Test>
void with_each_operation(token_scene& s, Test test, bool bound = false)
{
    unique_lock held;
    test("async_connect",
         [&](auto&& token) { s.idle.async_connect(std::forward<decltype(token)>(token)); });
    test("async_get",
         [&](auto&& token) { s.zk.async_get(s.directory, std::forward<decltype(token)>(token)); });
    test("async_lock",
         [&](auto&& token) { s.lock.async_lock(std::forward<decltype(token)>(token)); });
    held = s.hold(s.zk);
    test("async_unlock",
         [&](auto&& token) { held.async_unlock(std::forward<decltype(token)>(token)); });
    if (bound) {
        test("async_unlock of nothing", [](auto&& token) {
            unique_lock{}.async_unlock(std::forward<decltype(token)>(token));
        });
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(tokens)

BOOST_AUTO_TEST_CASE(callbacks_that_can_only_be_moved)
{
    token_scene s;
    with_each_operation(s, [&](const char* name, auto start) {
        BOOST_TEST_CONTEXT(name)
        {
            unsigned calls = 0;
            bool initiated = false;
            start([&, only_moved = std::make_unique<int>(1)](error_code, auto&&...) {
                BOOST_TEST(*only_moved == 1);
                BOOST_TEST(initiated);
                ++calls;
            });
            BOOST_TEST(calls == 0U);
            initiated = true;
            BOOST_TEST(s.until([&] { return calls == 1; }));
        }
    });
    s.check_nothing_left();
}

// Initiated on the client's own strand's thread, where it would be easiest to complete at once.
BOOST_AUTO_TEST_CASE(never_inline_also_from_within_a_handler)
{
    token_scene s;
    with_each_operation(s, [&](const char* name, auto start) {
        BOOST_TEST_CONTEXT(name)
        {
            bool inside = false;
            unsigned calls = 0;
            asio::post(s.io, [&] {
                inside = true;
                start([&](error_code, auto&&...) {
                    BOOST_TEST(!inside);
                    ++calls;
                });
                inside = false;
            });
            BOOST_TEST(s.until([&] { return calls == 1; }));
        }
    });
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(the_handler_runs_on_its_own_executor)
{
    token_scene s;
    asio::thread_pool elsewhere{1};
    std::thread::id there;
    asio::post(elsewhere, asio::use_future([&] { there = std::this_thread::get_id(); })).get();
    with_each_operation(
        s,
        [&](const char* name, auto start) {
            BOOST_TEST_CONTEXT(name)
            {
                std::atomic<unsigned> calls = 0;
                std::thread::id here;
                start(asio::bind_executor(elsewhere, [&](error_code, auto&&...) {
                    here = std::this_thread::get_id();
                    ++calls;
                }));
                BOOST_TEST(s.until([&] { return calls == 1; }));
                BOOST_TEST((here == there));
            }
        },
        true);
    elsewhere.join();
    s.check_nothing_left();
}

// An operation that waits keeps the handler's context running.
BOOST_AUTO_TEST_CASE(the_handlers_context_has_work_until_the_handler_has_run)
{
    token_scene s;
    with_each_operation(
        s,
        [&](const char* name, auto start) {
            BOOST_TEST_CONTEXT(name)
            {
                asio::io_context elsewhere;
                unsigned calls = 0;
                start(asio::bind_executor(elsewhere, [&](error_code, auto&&...) { ++calls; }));
                elsewhere.poll();
                BOOST_TEST(((calls == 1) || !elsewhere.stopped()));
                while (calls == 0) {
                    s.io.restart();
                    s.io.run_one_for(1ms);
                    elsewhere.poll();
                }
                BOOST_TEST(run_to_the_end(elsewhere, 1s));
            }
        },
        true);
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(the_handlers_allocator_has_its_memory_back_when_the_handler_runs)
{
    token_scene s;
    with_each_operation(s, [&](const char* name, auto start) {
        BOOST_TEST_CONTEXT(name)
        {
            std::ptrdiff_t balance = 0;
            unsigned calls = 0;
            start(
                asio::bind_allocator(counting_allocator<char>{balance}, [&](error_code, auto&&...) {
                    BOOST_TEST(balance == 0);
                    ++calls;
                }));
            BOOST_TEST(((calls == 1) || balance > 0)); // it is used
            BOOST_TEST(s.until([&] { return calls == 1; }));
            BOOST_TEST(balance == 0);
        }
    });
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_cancellation_slot_is_left_clean)
{
    token_scene s;
    with_each_operation(s, [&](const char* name, auto start) {
        BOOST_TEST_CONTEXT(name)
        {
            asio::cancellation_signal signal;
            unsigned calls = 0;
            start(asio::bind_cancellation_slot(signal.slot(), [&](error_code, auto&&...) {
                BOOST_TEST(!signal.slot().has_handler());
                ++calls;
            }));
            BOOST_TEST(s.until([&] { return calls == 1; }));
            signal.emit(asio::cancellation_type::all);
        }
    });
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(type_erased_handlers)
{
    token_scene s;
    unsigned calls = 0;
    s.idle.async_connect(asio::any_completion_handler<void(error_code)>{[&](error_code ec) {
        BOOST_TEST(ec == error_code{});
        ++calls;
    }});
    unique_lock held;
    s.lock.async_lock(asio::any_completion_handler<void(error_code, unique_lock)>{
        asio::bind_executor(s.io, [&](error_code ec, unique_lock l) {
            BOOST_TEST(ec == error_code{});
            held = std::move(l);
            ++calls;
        })});
    BOOST_TEST(s.until([&] { return calls == 2; }));
    held.async_unlock(asio::any_completion_handler<void(error_code)>{[&](error_code) { ++calls; }});
    BOOST_TEST(s.until([&] { return calls == 3; }));
    // Dropped without being called.
    held = s.hold(s.zk);
    s.lock.async_lock(asio::any_completion_handler<void(error_code, unique_lock)>{
        [&](error_code, unique_lock) { ++calls; }});
    s.lock.async_lock(asio::detached);
    go_on(s.io, 5ms);
    held = {};
    BOOST_TEST(s.until([&] { return calls == 4; }));
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(coroutines_deferred_use_awaitable_and_as_tuple)
{
    token_scene s;
    run(s.io, [&]() -> asio::awaitable<void> {
        co_await s.idle.async_connect(); // the default is deferred
        co_await s.idle.async_connect(asio::use_awaitable);
        auto got = co_await s.zk.async_get(s.directory);
        BOOST_TEST(got.stat.version == 0);
        unique_lock held = co_await s.lock.async_lock();
        auto [busy, tried] = co_await s.lock.async_try_lock(asio::as_tuple(asio::deferred));
        BOOST_TEST(busy == error_code{});
        BOOST_TEST(!tried);
        co_await held.async_unlock();
        auto [again] = co_await held.async_unlock(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST(again == errc::not_held);
        // Nothing happens before it is awaited.
        auto later = s.lock.async_lock(asio::deferred);
        co_await pause(5ms);
        BOOST_TEST(s.queue().empty());
        held = co_await std::move(later);
        BOOST_TEST(s.queue().size() == 1U);
        // An unlock that is never started still releases.
        static_cast<void>(held.async_unlock());
        BOOST_TEST(!held);
        co_return;
    }());
    s.check_nothing_left();
    BOOST_CHECK_EXCEPTION(
        run(s.io,
            [&]() -> asio::awaitable<void> { co_await s.zk.async_get(s.directory + "/none"); }()),
        boost::system::system_error,
        [](const auto& e) { return e.code() == zookeeper_errc::no_node; });
}

BOOST_AUTO_TEST_CASE(futures_from_another_thread)
{
    token_scene s;
    auto work = asio::make_work_guard(s.io);
    std::thread runner{[&] { s.io.run(); }};
    s.idle.async_connect(asio::use_future).get();
    BOOST_TEST(s.zk.async_get(s.directory, asio::use_future).get().data.empty());
    auto held = s.lock.async_lock(asio::use_future).get();
    BOOST_TEST(static_cast<bool>(held));
    BOOST_TEST(!s.lock.async_try_lock(asio::use_future).get());
    held.async_unlock(asio::use_future).get();
    BOOST_CHECK_THROW(held.async_unlock(asio::use_future).get(), boost::system::system_error);
    s.io.stop();
    runner.join();
    work.reset();
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(stackful_coroutines)
{
    token_scene s;
    bool done = false;
    asio::spawn(
        s.io,
        [&](asio::yield_context yield) {
            s.idle.async_connect(yield);
            BOOST_TEST(s.zk.async_get(s.directory, yield).data.empty());
            auto held = s.lock.async_lock(yield);
            BOOST_TEST(static_cast<bool>(held));
            held.async_unlock(yield);
            error_code ec;
            held.async_unlock(yield[ec]);
            BOOST_TEST(ec == errc::not_held);
            done = true;
        },
        [](std::exception_ptr e) { BOOST_TEST(!e); });
    BOOST_TEST(s.until([&] { return done; }));
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(detached)
{
    token_scene s;
    s.idle.async_connect(asio::detached);
    BOOST_TEST(s.until([&] { return s.idle.state() == connection_state::connected; }));
    s.zk.async_create(s.directory + "/node", "", create_mode::persistent, asio::detached);
    BOOST_TEST(s.until([&] { return s.admin.exists(s.directory + "/node").has_value(); }));
    s.admin.remove(s.directory + "/node");
    s.lock.async_lock(asio::detached); // held by nobody: released at once
    auto held = s.hold(s.zk);
    held.async_unlock(asio::detached);
    BOOST_TEST(!held);
    s.check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()
