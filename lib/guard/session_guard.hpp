// A session guard, but for its descriptors.
#pragma once

#include "guard/ending.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::guard {

namespace asio = boost::asio;

// In one thread. It has the sessions of its owner ended when `rules` say so.
class session_guard {
public:
    // `owner_lives`: what the kernel says of it now. One of the other two is called, once: `end` is to end these sessions;
    // `exit`: there is nothing to do.
    session_guard(const asio::any_io_executor& executor, bool needs_consent,
                  std::function<bool()> owner_lives, std::function<void(std::vector<ending>)> end,
                  std::function<void()> exit);

    // What the owner says. `tls_material` is overwritten. False: decode() does not understand it.
    [[nodiscard]] bool told(std::string_view message, std::string& tls_material);
    void channel_ended();
    void owner_died();
    void consented(bool yes);

private:
    void decide();

    const std::function<bool()> owner_lives_;
    const std::function<void(std::vector<ending>)> end_;
    const std::function<void()> exit_;
    asio::steady_timer timer_;
    rules rules_;
    std::map<std::uint64_t, std::pair<guarded_session, tls_material>> sessions_; // by client
};

} // namespace colock::guard
