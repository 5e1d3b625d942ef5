// What a service manager, such as systemd, wants to hear: the protocol of sd_notify(3), without its library.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
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
    void ready(std::string_view text) const;
    void status(std::string_view text) const;
    void stopping() const;

    // Says often enough that this process is alive, and again that it is ready, when there was no room for that. Returns when
    // there is nobody.
    [[nodiscard]] boost::asio::awaitable<void> keep_telling() const;

private:
    // Waits for nobody: what finds the manager's queue full is dropped.
    void tell(std::string message) const;

    std::string address_; // as sockaddr_un::sun_path has it
    std::optional<std::chrono::microseconds> watchdog_;
    std::shared_ptr<bool> owes_ready_ = std::make_shared<bool>(false); // of all copies
};

} // namespace colock::cli
