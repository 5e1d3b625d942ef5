// Where processes wait for each other: what a latch and a barrier are made of.
#ifndef COLOCK_DETAIL_GATHERING_PLACE_HPP
#define COLOCK_DETAIL_GATHERING_PLACE_HPP

#include <cstdint>
#include <memory>
#include <string>

namespace colock::detail {

class client_core;

enum class gathering_role : std::uint8_t {
    look,       // tells the phase
    wait,       // for the end of the first phase, without a part in it
    arrive,     // and wait
    count_down, // and go on
};

struct gathering_place {
    std::shared_ptr<client_core> core;
    std::string path;
    std::uint32_t count;
};

} // namespace colock::detail

#endif
