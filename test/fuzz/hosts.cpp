// Any text as `client_options::hosts`.
#include "zk/hosts.hpp"

#include "input.hpp"

#include <algorithm>
#include <string>

using namespace colock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in{data, size};
    const auto parsed = zk::parse_hosts(in.rest());
    const auto is_plain = [](const std::string& text) {
        return std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
    };
    if (parsed.error) {
        fuzz::require(!parsed.detail.empty() && is_plain(parsed.detail));
        return 0;
    }
    fuzz::require(!parsed.hosts.empty());
    std::string list;
    for (const auto& h : parsed.hosts) {
        fuzz::require(!h.name.empty() && is_plain(h.name) && h.name.find('/') == h.name.npos);
        const bool is_six = h.name.find(':') != h.name.npos;
        fuzz::require(!is_six || h.literal);
        list += (list.empty() ? "" : ",") + (is_six ? '[' + h.name + ']' : h.name) + ':' + h.port;
    }
    // What was understood can be written down, and is understood again.
    const auto again = zk::parse_hosts(list);
    fuzz::require(!again.error && again.hosts.size() == parsed.hosts.size());
    for (std::size_t i = 0; i != again.hosts.size(); ++i) {
        fuzz::require(again.hosts[i].name == parsed.hosts[i].name &&
                      again.hosts[i].port == parsed.hosts[i].port &&
                      again.hosts[i].literal == parsed.hosts[i].literal);
    }
    return 0;
}
