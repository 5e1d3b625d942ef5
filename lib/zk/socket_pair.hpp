// A pair of connected sockets, of which one end is put where somebody else reads and writes.
#pragma once

#include <cstddef>
#include <string_view>

namespace colock::zk {

class socket_pair {
public:
    socket_pair() noexcept = default;
    socket_pair(const socket_pair&) = delete;
    socket_pair& operator=(const socket_pair&) = delete;
    ~socket_pair();

    // Puts the other end at an open descriptor, in the place of what lies there. False when there are no descriptors
    // left; nothing has changed then. Unless it is `writable`, what is written there finds no room.
    [[nodiscard]] bool place(int descriptor, bool writable) noexcept;

    // Takes off `bytes` what can be read there now. False when that is nothing.
    [[nodiscard]] bool give(std::string_view& bytes) noexcept;
    // What was written there, and is taken away here: the number of bytes.
    [[nodiscard]] std::size_t take(char* into, std::size_t size) noexcept;

private:
    int here_ = -1;
};

} // namespace colock::zk
