// What clients and servers say to each other: ZooKeeper's protocol as data.
#pragma once

#include "operation.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace colock::simulated {

// ---- from the client. Paths are whole: the client's end puts the chroot before them.

struct connect_request {
    session_identity session; // id 0: a new one
    std::chrono::milliseconds timeout{};
    std::optional<std::string> subject = {}; // the name in the client's certificate
};
// Who a client says that it is.
struct claim {
    std::string scheme = {};
    std::string secret = {};
};
struct auth_request {
    claim credential;
};
struct request {
    std::int32_t number = 0; // xid
    operation call;
};
struct ping_request {};
struct close_request {};

// ---- from the server

struct connect_reply {
    session_identity session; // id 0: there is no such session any more
    std::chrono::milliseconds timeout{};
};
struct auth_reply {
    status error;
};
struct reply {
    std::int32_t number = 0;
    std::int64_t transaction = 0; // zxid: the last one that the server has carried out
    response body;
};
struct event {
    colock::watch_event what;
    std::int64_t transaction = -1; // zxid: that of the change; unknown when it was missed
};
struct ping_reply {};
struct close_reply {};

// ---- between servers; defined by the ensemble
struct peer_message;

using message = std::variant<connect_request, auth_request, request, ping_request, close_request,
                             connect_reply, auth_reply, reply, event, ping_reply, close_reply,
                             std::shared_ptr<const peer_message>>;

} // namespace colock::simulated
