#ifndef COLOCK_TEST_SUPPORT_OUTCOME_HPP
#define COLOCK_TEST_SUPPORT_OUTCOME_HPP

#include <support/run.hpp>

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <variant>

namespace colock::test {

/// Where an asynchronous operation leaves its result, for tests that look on while it is under way.
/**
 * `outcome<unique_lock> o; m.async_lock(o.handler());` Copies share what they hold. Counts the calls: every
 * operation completes exactly once, see `done()`. For a context that is run by this thread alone.
 */
template <class T = std::monostate>
class outcome {
    struct shared {
        unsigned calls = 0;
        boost::system::error_code error;
        std::optional<T> value;
    };

public:
    /// A completion handler for `void(error_code)` or `void(error_code, T)`.
    [[nodiscard]] auto handler() const
    {
        return [s = shared_](boost::system::error_code ec, T value = {}) {
            ++s->calls;
            s->error = ec;
            s->value.emplace(std::move(value));
        };
    }

    [[nodiscard]] unsigned calls() const { return shared_->calls; }

    /// Throws when the handler was called more than once.
    [[nodiscard]] bool done() const
    {
        if (shared_->calls > 1) {
            throw std::logic_error("a handler was called more than once");
        }
        return shared_->calls == 1;
    }
    [[nodiscard]] bool ok() const { return done() && !shared_->error; }
    [[nodiscard]] boost::system::error_code error() const { return shared_->error; }
    [[nodiscard]] T& value() const { return *shared_->value; }

private:
    std::shared_ptr<shared> shared_ = std::make_shared<shared>();
};

/// Runs the context until the operation has completed, and returns its code.
template <class T>
boost::system::error_code code_of(asio::io_context& io, const outcome<T>& o,
                                  std::chrono::milliseconds limit = long_enough)
{
    run_until(
        io, [&] { return o.done(); }, limit);
    return o.error();
}

/// The same for the value; an error is thrown.
template <class T>
T value_of(asio::io_context& io, const outcome<T>& o, std::chrono::milliseconds limit = long_enough)
{
    if (const auto ec = code_of(io, o, limit)) {
        throw boost::system::system_error(ec);
    }
    return std::move(o.value());
}

/// Runs the context until a condition holds that only somebody else can tell, such as the server. False
/// when it does not in time.
template <class Condition>
bool becomes_true(asio::io_context& io, Condition&& condition,
                  std::chrono::milliseconds limit = long_enough)
{
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
        // The clock is read first: the last look is taken behind the deadline.
        const bool last = std::chrono::steady_clock::now() >= deadline;
        if (condition()) {
            return true;
        }
        if (last) {
            return false;
        }
        io.restart();
        io.run_one_for(std::chrono::milliseconds{3});
        if (io.stopped()) {
            std::this_thread::sleep_for(std::chrono::milliseconds{3});
        }
        io.poll();
    }
}

/// Runs the context for a while in which something wrong would happen, if it happens. Proves little: use
/// it beside a condition that is waited for.
inline void go_on(asio::io_context& io, std::chrono::milliseconds duration)
{
    becomes_true(
        io, [] { return false; }, duration);
}

} // namespace colock::test

#endif
