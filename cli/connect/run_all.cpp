#include "connect/run_all.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;

asio::awaitable<void> run_all(std::vector<asio::awaitable<void>> bodies)
{
    const auto executor = co_await asio::this_coro::executor;
    using started =
        decltype(asio::co_spawn(executor, std::declval<asio::awaitable<void>>(), asio::deferred));
    std::vector<started> all;
    for (auto& body : bodies) {
        all.push_back(asio::co_spawn(executor, std::move(body), asio::deferred));
    }
    auto group = asio::experimental::make_parallel_group(std::move(all));
    const auto [order, failed] =
        co_await group.async_wait(asio::experimental::wait_for_one_error(), asio::use_awaitable);
    for (const auto i : order) {
        if (failed[i]) {
            std::rethrow_exception(failed[i]);
        }
    }
}

} // namespace colock::cli
