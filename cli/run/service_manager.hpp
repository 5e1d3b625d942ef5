// What a service manager, such as systemd, wants to hear: the protocol of sd_notify(3), without its library.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace colock::cli {

// One that was not made by take() is nobody, and hears nothing.
class service_manager {
public:
    service_manager() = default;
    // The one that has started this process, if there is one. Takes its variables out of the environment: the command is
    // not the service.
    [[nodiscard]] static service_manager take();

    [[nodiscard]] explicit operator bool() const noexcept { return !address_.empty(); }

    // The service works, and what it does.
    void ready(std::string_view status) const;
    void status(std::string_view text) const;
    void stopping() const;

    // Says often enough that this process is alive; returns when nobody wants to hear that.
    [[nodiscard]] boost::asio::awaitable<void> feed_watchdog() const;

private:
    // Waits for nobody.
    void tell(std::string_view message) const;

    std::string address_; // as sockaddr_un::sun_path has it
    std::optional<std::chrono::microseconds> watchdog_;
};

} // namespace colock::cli
