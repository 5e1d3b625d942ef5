// Transaction logs and snapshots as a server writes them.
#ifndef COLOCK_TEST_CLI_SERVER_BYTES_HPP
#define COLOCK_TEST_CLI_SERVER_BYTES_HPP

#include "protocol/jute.hpp"
#include "protocol/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

using testing::jute_writer;

inline std::int64_t adler32_of(std::string_view bytes)
{
    std::uint32_t a = 1, b = 0;
    for (const char c : bytes) {
        a = (a + static_cast<unsigned char>(c)) % 65521;
        b = (b + a) % 65521;
    }
    return std::int64_t{b << 16 | a};
}

inline std::string header_of(std::string_view magic)
{
    std::string bytes{magic};
    jute_writer{bytes}.integer(2).longer(0);
    return bytes;
}

/// Records of transactions.
inline std::string created(std::string_view path, bool ephemeral = true, std::string_view data = {})
{
    std::string bytes;
    jute_writer{bytes}
        .text(path)
        .text(data)
        .count(1)
        .integer(31)
        .text("digest")
        .text("a:secret")
        .boolean(ephemeral)
        .integer(1);
    return bytes;
}
inline std::string deleted(std::string_view path)
{
    std::string bytes;
    jute_writer{bytes}.text(path);
    return bytes;
}
inline std::string paths(const std::vector<std::string>& all)
{
    std::string bytes;
    jute_writer out{bytes};
    out.count(all.size());
    for (const auto& each : all) {
        out.text(each);
    }
    return bytes;
}
struct step {
    std::int32_t type;
    std::string record;
};
inline std::string several(const std::vector<step>& steps)
{
    std::string bytes;
    jute_writer out{bytes};
    out.count(steps.size());
    for (const auto& s : steps) {
        out.integer(s.type).text(s.record);
    }
    return bytes;
}
inline std::string digest()
{
    std::string bytes;
    jute_writer{bytes}.integer(2).longer(0x1234567890);
    return bytes;
}

struct log_entry {
    std::int64_t zxid;
    std::int64_t session;
    std::int32_t type;
    std::string record;
    std::int32_t request = 7;
    std::optional<std::int64_t> time = {};
};

/// Its transactions have the time zxid * 1000, unless they say another one.
inline std::string log_of(const std::vector<log_entry>& entries)
{
    auto bytes = header_of("ZKLG");
    for (const auto& e : entries) {
        std::string entry;
        jute_writer{entry}
            .longer(e.session)
            .integer(e.request)
            .longer(e.zxid)
            .longer(e.time.value_or(e.zxid * 1000))
            .integer(e.type);
        entry += e.record;
        jute_writer{bytes}.longer(adler32_of(entry)).text(entry);
        bytes += 'B';
    }
    return bytes;
}

struct saved_node {
    std::string path;
    std::int64_t zxid = 0;
    std::int64_t session = 0;
    std::string data = {};
    std::int64_t changed = 0;              // its children
    std::optional<std::int64_t> time = {}; // or zxid * 1000
};

inline std::string snapshot_of(const std::vector<saved_node>& nodes)
{
    auto bytes = header_of("ZKSN");
    jute_writer out{bytes};
    out.count(1).longer(0x77).integer(4000);
    out.count(1).longer(1).count(1).integer(31).text("digest").text("a:secret");
    for (const auto& n : nodes) {
        out.text(n.path).text(n.data).longer(1);
        const auto time = n.time.value_or(n.zxid * 1000);
        out.longer(n.zxid).longer(n.zxid).longer(time).longer(time);
        out.integer(0).integer(0).integer(0).longer(n.session).longer(n.changed);
    }
    out.text("/");
    out.longer(adler32_of(bytes)).text("/");
    return bytes;
}

} // namespace colock::test

#endif
