#include "recipes/shards/preparation.hpp"

#include <colock/error.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace colock::detail {

preparation::preparation(std::shared_ptr<const shards_config> config, protocol::shard_index shard,
                         const asio::any_io_executor& bodies)
    : config_{std::move(config)}, shard_{shard}, strand_{asio::make_strand(bodies)}, limit_{strand_}
{
}

void preparation::start(std::function<void(const std::exception_ptr&)> then,
                        std::shared_ptr<const void> keep)
{
    asio::dispatch(strand_, [self = shared_from_this(), keep = std::move(keep),
                             then = std::move(then)]() mutable {
        self->then_ = std::move(then);
        if (self->stopped_) {
            self->over({});
            return;
        }
        self->limit_.expires_after(self->config_->options.prepare_limit);
        self->limit_.async_wait([self](const error_code& ec) {
            if (!ec && self->then_) {
                self->stop();
                self->over({});
            }
        });
        asio::co_spawn(
            self->strand_, run(self),
            asio::bind_executor(self->strand_,
                                asio::bind_cancellation_slot(
                                    self->stop_.slot(),
                                    [self, keep](const std::exception_ptr& e) { self->over(e); })));
    });
}

// What `prepare` throws when it is called is thrown here as well.
asio::awaitable<void> preparation::run(std::shared_ptr<preparation> self)
{
    co_await self->config_->options.prepare(self->config_->shards[self->shard_]);
}

void preparation::stop()
{
    asio::dispatch(strand_, [self = shared_from_this()] {
        self->stopped_ = true;
        self->stop_.emit(asio::cancellation_type::terminal);
    });
}

void preparation::over(const std::exception_ptr& e)
{
    limit_.cancel();
    if (const auto then = std::exchange(then_, nullptr)) {
        then(stopped_ ? std::exception_ptr{} : e);
    }
}

asio::awaitable<void> preparation::within(std::shared_ptr<preparation> self)
{
    const asio::use_awaitable_t<> token;
    // The operations under way keep the preparation, which keeps the handler, which keeps the frame of this coroutine. If the
    // frame kept the preparation in turn, all of it would outlive the context.
    auto initiate = [self = std::move(self)](auto handler) mutable {
        const auto own = std::move(self);
        const auto waiting = std::make_shared<decltype(handler)>(std::move(handler));
        if (auto slot = asio::get_associated_cancellation_slot(*waiting); slot.is_connected()) {
            slot.assign([weak = std::weak_ptr{own}](asio::cancellation_type) {
                if (const auto still = weak.lock()) {
                    still->stop();
                }
            });
        }
        own->start([waiting](const std::exception_ptr& e) {
            asio::post(asio::get_associated_executor(*waiting), [waiting, e] {
                if (auto slot = asio::get_associated_cancellation_slot(*waiting);
                    slot.is_connected()) {
                    slot.clear();
                }
                std::move (*waiting)(e);
            });
        });
    };
    auto ended = asio::async_initiate<const asio::use_awaitable_t<>&, void(std::exception_ptr)>(
        std::move(initiate), token);
    co_await std::move(ended);
}

} // namespace colock::detail
