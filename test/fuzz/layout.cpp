// Any layout that is accepted reads back the names that it writes, and any children are read without harm.
#include "input.hpp"
#include "names/contender_name.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

using namespace colock;
using namespace colock::protocol;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in{data, size};
    const layout l{.prefix = in.text(),
                   .marker = in.text(),
                   .shared_marker = in.text(),
                   .separator = in.text(),
                   .dashed_guid = in.flag(),
                   .required_prefix = in.text()};
    const guid g{static_cast<std::uint64_t>(in.number()), static_cast<std::uint64_t>(in.number())};
    // A counter that has run over begins at the lowest number. It would take a thousand million more nodes until its
    // numbers have fewer digits.
    constexpr std::int32_t fewer_digits = -1'000'000'000;
    auto number = static_cast<std::int32_t>(in.number());
    if (number < 0 && number > fewer_digits) {
        number = -number;
    }
    std::vector<std::string> children;
    if (layout_fault(l).empty()) {
        char digits[32]; // as the server writes them
        std::snprintf(digits, sizeof digits, "%010d", number);
        for (const bool shared : {false, true}) {
            if (shared && l.shared_marker.empty()) {
                continue;
            }
            const auto name = name_prefix(l, g, shared) + digits;
            fuzz::require(name.find('/') == name.npos);
            fuzz::require(number_of(l, name) == number);
            fuzz::require(is_shared(l, name) == shared);
            children.push_back(name);
        }
    }
    const auto own = children.size();
    while (!in.at_end()) {
        children.push_back(in.text());
    }
    const auto queue = contenders(l, children);
    fuzz::require(queue.size() >= own && queue.size() <= children.size());
    fuzz::require(std::ranges::is_sorted(queue, {}, &entry::number));
    static_cast<void>(is_of_another_kind(l, children, number));
    return 0;
}
