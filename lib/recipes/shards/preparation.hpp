// The user's `prepare` of one shard, which has a limit.
#pragma once

#include "recipes/shards/assignment.hpp"
#include "recipes/shards/places.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <exception>
#include <functional>
#include <memory>

namespace colock::detail {

namespace asio = boost::asio;

// On a strand of its own over the executor of the bodies. What is under way keeps it alive, and may go on when it is waited for
// no more.
class preparation final : public std::enable_shared_from_this<preparation> {
public:
    preparation(std::shared_ptr<const shards_config> config, protocol::shard_index shard,
                const asio::any_io_executor& bodies);

    // Any thread. `then` is called once, on that strand: with what was thrown, or at the limit. `keep` lives until it has ended.
    void start(std::function<void(const std::exception_ptr&)> then,
               std::shared_ptr<const void> keep = {});
    // Any thread. It shall end, and what it throws from now on does not count.
    void stop();

    // The same within a coroutine, whose cancellation stops it.
    [[nodiscard]] static asio::awaitable<void> within(std::shared_ptr<preparation> self);

private:
    static asio::awaitable<void> run(std::shared_ptr<preparation> self);
    void over(const std::exception_ptr& e);

    const std::shared_ptr<const shards_config> config_;
    const protocol::shard_index shard_;
    const asio::any_io_executor strand_;
    asio::steady_timer limit_;
    asio::cancellation_signal stop_;
    std::function<void(const std::exception_ptr&)> then_; // until it is called
    bool stopped_ = false;
};

} // namespace colock::detail
