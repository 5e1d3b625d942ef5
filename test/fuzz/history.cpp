// Any bytes in a server's logs and snapshots: `colock history` reads them or refuses, and what it tells fits together.
#include "input.hpp"
#include "look/past.hpp"
#include "look/transactions.hpp"
#include "protocol/types.hpp"
#include "server_bytes.hpp"

#include <array>
#include <sstream>
#include <string>
#include <vector>

using namespace colock;
using namespace colock::cli;

namespace {

// A node of the lock, or any.
std::string path_in(fuzz::input& in)
{
    const auto number = "000000000" + std::to_string(in.byte() % 10);
    switch (in.byte() % 5) {
    case 0: return "/l/a-lock-" + number;
    case 1: return "/l/a-__READ__" + number;
    case 2: return "/l/leases/a-lease-" + number;
    case 3: return "/l";
    default: return in.text();
    }
}

std::string record_in(fuzz::input& in, std::int32_t what, int depth)
{
    namespace type = testing::type;
    if (in.byte() % 8 == 0) {
        return in.text();
    }
    switch (what) {
    case type::create: return test::created(path_in(in), in.flag(), in.text());
    case type::remove: return test::deleted(path_in(in));
    case type::close: return in.flag() ? test::digest() : test::paths({path_in(in)});
    case type::multi: {
        std::vector<test::step> steps;
        for (int more = in.byte() % 4; more != 0 && depth != 0; --more) {
            const auto of = in.flag() ? type::create : in.flag() ? type::remove : type::multi;
            steps.push_back({of, record_in(in, of, depth - 1)});
        }
        return test::several(steps);
    }
    default: return in.text();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    namespace type = testing::type;
    fuzz::input in{data, size};
    recorder r{"/l"};
    const auto is_wanted = [&](auto path) { return r.is_wanted(path); };
    try {
        if (in.flag()) { // the checksum fits
            std::string bytes{in.rest()};
            test::jute_writer{bytes}.longer(test::adler32_of(bytes));
            r.state(read_snapshot(bytes, 500, 1000, is_wanted));
            return 0;
        }
        std::vector<test::saved_node> saved;
        for (int more = in.byte() % 4; more != 0; --more) {
            saved.push_back({path_in(in), in.byte(), in.byte() % 3, in.text()});
        }
        r.state(read_snapshot(test::snapshot_of(saved), 50, 100, is_wanted));
        constexpr std::array types{type::create, type::remove, type::close, type::multi, 4711};
        std::vector<test::log_entry> entries;
        while (!in.at_end()) {
            const auto what = types[in.byte() % types.size()];
            entries.push_back({in.byte(), in.byte() % 3, what, record_in(in, what, 3),
                               in.flag() ? 1 : 0, in.byte() * 1000});
        }
        std::istringstream bytes{test::log_of(entries)};
        log_reader log{bytes};
        while (const auto t = log.next()) {
            r.happened(*t);
        }
    } catch (const unreadable&) {
    }
    const auto told = r.tell();
    fuzz::require(told.what != nullptr || told.contenders.empty());
    fuzz::require(told.from <= told.to);
    for (const auto& c : told.contenders) {
        fuzz::require(told.picture_of(c).size() == 26);
        fuzz::require(c.node.data.empty() || c.node.owner().host.has_value());
        fuzz::require(c.longest_wait >= 0 && (c.waiters == 0 || c.granted));
    }
    return 0;
}
