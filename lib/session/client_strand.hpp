// Where a client runs.
#pragma once

#include "zk/process.hpp"
#include "zk/strand.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

namespace colock::detail {

namespace asio = boost::asio;

// The strand of a client. It drops what it is given when the execution context is being destroyed, and in a forked child.
class client_strand {
public:
    explicit client_strand(asio::any_io_executor executor)
        : executor_{std::move(executor)}, strand_{zk::strand_base{executor_}}
    {
    }

    // Any thread, from here on.
    [[nodiscard]] const asio::any_io_executor& executor() const noexcept { return executor_; }
    [[nodiscard]] const zk::strand_type& operator*() const noexcept { return *strand_; }

    // Whether this process is a forked child of the one that has made the client. Then nothing runs on the strand, no
    // mutex is locked, and nothing of the client is destroyed.
    [[nodiscard]] bool is_inherited() const noexcept { return owner_.is_another(); }
    // The execution context is being destroyed, or it was.
    [[nodiscard]] bool is_gone() const noexcept { return gone_.load(std::memory_order_acquire); }
    [[nodiscard]] bool runs_here() const noexcept
    {
        return strand_ && strand_->running_in_this_thread();
    }

    // Runs the function on the strand, inside this call when that is possible.
    template <class Function>
    void dispatch(Function&& function) const
    {
        if (!is_inherited() && !is_gone()) {
            asio::dispatch(*strand_, std::forward<Function>(function));
        }
    }
    // Never inside this call.
    template <class Function>
    void post(Function&& function) const
    {
        if (!is_inherited() && !is_gone()) {
            asio::post(*strand_, std::forward<Function>(function));
        }
    }

    // What has to be alive when something of the client runs.
    void serve(std::weak_ptr<void> client) noexcept { client_ = std::move(client); }
    [[nodiscard]] const std::weak_ptr<void>& client() const noexcept { return client_; }

    void context_gone() noexcept { gone_ = true; }
    // The last: frees what it has of the context.
    void discard() noexcept { strand_.reset(); }

private:
    const zk::owning_process owner_;
    const asio::any_io_executor executor_;
    std::optional<zk::strand_type> strand_; // empty once the context is gone
    std::atomic<bool> gone_{false};
    std::weak_ptr<void> client_;
};

} // namespace colock::detail
