#include "look/transactions.hpp"

#include "connect/duration.hpp"
#include "lib/names/node_owner.hpp"
#include "protocol/jute.hpp"
#include "protocol/types.hpp"

#include <algorithm>

namespace colock::cli {

namespace {

namespace type = testing::type;
using testing::jute_reader;

// Of transactions alone.
constexpr std::int32_t delete_container = 20;
constexpr std::size_t least_entry_of_list = 12;
constexpr std::size_t header_size = 16;
constexpr std::int32_t snapshot_magic = 0x5a4b534e; // "ZKSN"

// The number that a server checks its files with.
std::int64_t adler32(std::string_view bytes)
{
    constexpr std::uint32_t prime = 65521;
    constexpr std::size_t most_without_overflow = 5552;
    std::uint32_t a = 1, b = 0;
    while (!bytes.empty()) {
        const auto part = bytes.substr(0, most_without_overflow);
        for (const char c : part) {
            a += static_cast<unsigned char>(c);
            b += a;
        }
        a %= prime;
        b %= prime;
        bytes.remove_prefix(part.size());
    }
    return std::int64_t{b << 16 | a};
}

std::int64_t time_in(std::int64_t milliseconds)
{
    return std::clamp(milliseconds, std::int64_t{0}, latest_time);
}

void skip_list(jute_reader& in)
{
    for (auto more = in.count(least_entry_of_list); more != 0 && in.is_good(); --more) {
        in.integer();
        in.text();
        in.text();
    }
}

void require(bool holds, const char* fault)
{
    if (!holds) {
        throw unreadable{fault};
    }
}

void require_header(jute_reader& in, std::int32_t magic, const char* otherwise)
{
    constexpr std::int32_t version = 2;
    require(in.integer() == magic, otherwise);
    require(in.integer() == version, "has a format that this program does not know");
    in.longer(); // database
    require(in.is_good(), "ends in its header");
}

// False when the transaction is a failure, which changes nothing.
bool read_change(std::int32_t what, jute_reader& in, std::vector<node_change>& into)
{
    using kind = node_change::kind;
    switch (what) {
    case type::create:
    case type::create2:
    case type::create_container:
    case type::create_ttl: {
        node_change c;
        c.path = in.text();
        c.data = in.text();
        skip_list(in);
        c.ephemeral = (what == type::create || what == type::create2) && in.boolean();
        into.push_back(std::move(c));
        return true;
    }
    case type::remove:
    case delete_container:
        into.push_back({.what = what == type::remove ? kind::deleted : kind::removed_by_servers,
                        .path = in.text()});
        return true;
    case type::multi: {
        constexpr std::size_t least_step = 8;
        bool is_done = true;
        for (auto more = in.count(least_step); more != 0 && in.is_good(); --more) {
            const auto of = in.integer();
            const auto bytes = in.text();
            if (of == type::multi) { // there is none in another one
                return false;
            }
            jute_reader step{bytes};
            is_done = read_change(of, step, into) && is_done;
            require(step.is_good(), "has a transaction that makes no sense");
        }
        return is_done;
    }
    case type::error: return false;
    default: return true; // of data, of lists, of sessions
    }
}

// All that the stream still has, but at most so many.
std::string bytes_of(std::istream& from, std::size_t most = SIZE_MAX)
{
    std::string bytes;
    constexpr std::size_t piece = 1 << 20; // how many there are is a file's word
    while (from && bytes.size() != most) {
        const auto size = bytes.size();
        bytes.resize(size + std::min(piece, most - size));
        from.read(bytes.data() + size, static_cast<std::streamsize>(bytes.size() - size));
        bytes.resize(size + static_cast<std::size_t>(from.gcount()));
    }
    require(from || from.eof(), "cannot be read");
    return bytes;
}

transaction transaction_in(std::string_view bytes)
{
    jute_reader in{bytes};
    transaction t;
    t.session = in.longer();
    t.by_servers = in.integer() == 0; // the number that a client gives its request
    t.zxid = in.longer();
    t.time = time_in(in.longer());
    const auto what = in.integer();
    if (what == type::close) {
        t.ends_session = true;
    } else if (!read_change(what, in, t.changes)) {
        t.changes.clear();
    }
    require(in.is_good(), "has a transaction that makes no sense");
    return t;
}

} // namespace

log_reader::log_reader(std::istream& from) : from_{from}
{
    constexpr std::int32_t magic = 0x5a4b4c47; // "ZKLG"
    const auto header = bytes_of(from_, header_size);
    jute_reader in{header};
    require_header(in, magic, "is no transaction log");
}

std::optional<transaction> log_reader::next()
{
    constexpr std::size_t checksum_and_size = 12;
    const auto before = bytes_of(from_, checksum_and_size);
    jute_reader in{before};
    const auto checksum = in.longer();
    const auto size = in.integer();
    if (!in.is_good() ||
        size == 0) { // after the last entry there are zeros, which a server writes in advance
        return std::nullopt;
    }
    require(size > 0, "has an entry of no size");
    const auto length = static_cast<std::size_t>(size);
    const auto bytes = bytes_of(from_, length + 1);
    constexpr char end_of_entry = 'B';
    if (bytes.size() <= length || bytes.back() != end_of_entry) {
        return std::nullopt;
    }
    const auto entry = std::string_view{bytes}.substr(0, length);
    require(checksum == adler32(entry), "has an entry with a wrong checksum");
    return transaction_in(entry);
}

std::string bytes_of_snapshot(std::istream& from)
{
    auto bytes = bytes_of(from, header_size);
    jute_reader in{bytes};
    require_header(in, snapshot_magic, "is no snapshot");
    return bytes += bytes_of(from);
}

snapshot read_snapshot(std::string_view bytes, std::int64_t since, std::int64_t zxid,
                       const std::function<bool(std::string_view)>& is_wanted)
{
    constexpr std::size_t session_size = 12;
    jute_reader in{bytes};
    require_header(in, snapshot_magic, "is no snapshot");
    for (auto sessions = in.count(session_size); sessions != 0; --sessions) {
        in.longer();
        in.integer();
    }
    constexpr std::size_t least_list = 12;
    for (auto lists = in.count(least_list); lists != 0 && in.is_good(); --lists) {
        in.longer();
        skip_list(in);
    }
    snapshot found;
    std::int64_t last_with_time = 0;
    const auto note = [&](std::int64_t change, std::int64_t time) {
        if (change > zxid) {
            return;
        }
        found.last_change = std::max(found.last_change, change);
        if (change >= last_with_time) {
            last_with_time = change;
            found.newest = time;
        }
        if (change > since) {
            found.oldest_news = std::min(found.oldest_news.value_or(time), time);
        }
    };
    for (;;) {
        snapshot::node n;
        n.path = in.text();
        require(in.is_good(), "is not whole");
        if (n.path == "/") { // the root is ""
            break;
        }
        n.data = in.text();
        in.longer(); // access control list
        n.zxid = in.longer();
        const auto changed = in.longer();
        n.created = time_in(in.longer());
        note(n.zxid, n.created);
        note(changed, time_in(in.longer()));
        for (int version = 0; version != 3; ++version) {
            in.integer();
        }
        const auto owner = in.longer();
        n.session = colock::detail::is_of_session(owner) ? owner : 0;
        if (const auto of_children = in.longer(); of_children <= zxid) { // it shows no time
            found.last_change = std::max(found.last_change, of_children);
        }
        require(in.is_good(), "is not whole");
        if (n.zxid <= zxid && is_wanted(n.path)) {
            found.nodes.push_back(std::move(n));
        }
    }
    const auto before = bytes.substr(0, bytes.size() - in.left());
    const auto checksum = in.longer();
    require(in.is_good(), "is not whole");
    require(checksum == adler32(before), "has a wrong checksum");
    return found;
}

} // namespace colock::cli
