// As much of std::execution as a test of colock needs: a completion token whose result is a sender, sync_wait, when_any.
#ifndef COLOCK_TEST_SUPPORT_SENDER_HPP
#define COLOCK_TEST_SUPPORT_SENDER_HPP

#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace colock::test {

/// The operation becomes a sender: nothing happens before its operation state is started.
/** It completes as std::execution wants it: with values, with an exception, or stopped after
    `operation_aborted`; a request to stop is a cancellation of every type. */
struct use_sender_t {};
inline constexpr use_sender_t use_sender{};

template <class Receiver, class Initiation, class... Args>
class sender_operation {
public:
    sender_operation(Receiver receiver, Initiation initiation, std::tuple<Args...> args)
        : receiver_{std::move(receiver)}, initiation_{std::move(initiation)}, args_{std::move(args)}
    {
    }
    sender_operation(const sender_operation&) = delete;
    sender_operation& operator=(const sender_operation&) = delete;

    void start() noexcept
    {
        on_stop_.emplace(receiver_.get_stop_token(), stop{*this});
        std::apply(
            [this](Args&... args) { std::move(initiation_)(handler{this}, std::move(args)...); },
            args_);
    }

private:
    struct stop {
        sender_operation& self;
        void operator()() const { self.signal_.emit(boost::asio::cancellation_type::all); }
    };

    struct handler {
        using cancellation_slot_type = boost::asio::cancellation_slot;
        sender_operation* self;

        cancellation_slot_type get_cancellation_slot() const noexcept
        {
            return self->signal_.slot();
        }

        template <class Failure, class... Values>
        void operator()(Failure failure, Values&&... values) const
        {
            self->on_stop_.reset();
            std::exception_ptr exception;
            if constexpr (std::is_same_v<Failure, std::exception_ptr>) {
                exception = failure;
            } else if (failure == boost::asio::error::operation_aborted) {
                return self->receiver_.set_stopped();
            } else if (failure) {
                exception = std::make_exception_ptr(boost::system::system_error{failure});
            }
            if (exception) {
                self->receiver_.set_error(exception);
            } else {
                self->receiver_.set_value(std::forward<Values>(values)...);
            }
        }
    };

    Receiver receiver_;
    Initiation initiation_;
    std::tuple<Args...> args_;
    boost::asio::cancellation_signal signal_;
    std::optional<std::stop_callback<stop>> on_stop_;
};

template <class Signature, class Initiation, class... Args>
struct sender;

template <class Failure, class... Values, class Initiation, class... Args>
struct sender<void(Failure, Values...), Initiation, Args...> {
    using values = std::tuple<std::decay_t<Values>...>;
    Initiation initiation;
    std::tuple<Args...> args;

    template <class Receiver>
    auto connect(Receiver receiver) &&
    {
        return sender_operation<Receiver, Initiation, Args...>{
            std::move(receiver), std::move(initiation), std::move(args)};
    }
};

/// How an operation has completed, or that it has not.
template <class Values>
struct sender_result {
    std::optional<Values> values;
    std::exception_ptr error;
    bool stopped = false;

    [[nodiscard]] bool done() const { return values || error || stopped; }
};

/// Writes down how the operation completes, and then asks whoever shares `stop` to stop.
template <class Values>
struct result_receiver {
    sender_result<Values>* result;
    std::stop_source stop;

    [[nodiscard]] std::stop_token get_stop_token() const { return stop.get_token(); }

    template <class... Args>
    void set_value(Args&&... args)
    {
        result->values.emplace(std::forward<Args>(args)...);
        stop.request_stop();
    }
    void set_error(std::exception_ptr error)
    {
        result->error = std::move(error);
        stop.request_stop();
    }
    void set_stopped()
    {
        result->stopped = true;
        stop.request_stop();
    }
};

/// How the sender completes. `until` runs the context until a condition holds.
template <class Until, class Sender>
auto sync_wait(const Until& until, Sender sender)
{
    sender_result<typename Sender::values> result;
    auto operation =
        std::move(sender).connect(result_receiver<typename Sender::values>{&result, {}});
    operation.start();
    until([&] { return result.done(); });
    return result;
}

/// How both complete: the first that does stops the other.
template <class Until, class First, class Second>
auto when_any(const Until& until, First first, Second second)
{
    const std::stop_source stop;
    sender_result<typename First::values> one;
    sender_result<typename Second::values> other;
    auto operation = std::move(first).connect(result_receiver<typename First::values>{&one, stop});
    auto beside = std::move(second).connect(result_receiver<typename Second::values>{&other, stop});
    operation.start();
    beside.start();
    until([&] { return one.done() && other.done(); });
    return std::pair{std::move(one), std::move(other)};
}

} // namespace colock::test

// A specialization: what Asio's tokens that are no handlers are made of.
template <class Signature>
struct boost::asio::async_result<colock::test::use_sender_t, Signature> {
    template <class Initiation, class... Args>
    static auto initiate(Initiation&& initiation, const colock::test::use_sender_t&, Args&&... args)
    {
        return colock::test::sender<Signature, std::decay_t<Initiation>, std::decay_t<Args>...>{
            std::forward<Initiation>(initiation), {std::forward<Args>(args)...}};
    }
};

#endif
