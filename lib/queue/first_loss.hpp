// Why a lock was lost: the first reason that is seen stays.
#pragma once

#include <colock/error.hpp>
#include <colock/log.hpp>

#include <atomic>
#include <string>

namespace colock::detail {

// Any thread.
class first_loss {
public:
    // Returns whether this is the first reason. The first one stays.
    bool note(errc why) noexcept
    {
        int none = 0;
        return why_.compare_exchange_strong(none, static_cast<int>(why));
    }

    // For people, after the name of what is lost.
    [[nodiscard]] std::string text() const { return ": lost: " + why().message(); }
    // That the user closed the client is no surprise.
    [[nodiscard]] log_level severity() const noexcept
    {
        return why() == errc::client_closed ? log_level::info : log_level::warning;
    }

    // Empty while there is none.
    [[nodiscard]] error_code why() const noexcept
    {
        const int why = why_;
        return why != 0 ? error_code{static_cast<errc>(why)} : error_code{};
    }

private:
    std::atomic<int> why_{0}; // an errc
};

} // namespace colock::detail
