// What a client does after a pause.
#pragma once

#include "session/client_strand.hpp"

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <utility>

namespace colock::detail {

// On the strand.
class delayed_calls {
public:
    explicit delayed_calls(const client_strand& strand) noexcept : strand_{strand} {}

    // Calls the function when the pause is over that a pacer has told: inside this call when there is none. Before its
    // time when the client is closed. It dies with the context.
    void after(std::chrono::nanoseconds pause, std::function<void()> then)
    {
        if (pause <= pause.zero() || ended_) {
            then();
            return;
        }
        const auto at = list_.insert(
            list_.end(),
            std::make_shared<delayed>(delayed{zk::timer{*strand_, pause}, std::move(then)}));
        (*at)->timer.async_wait([client = strand_.client(), this, at,
                                 of = std::weak_ptr{*at}](const boost::system::error_code&) {
            const auto alive = client.lock();
            if (const auto over = of.lock(); alive && over) {
                list_.erase(at);
                over->then();
            }
        });
    }
    // The client is closed: calls all of them, and later ones at once.
    void end()
    {
        ended_ = true;
        for (const auto& each : std::exchange(list_, {})) {
            each->then();
        }
    }
    // Destroys them.
    void discard() noexcept { const auto discarded = std::exchange(list_, {}); }

private:
    struct delayed {
        zk::timer timer;
        std::function<void()> then;
    };

    const client_strand& strand_;
    std::list<std::shared_ptr<delayed>> list_;
    bool ended_ = false;
};

} // namespace colock::detail
