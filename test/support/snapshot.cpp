#include "snapshot.hpp"

#include "jute.hpp"
#include "zookeeper_server.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

namespace colock::test {

namespace {

namespace fs = std::filesystem;

// The snapshot with the last transaction, whose number is in its name.
fs::path newest_snapshot(std::string const& data_directory)
{
    fs::path newest;
    unsigned long long last = 0;
    for (auto const& file : fs::directory_iterator(data_directory + "/version-2")) {
        auto const name = file.path().filename().string();
        std::string const prefix = "snapshot.";
        if (name.rfind(prefix, 0) != 0)
            continue;
        auto const zxid = std::stoull(name.substr(prefix.size()), nullptr, 16);
        if (newest.empty() || zxid >= last) {
            newest = file.path();
            last = zxid;
        }
    }
    if (newest.empty())
        throw std::runtime_error("set_sequence_counters: the server has written no snapshot");
    return newest;
}

std::uint32_t adler32(std::string_view bytes)
{
    std::uint32_t a = 1, b = 0;
    for (char const c : bytes) {
        a = (a + static_cast<unsigned char>(c)) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

// Of what precedes the checksum in a snapshot.
constexpr std::size_t checksum_size = 8;

// FileSnap.serialize: a header, the sessions, the access control lists, the nodes, "/" behind the last one; then a
// checksum of all that, and "/" again. Later versions append a digest of the nodes and the last transaction, each with
// a checksum of the whole file. They also read snapshots that end behind the first checksum, as older versions write
// them. So what is appended is cut off: it would no longer be true.
void change_counters(std::string& snapshot, std::map<std::string, std::int32_t> counters)
{
    jute_reader in(snapshot);
    if (in.integer() != 0x5a4b534e) // "ZKSN"
        throw std::runtime_error("set_sequence_counters: this is no snapshot");
    in.integer(); // version
    in.longer();  // database
    for (auto sessions = in.integer(); sessions != 0; --sessions) {
        in.longer();
        in.integer();
    }
    for (auto lists = in.integer(); lists != 0; --lists) {
        in.longer();
        for (auto entries = in.integer(); entries > 0; --entries) {
            in.integer();
            in.text();
            in.text();
        }
    }
    for (;;) {
        std::string const path(in.text());
        if (path == "/")
            break;
        in.text();                // data
        in.longer();              // access control list
        in.skip(4 * sizeof(8LL)); // czxid, mzxid, ctime, mtime
        in.integer();             // version
        auto const at = snapshot.size() - in.left();
        in.integer();             // cversion: the creates, which are the counter
        in.integer();             // aversion
        in.skip(2 * sizeof(8LL)); // owner, pzxid
        if (auto const wanted = counters.find(path); wanted != counters.end()) {
            jute_writer value;
            snapshot.replace(at, 4, value.integer(wanted->second).bytes());
            counters.erase(wanted);
        }
    }
    if (!counters.empty())
        throw std::runtime_error("set_sequence_counters: there is no " + counters.begin()->first);
    auto const end = snapshot.size() - in.left();
    in.skip(checksum_size);
    if (in.text() != "/")
        throw std::runtime_error("set_sequence_counters: there is no checksum behind the nodes");
    snapshot.resize(snapshot.size() - in.left());
    jute_writer checksum;
    checksum.longer(adler32(std::string_view(snapshot).substr(0, end)));
    snapshot.replace(end, checksum_size, checksum.bytes());
}

} // namespace

void set_sequence_counters(zookeeper_server& server,
                           std::map<std::string, std::int32_t> const& counters)
{
    server.restart(); // it writes a snapshot when it starts
    server.kill();
    auto const file = newest_snapshot(server.directory());
    std::string bytes;
    {
        std::ifstream in(file, std::ios::binary);
        bytes.assign(std::istreambuf_iterator<char>(in), {});
    }
    change_counters(bytes, counters);
    {
        std::ofstream out(file, std::ios::binary | std::ios::trunc);
        out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        if (!out.flush())
            throw std::runtime_error("set_sequence_counters: cannot write " + file.string());
    }
    server.start();
}

} // namespace colock::test
