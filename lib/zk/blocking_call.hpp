// A call that blocks, on a thread of its own.
#pragma once

#include <colock/error.hpp>

#include "zk/strand.hpp"

#include <boost/asio/post.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace colock::zk {

// A thread that takes no signal of the program, and for whose end nobody waits. Fails when there are no more threads.
[[nodiscard]] error_code start_detached_thread(std::function<void()> body);

// What asks others for an answer without a limit of time, such as the system's resolver. Nobody can end it, and Asio has one
// thread in a context for all of its kind. So each call has a thread.
template <class Result>
class blocking_call : public std::enable_shared_from_this<blocking_call<Result>> {
public:
    using answer = std::function<void(Result)>;

    // Calls work(error_code{}) on the thread; or work(why), at once, where there is no thread. `then` is called once with
    // what it returns, on the strand, never from within this function.
    template <class Work>
    static std::shared_ptr<blocking_call> start(const strand_type& strand, Work work, answer then)
    {
        std::shared_ptr<blocking_call> call{new blocking_call{strand, std::move(then)}};
        const auto shared = std::make_shared<Work>(std::move(work));
        if (const auto failed = start_detached_thread(
                [call, shared] { call->complete((*shared)(error_code{})); })) {
            call->complete((*shared)(failed));
        }
        return call;
    }

    // Any thread. The answer does not come, and the strand is not touched any more.
    void forget() noexcept
    {
        const std::lock_guard lock{mutex_};
        strand_.reset();
        then_ = nullptr;
    }

private:
    blocking_call(const strand_type& strand, answer then) : strand_{strand}, then_{std::move(then)}
    {
    }

    void complete(Result&& result)
    {
        const std::lock_guard lock{mutex_}; // the strand's context lives as long as it is locked
        if (strand_) {
            asio::post(*strand_,
                       [self = this->shared_from_this(), result = std::move(result)]() mutable {
                           answer then;
                           {
                               const std::lock_guard unless_forgotten{self->mutex_};
                               then.swap(self->then_);
                           }
                           if (then) {
                               then(std::move(result));
                           }
                       });
            strand_.reset();
        }
    }

    std::mutex mutex_;
    std::optional<strand_type> strand_; // guarded by mutex_; empty when nobody wants the answer
    answer then_;                       // the same
};

} // namespace colock::zk
