// What a session guard knows of a client: all that it takes to resume the session, and end it.
#pragma once

#include <colock/client_options.hpp>

#include "zk/call.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::guard {

struct guarded_session {
    std::uint64_t client = 0;        // its number in the owning process
    zk::session_identity identity{}; // without an id: the client has no session to be ended
    std::chrono::milliseconds timeout{0};
    std::string hosts = {};
    std::vector<credential> credentials = {};
    bool last = false; // nothing more will be said of it: to be forgotten after its time-out
    bool tls = false;  // its material goes with the message, as a file in memory
    std::string tls_server_name = {};
    tls_verification tls_verify = tls_verification::full;

    guarded_session() = default;
    guarded_session(guarded_session&& other) = default;
    // It would free secrets as they are.
    guarded_session& operator=(guarded_session&& other) = delete;
    ~guarded_session(); // overwrites what is secret
};

// A message to the guard. It has secrets: whoever has it overwrites it.
[[nodiscard]] std::string encode(const guarded_session& s);
// Nothing, unless an encode() that says the same things (`version`) has made it.
[[nodiscard]] std::optional<guarded_session> decode(std::string_view message);

} // namespace colock::guard
