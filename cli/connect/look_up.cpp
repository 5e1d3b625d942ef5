#include "connect/look_up.hpp"

#include "program/detached_thread.hpp"
#include "program/text.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <mutex>
#include <optional>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;
using boost::system::error_code;

// What the thread shares with who waits. It may outlive the context of the timer.
struct look_up::question {
    explicit question(const asio::any_io_executor& on)
        : answered{std::in_place, on, asio::steady_timer::time_point::max()}
    {
    }

    std::mutex mutex;
    std::optional<asio::steady_timer>
        answered;             // for the thread: guarded by mutex, empty when nobody waits
    bool is_answered = false; // guarded by mutex, with the two below
    error_code error;
    tcp::resolver::results_type found;
};

look_up::look_up(const asio::any_io_executor& executor)
    : question_{std::make_shared<question>(executor)}
{
}

look_up::~look_up()
{
    const std::lock_guard lock{question_->mutex};
    question_->answered.reset();
}

asio::awaitable<look_up::tcp::resolver::results_type>
look_up::addresses_of(std::string host, std::string port, error_code& ec)
{
    error_code no_address;
    const auto address = asio::ip::make_address(host, no_address);
    if (const auto number = number_in<unsigned short>(port); !no_address && number) {
        ec = {};
        co_return tcp::resolver::results_type::create(tcp::endpoint{address, *number}, host, port);
    }
    const auto q = question_;
    start_detached([q, host = std::move(host), port = std::move(port)] {
        asio::io_context own;
        tcp::resolver resolver{own};
        error_code failed;
        auto found = resolver.resolve(host, port, failed);
        const std::lock_guard lock{q->mutex};
        q->error = failed;
        q->found = std::move(found);
        q->is_answered = true;
        if (q->answered) {
            asio::post(q->answered->get_executor(), [q] {
                if (q->answered) {
                    q->answered->cancel();
                }
            });
        }
    });
    co_await q->answered->async_wait(asio::redirect_error(asio::use_awaitable, ec));
    const std::lock_guard lock{q->mutex};
    ec = q->is_answered ? q->error : error_code{asio::error::operation_aborted};
    co_return q->is_answered ? q->found : tcp::resolver::results_type{};
}

} // namespace colock::cli
