// Mistakes of users that the compiler has to report. refused.cmake compiles this file, and looks for the name of each
// mistake in the compiler's output.
#include "surroundings.hpp"

struct mistakes : surroundings {
#line 1 "with_orders"
    template <class F>
    asio::awaitable<void> with_orders(F&& body)
    {
        static_assert(colock::safe_body<F>, "the wrapper says no");
        co_await orders.async_with_lock(body);
    }
#line 1 "forwarded"
    template <class F>
    auto forwarded(F&& body)
    {
        return orders.async_with_lock(std::forward<F>(body), asio::use_awaitable);
    }

#line 1 "run"
    asio::awaitable<void> run()
    {
#line 1 "a_lambda_captures_by_value"
        co_await m.async_with_lock(
            [text = text](const colock::unique_lock&) -> asio::awaitable<void> { co_return; });
#line 1 "a_lambda_of_a_leader_captures_by_value"
        co_await scheduler.async_lead(
            [text = text](const colock::unique_lock&) -> asio::awaitable<void> { co_return; });
#line 1 "a_lambda_captures_by_value_for_another_token"
        co_await prices.async_with_lock_shared(
            [text = text](const colock::shared_lock&) -> asio::awaitable<void> { co_return; },
            asio::as_tuple(asio::deferred));
#line 1 "a_lambda_captures_by_value_with_diagnostics"
        colock::diagnostics why;
        co_await m.async_with_lock(
            [text = text](const colock::unique_lock&) -> asio::awaitable<void> { co_return; },
            colock::bind_diagnostics(why, asio::use_awaitable));
#line 1 "a_function_object_has_no_name"
        co_await m.async_with_lock(std::function<asio::awaitable<void>(const colock::unique_lock&)>{
            [text = text](const colock::unique_lock&) -> asio::awaitable<void> { co_return; }});
#line 1 "a_wrapper_looks_at_its_body"
        co_await with_orders(
            [text = text](const colock::unique_lock&) -> asio::awaitable<void> { co_return; });
#line 1 "a_wrapper_forwards_its_body"
        co_await forwarded(
            [text = text](const colock::unique_lock&) -> asio::awaitable<void> { co_return; });
#line 1 "a_late_write_captures_by_value"
        co_await colock::fenced(
            held, [text = text](const std::string&) -> asio::awaitable<bool> { co_return true; });
#line 1 "a_guard_is_dropped"
        co_await m.async_lock();
#line 1 "a_shared_guard_is_dropped"
        co_await prices.async_lock_shared();
#line 1 "a_permit_is_dropped"
        co_await pool.async_acquire();
#line 1 "a_multi_guard_is_dropped"
        co_await colock::multi_lock{orders, prices}.async_lock();
#line 1 "a_leadership_is_dropped"
        co_await scheduler.async_campaign();
#line 1 "a_watch_is_dropped"
        co_await zk.async_watch(path);
#line 1 "an_operation_is_not_awaited"
        m.async_lock();
    }

    struct without_default {
        explicit without_default(int) {}
    };
    void run_bodies()
    {
        const auto done = [](auto&&...) {};
#line 1 "a_body_takes_a_guard_that_it_could_change"
        m.async_with_lock([](colock::unique_lock&) -> asio::awaitable<void> { co_return; }, done);
#line 1 "a_body_takes_a_guard_by_value"
        m.async_with_lock([](colock::unique_lock) -> asio::awaitable<void> { co_return; }, done);
#line 1 "a_body_of_permits_takes_a_lock"
        pool.async_with_permits(
            1, [](const colock::unique_lock&) -> asio::awaitable<void> { co_return; }, done);
#line 1 "a_body_returns_nothing_to_await"
        m.async_with_lock([](const colock::unique_lock&) {}, done);
#line 1 "a_body_gives_what_has_no_default"
        m.async_with_lock(
            [](const colock::unique_lock&) -> asio::awaitable<without_default> {
                co_return without_default{1};
            },
            done);
    }

    void write_fenced()
    {
#line 1 "rows_are_told_as_text"
        colock::fenced(held, [](const std::string&) { return "1"; });
#line 1 "an_error_is_told_for_acceptance"
        colock::fenced(held, [](const std::string&) { return colock::error_code{}; });
#line 1 "an_acceptance_may_be_missing"
        colock::fenced(held, [](const std::string&) { return std::optional<bool>{}; });
    }

    void present_for_reading(const colock::shared_lock& reading)
    {
#line 1 "a_reader_presents_its_token"
        colock::fenced(reading, [](const std::string&) { return true; });
    }

    colock::unique_lock hold();
    void drop()
    {
#line 1 "a_guard_of_a_function_is_dropped"
        hold();
    }
};
