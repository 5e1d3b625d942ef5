// Any data of a node: of an owner, and of a lock's directory.
#include <colock/queue_view.hpp>

#include "input.hpp"
#include "protocol/directory/data.hpp"

#include <string>

using namespace colock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in{data, size};
    const auto l = in.flag() ? curator_layout() : curator_shared_layout();
    const auto number = in.number() & 0x7fff'ffff;
    const auto text = in.rest();

    const auto owner = parse_owner(text);
    fuzz::require(owner.text == text);
    fuzz::require(owner.host.has_value() == owner.pid.has_value() &&
                  owner.host.has_value() == owner.program.has_value());
    fuzz::require(!owner.under || (owner.host && owner.under->starts_with('/')));
    if (owner.host) {
        auto again = parse_owner("host=" + *owner.host + " pid=" + std::to_string(*owner.pid) +
                                 (owner.under ? " under=" + *owner.under : "") +
                                 " program=" + *owner.program);
        again.text = owner.text; // the number may have been written in another way
        fuzz::require(again == owner);
    }

    const auto mark = protocol::low_water_mark_in(l, text);
    fuzz::require(mark >= -1);
    if (mark != -1) {
        fuzz::require(protocol::is_signed(text));
    }
    fuzz::require(protocol::low_water_mark_in(l, protocol::data_with_low_water_mark(l, number)) ==
                  number);
    return 0;
}
