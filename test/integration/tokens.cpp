// Completion handlers of every kind, at every operation: completes once, never inside the initiating function, on the handler's executor, with the
// handler's memory given back before the handler runs (G6).
#include COLOCK_TEST_OPERATIONS // a table: operations.hpp, or family_operations.hpp

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>

namespace colock::test::tokens_test {

namespace {

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

// Has nothing left when it was moved from.
struct shared_count {
    std::shared_ptr<unsigned> calls = std::make_shared<unsigned>(0);

    template <class... Results>
    void operator()(Results&&...) const
    {
        ++*calls;
    }
};

} // namespace

// Handlers are made outside of the loops over the operations: one type for all, not one for each, takes half the time to
// compile.
BOOST_AUTO_TEST_SUITE(tokens)

BOOST_AUTO_TEST_CASE(a_handler_that_is_an_lvalue_is_copied)
{
    operations_scene s;
    for_each_operation(s, [&](auto start) {
        shared_count handler;
        start(handler);
        BOOST_TEST_REQUIRE(bool(handler.calls));
        BOOST_TEST(s.until([&] { return *handler.calls == 1; }));
    });
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(callbacks_that_can_only_be_moved)
{
    operations_scene s;
    unsigned calls = 0;
    bool initiated = false;
    const auto callback = [&](std::unique_ptr<int> only_moved) {
        return [&, only_moved = std::move(only_moved)](auto&&...) {
            BOOST_TEST(*only_moved == 1);
            BOOST_TEST(initiated);
            ++calls;
        };
    };
    const auto called = [&] { return calls == 1; };
    for_each_operation(s, [&](auto start) {
        calls = 0;
        initiated = false;
        start(callback(std::make_unique<int>(1)));
        BOOST_TEST(calls == 0U);
        initiated = true;
        BOOST_TEST(s.until(called));
    });
    s.check_nothing_left();
}

// Initiated on the client's own strand's thread, where it would be easiest to complete at once.
BOOST_AUTO_TEST_CASE(never_inline_also_from_within_a_handler)
{
    operations_scene s;
    bool inside = false;
    unsigned calls = 0;
    const auto handler = [&](auto&&...) {
        BOOST_TEST(!inside);
        ++calls;
    };
    const auto called = [&] { return calls == 1; };
    for_each_operation(s, [&](auto start) {
        calls = 0;
        asio::post(s.io, [&] {
            inside = true;
            start(handler);
            inside = false;
        });
        BOOST_TEST(s.until(called));
    });
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(the_handler_runs_on_its_own_executor)
{
    operations_scene s;
    asio::thread_pool elsewhere{1};
    std::thread::id there;
    asio::post(elsewhere, asio::use_future([&] { there = std::this_thread::get_id(); })).get();
    std::atomic<unsigned> calls = 0;
    std::thread::id here;
    const auto handler = [&](auto&&...) {
        here = std::this_thread::get_id();
        ++calls;
    };
    const auto called = [&] { return calls == 1; };
    for_each_operation(s, [&](auto start) {
        calls = 0;
        start(asio::bind_executor(elsewhere, handler));
        BOOST_TEST(s.until(called));
        BOOST_TEST((here == there));
    });
    elsewhere.join();
    s.check_nothing_left();
}

// An operation that waits keeps the handler's context running.
BOOST_AUTO_TEST_CASE(the_handlers_context_has_work_until_the_handler_has_run)
{
    operations_scene s;
    unsigned calls = 0;
    const auto handler = [&](auto&&...) { ++calls; };
    for_each_operation(s, [&](auto start) {
        asio::io_context elsewhere;
        calls = 0;
        start(asio::bind_executor(elsewhere, handler));
        elsewhere.poll();
        BOOST_TEST(((calls == 1) || !elsewhere.stopped()));
        while (calls == 0) {
            s.io.restart();
            s.io.run_one_for(1ms);
            elsewhere.poll();
        }
        BOOST_TEST(run_to_the_end(elsewhere, 1s));
    });
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(the_handlers_allocator_has_its_memory_back_when_the_handler_runs)
{
    operations_scene s;
    std::ptrdiff_t balance = 0;
    unsigned calls = 0;
    const auto handler = [&](auto&&...) {
        BOOST_TEST(balance == 0);
        ++calls;
    };
    const auto called = [&] { return calls == 1; };
    for_each_operation(s, [&](auto start) {
        balance = 0;
        calls = 0;
        start(asio::bind_allocator(counting_allocator<char>{balance}, handler));
        BOOST_TEST(((calls == 1) || balance > 0)); // it is used
        BOOST_TEST(s.until(called));
        BOOST_TEST(balance == 0);
    });
    s.check_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_cancellation_slot_is_left_clean)
{
    operations_scene s;
    asio::cancellation_signal signal;
    unsigned calls = 0;
    const auto handler = [&](auto&&...) {
        BOOST_TEST(!signal.slot().has_handler());
        ++calls;
    };
    const auto called = [&] { return calls == 1; };
    for_each_operation(s, [&](auto start) {
        calls = 0;
        start(asio::bind_cancellation_slot(signal.slot(), handler));
        BOOST_TEST(s.until(called));
        signal.emit(asio::cancellation_type::all);
    });
    s.check_nothing_left();
}

// As `make_strand(co_await this_coro::executor)` is.
BOOST_AUTO_TEST_CASE(an_executor_may_be_a_strand_over_a_type_erased_one)
{
    operations_scene s;
    const auto strand = asio::make_strand(asio::any_io_executor{s.io.get_executor()});
    unsigned calls = 0;
    const auto handler = [&](auto&&...) {
        BOOST_TEST(strand.running_in_this_thread());
        ++calls;
    };
    const auto called = [&] { return calls == 1; };
    for_each_operation(s, [&](auto start) {
        calls = 0;
        start(asio::bind_executor(strand, handler));
        BOOST_TEST(s.until(called));
    });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::tokens_test
