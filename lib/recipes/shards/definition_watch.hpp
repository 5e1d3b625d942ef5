// Whether the definition of the shards that others have written is the own one by now.
#pragma once

#include <colock/client.hpp>
#include <colock/watch.hpp>

#include "recipes/borrowed_client.hpp"
#include "recipes/pauses.hpp"
#include "recipes/shards/places.hpp"

#include <boost/asio/bind_executor.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace colock::detail {

// On the strand of its client. What is under way does not keep it alive: whoever has it waits for something else, too.
class definition_watch : public std::enable_shared_from_this<definition_watch> {
    template <class Result>
    auto while_alive(std::function<void(Result&&)> then)
    {
        const auto handler = [weak = weak_from_this(), then = std::move(then)](const error_code& ec,
                                                                               Result now) {
            if (const auto self = weak.lock(); self && !ec) {
                then(std::move(now));
            }
        };
        return asio::bind_executor(core_->strand(), handler);
    }

public:
    definition_watch(std::shared_ptr<client_core> core, std::shared_ptr<const shards_config> config,
                     std::function<void()> then)
        : core_{std::move(core)}, config_{std::move(config)}, then_{std::move(then)}
    {
    }

    void look()
    {
        using found = watched<get_result>;
        client_->async_watch(config_->paths.definition,
                             while_alive<found>([this](found&& now) { looked(std::move(now)); }));
    }
    [[nodiscard]] bool has_called() const noexcept { return !then_; }

private:
    void looked(watched<get_result>&& now)
    {
        if (now.value.data == definition_of(config_->options)) {
            std::exchange(then_, nullptr)();
            return;
        }
        changes_ = std::move(now.changes);
        changes_.async_wait(while_alive<watch_event>([this](watch_event&&) {
            pace_.after_event(*core_, [weak = weak_from_this()] {
                if (const auto self = weak.lock()) {
                    self->look();
                }
            });
        }));
    }

    const std::shared_ptr<client_core> core_;
    const std::shared_ptr<const shards_config> config_;
    borrowed_client client_{core_};
    std::function<void()> then_;
    watch changes_;
    pauses pace_;
};

} // namespace colock::detail
