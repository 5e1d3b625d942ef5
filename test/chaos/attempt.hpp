// One operation of a process of the chaos, and what its journal tells of it.
#ifndef COLOCK_TEST_CHAOS_ATTEMPT_HPP
#define COLOCK_TEST_CHAOS_ATTEMPT_HPP

#include <colock/error.hpp>
#include <colock/fencing_token.hpp>
#include <colock/held_lock.hpp>
#include <colock/permit.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <sstream>
#include <string>
#include <utility>

namespace chaos {

inline std::string text_of(const colock::error_code& ec)
{
    std::ostringstream text;
    text << ec;
    return text.str();
}

inline std::string text_of(const std::exception_ptr& failure)
{
    try {
        if (failure) {
            std::rethrow_exception(failure);
        }
        return "0";
    } catch (const boost::system::system_error& e) {
        return text_of(e.code());
    }
}

inline std::string token_of(const colock::held_lock& guard)
{
    return to_string(guard.token());
}
inline std::string token_of(const colock::permit&)
{
    return "-";
}

template <class Handler>
void unlock(colock::held_lock& guard, Handler handler)
{
    guard.async_unlock(std::move(handler));
}
template <class Handler>
void unlock(colock::permit& guard, Handler handler)
{
    guard.async_release(std::move(handler));
}

// How one operation ends, and the lock that it brings.
template <class Guard>
struct attempt {
    explicit attempt(boost::asio::io_context& io) : wake{io} {}

    boost::asio::steady_timer wake; // something below has changed
    boost::asio::cancellation_signal cancel;
    bool completed = false;
    Guard guard;
    bool told = false;
    bool leaving = false;
    bool left = false;
};

} // namespace chaos

#endif
