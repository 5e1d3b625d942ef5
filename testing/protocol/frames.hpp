// What clients say to a ZooKeeper server, and what it answers: from bytes and to bytes.
#pragma once

#include "ensemble/wire.hpp"
#include "jute.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::testing {

// The numbers of requests, and those that stand for something else.
namespace xid {
inline constexpr std::int32_t event = -1;
inline constexpr std::int32_t ping = -2;
} // namespace xid

// The first frame of a connection.
struct hello {
    simulated::connect_request request;
    bool asks_for_reading = false; // newer clients do, and are told whether the server only reads
};
// Nothing when it is none.
[[nodiscard]] std::optional<hello> hello_in(std::string_view frame);

// What an answer has to look like.
struct answer_shape {
    std::int32_t number = 0;
    std::int32_t type = 0;
    std::vector<std::int32_t> steps = {}; // the types of those of a transaction
    std::string path = {};                // of a sync
};
struct asked {
    simulated::message what;
    answer_shape shape; // of a request
};
// Nothing when it makes no sense.
[[nodiscard]] std::optional<asked> asked_in(std::string_view frame);

// A frame each, without its length.
[[nodiscard]] std::string frame_of(const simulated::connect_reply& r, bool tells_reading);
[[nodiscard]] std::string frame_of(const simulated::event& e);
[[nodiscard]] std::string frame_of(const answer_shape& shape, const simulated::reply& r);
// Of those answers that are nothing but a header.
[[nodiscard]] std::string header_of(std::int32_t number, std::int64_t transaction,
                                    simulated::status error = {});

} // namespace colock::testing
