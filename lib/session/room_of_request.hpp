// What a request does to the room of the session: the nodes that it makes and removes.
#pragma once

#include "session/ephemerals.hpp"
#include "session/request.hpp"

#include <cstddef>
#include <string>

namespace colock::detail {

// By how much the nodes of the session grow. A node that goes in the same transaction makes room for another one.
[[nodiscard]] std::size_t room_for(const request& r, const protocol::ephemerals& nodes);

// Of a lock, which makes room and takes none.
[[nodiscard]] bool is_release(const request& r);

// What is known of the nodes now that the request was answered.
void settle_room(const request& r, const zk::reply& reply, protocol::ephemerals& nodes);

// "the session's nodes take ... bytes".
[[nodiscard]] std::string room_words(const protocol::ephemerals& nodes);

} // namespace colock::detail
