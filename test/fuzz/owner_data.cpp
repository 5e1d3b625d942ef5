// Any data of an owner's node.
#include <colock/queue_view.hpp>

#include "input.hpp"
#include "names/revocation.hpp"

#include <string>

using namespace colock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in{data, size};
    const auto text = in.rest();

    const auto owner = parse_owner(text);
    fuzz::require(owner.text == protocol::without_mark(text));
    fuzz::require(owner.host.has_value() == owner.pid.has_value() &&
                  owner.host.has_value() == owner.program.has_value());
    fuzz::require(!owner.under || (owner.host && owner.under->starts_with('/')));
    if (owner.host && !protocol::is_marked(*owner.program)) {
        auto again = parse_owner("host=" + *owner.host + " pid=" + std::to_string(*owner.pid) +
                                 (owner.under ? " under=" + *owner.under : "") +
                                 " program=" + *owner.program);
        again.text = owner.text; // the number may have been written in another way
        fuzz::require(again == owner);
    }
    return 0;
}
