// A session guard, but for its descriptors.
#pragma once

#include "guard/guarded_session.hpp"
#include "guard/rules.hpp"
#include "guard/tls_material.hpp"
#include "zk/strand.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace colock::guard {

namespace asio = boost::asio;

// In one thread. It ends the sessions of its owner when `rules` say so.
class session_guard {
public:
    // `owner_lives`: what the kernel says of it now. `exit`: there is nothing left to do.
    session_guard(asio::any_io_executor executor, bool needs_consent,
                  std::function<bool()> owner_lives, std::function<void()> exit);

    // What the owner says. `tls_material` is overwritten. False: it is of another version.
    [[nodiscard]] bool told(std::string_view message, std::string& tls_material);
    void channel_ended();
    void owner_died();
    void consented(bool yes);

private:
    struct known_session {
        guarded_session session;
        tls_material tls;
    };

    void decide();
    void end(known_session& known, rules::time until);
    void ended();

    const asio::any_io_executor executor_;
    const zk::strand_type strand_;
    const std::function<bool()> owner_lives_;
    const std::function<void()> exit_;
    asio::steady_timer timer_;
    rules rules_;
    std::map<std::uint64_t, known_session> sessions_; // by client
    std::size_t endings_ = 0;                         // under way
};

} // namespace colock::guard
