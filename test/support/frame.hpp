#ifndef COLOCK_TEST_SUPPORT_FRAME_HPP
#define COLOCK_TEST_SUPPORT_FRAME_HPP

#include "opcode.hpp"
#include "session_identity.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace colock::test {

/// Bytes of the length before each frame.
constexpr std::size_t frame_header = 4;

/// The size of the frame that begins here, header included; empty when this cannot be a frame of
/// ZooKeeper's protocol. Needs the header.
std::optional<std::size_t> frame_size(std::string_view bytes);

/// What the proxy knows of one frame.
struct frame {
    std::optional<opcode> kind; ///< Empty: not understood; to be forwarded and left alone.
    std::int32_t xid = 0;
    std::int32_t error = 0;   ///< Replies.
    std::string path;         ///< The request's, also for its reply; the event's.
    session_identity session; ///< Replies to connect; id 0 when there is none.
};

/// Tells what the frames of one connection are; remembers requests to name their replies.
class frame_parser {
public:
    /// `bytes` is a whole frame with its header, `opening` whether it is the connection's first in
    /// its direction.
    frame request(std::string_view bytes, bool opening);
    frame reply(std::string_view bytes, bool opening);

private:
    struct asked {
        opcode kind;
        std::string path;
    };
    std::unordered_map<std::int32_t, asked> unanswered_;
};

} // namespace colock::test

#endif
