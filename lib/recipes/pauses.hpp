// The pauses before what is repeated.
#pragma once

#include "session/core.hpp"
#include "session/pacer.hpp"
#include "zk/entropy.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

namespace colock::detail {

// On the strand. Both functions call `then` as client_core::after() does.
class pauses {
public:
    void after_refusal(client_core& core, std::function<void()> then)
    {
        core.after(pace().refused(now()), std::move(then));
    }
    void after_event(client_core& core, std::function<void()> then)
    {
        core.after(pace().fired(now()), std::move(then));
    }

private:
    [[nodiscard]] static std::chrono::nanoseconds now()
    {
        return std::chrono::steady_clock::now().time_since_epoch();
    }
    [[nodiscard]] protocol::pacer& pace()
    {
        return pace_ ? *pace_ : pace_.emplace(zk::random_seed());
    }

    std::optional<protocol::pacer> pace_; // since the first repetition
};

} // namespace colock::detail
