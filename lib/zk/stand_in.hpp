// Takes the place of a socket for the moment in which somebody else reads bytes that were taken out of it.
#pragma once

#include <string_view>

namespace colock::zk {

// At the socket's descriptor lies one end of a pair meanwhile. What is given here is read there. What is written
// there would be lost, so the end takes nothing: it is full, and a writer that does not block keeps its bytes.
class stand_in {
public:
    explicit stand_in(int descriptor) noexcept;
    stand_in(const stand_in&) = delete;
    stand_in& operator=(const stand_in&) = delete;
    ~stand_in();

    // False when there are no descriptors left; the socket lies where it lay.
    [[nodiscard]] bool valid() const noexcept { return here_ != -1; }

    // Takes off `bytes` what can be read there now. False when that is nothing.
    [[nodiscard]] bool give(std::string_view& bytes) noexcept;

    // Puts the socket back. Not when the reader has closed the descriptor.
    void restore() noexcept;

private:
    int descriptor_;
    int socket_ = -1; // a dup
    int here_ = -1;
};

} // namespace colock::zk
