// What `colock history` makes of a server's files: whole ones, hostile ones, and such as have gaps. No server.
#include <support/temporary_directory.hpp>

#include "look/past.hpp"
#include "look/server_files.hpp"
#include "look/transactions.hpp"
#include "program/failure.hpp"
#include "server_bytes.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace colock::test::look_past_test {

namespace type = colock::testing::type;
using namespace colock::cli;

namespace {

constexpr std::int64_t a = 0xa, b = 0xb, c = 0xc; // sessions
constexpr std::int32_t container_removal = 20;
const std::string guid = "_c_01234567-0123-4123-8123-0123456789ab-";

std::string mutex_node(int number)
{
    return "/l/" + guid + "lock-000000000" + std::to_string(number);
}
std::string lock_node(bool shared, int number)
{
    return "/l/" + guid + (shared ? "__READ__" : "__WRIT__") + "000000000" + std::to_string(number);
}

past told_by(const std::vector<log_entry>& entries)
{
    recorder r{"/l"};
    const auto bytes = log_of(entries);
    std::istringstream in{bytes};
    log_reader log{in};
    while (const auto t = log.next()) {
        r.happened(*t);
    }
    return r.tell();
}

// "created-granted-gone how; waiters longest", a contender each; times in seconds.
std::string text_of(const past& p)
{
    static constexpr const char* words[] = {"there",   "released", "closed", "expired",
                                            "deleted", "removed",  "unseen"};
    std::string text;
    for (const auto& each : p.contenders) {
        text += text.empty() ? "" : " | ";
        text +=
            std::to_string(each.created / 1000) + '-' +
            (each.granted ? (each.granted_before ? "<" : "") + std::to_string(*each.granted / 1000)
                          : "") +
            '-' + (each.how == departure::none ? "" : std::to_string(each.gone / 1000)) + ' ' +
            words[static_cast<int>(each.how)];
        if (each.waiters != 0) {
            text += "; " + std::to_string(each.waiters) + ' ' +
                    std::to_string(each.longest_wait / 1000);
        }
    }
    return text;
}

const std::vector<log_entry> turns{
    {1, a, type::create2, created(mutex_node(1), true, "host=h pid=7 program=p") + digest()},
    {2, b, type::create2, created(mutex_node(2), true, "a secret") + digest()},
    {3, c, type::create2, created(mutex_node(3))},
    {5, a, type::remove, deleted(mutex_node(1))},
    {6, c, type::remove, deleted(mutex_node(3))},
    {9, b, type::close, paths({mutex_node(2)}) + digest(), 0},
};

struct directory : temporary_directory {
    void write(const std::string& name, const std::string& bytes) const
    {
        write_file(path() + '/' + name, bytes);
    }
    [[nodiscard]] told_by_files read() const { return read_past({path()}, "/l"); }
};

} // namespace

BOOST_AUTO_TEST_SUITE(look_past)

BOOST_AUTO_TEST_CASE(turns_of_a_mutex)
{
    const auto p = told_by(turns);
    BOOST_TEST(text_of(p) == "1-1-5 released; 2 3 | 2-5-9 expired; 1 1 | 3--6 released");
    BOOST_TEST((p.what == &kinds::mutex && p.from == 1000 && p.to == 9000));
    BOOST_TEST(p.contenders[0].node.czxid == 1);
    BOOST_TEST(p.contenders[0].node.owner().host.value_or("") == "h");
    BOOST_TEST(p.contenders[1].node.data.empty()); // others' data are nobody's business
}

BOOST_AUTO_TEST_CASE(each_way_to_end)
{
    // Where the log lists no nodes, the session's own ones go.
    const auto end_of = [](log_entry end) {
        end.zxid = 2;
        return text_of(told_by({{1, a, type::create, created(mutex_node(1))}, end}));
    };
    BOOST_TEST(end_of({2, a, type::close, {}}) == "1-1-2 closed");
    BOOST_TEST(end_of({2, a, type::close, digest(), 0}) == "1-1-2 expired");
    BOOST_TEST(end_of({2, a, type::close, paths({mutex_node(1)})}) == "1-1-2 closed");
    BOOST_TEST(end_of({2, b, type::close, paths({})}) == "1-1- there");
    BOOST_TEST(end_of({2, b, type::remove, deleted(mutex_node(1))}) == "1-1-2 deleted");
    BOOST_TEST(end_of({2, 0, container_removal, deleted(mutex_node(1)), 0}) == "1-1-2 removed");
    BOOST_TEST(end_of({2, a, type::error, "\0\0\0\1"}) == "1-1- there");
    const step removal{type::remove, deleted(mutex_node(1))};
    BOOST_TEST(end_of({2, a, type::multi, several({removal})}) == "1-1-2 released");
    BOOST_TEST(end_of({2, a, type::multi, several({removal, {type::error, "\0\0\0\1"}})}) ==
               "1-1- there");
    BOOST_TEST(end_of({2, a, type::set, deleted(mutex_node(1))}) == "1-1- there");
    BOOST_TEST(end_of({2, a, 4711, "?"}) == "1-1- there"); // of a later version
}

BOOST_AUTO_TEST_CASE(a_clock_that_was_set_back)
{
    const auto p = told_by({{1, a, type::create, created(mutex_node(1)), 7, 100'000},
                            {2, b, type::create, created(mutex_node(2)), 7, 110'000},
                            {3, a, type::remove, deleted(mutex_node(1)), 7, 20'000}});
    BOOST_TEST((p.from == 100'000 && p.to == 110'000));
    BOOST_REQUIRE(p.contenders.size() == 2U);
    BOOST_TEST(p.picture_of(p.contenders[0]) == "|#" + std::string(23, ' ') + '|');
    BOOST_TEST(p.picture_of(p.contenders[1]) == '|' + std::string(23, ' ') + "#|");
}

BOOST_AUTO_TEST_CASE(readers_share_and_a_writer_steps_down)
{
    const auto p = told_by({
        {1, a, type::create, created(lock_node(true, 1))},
        {2, b, type::create, created(lock_node(true, 2))},
        {3, c, type::create, created(lock_node(false, 3))},
        {4, a, type::create, created(lock_node(true, 4))},
        {5, a, type::remove, deleted(lock_node(true, 1))},
        {6, b, type::remove, deleted(lock_node(true, 2))},
        {7, c, type::multi,
         several({{type::create, created(lock_node(true, 3))},
                  {type::remove, deleted(lock_node(false, 3))}})},
    });
    BOOST_TEST((p.what == &kinds::shared_mutex));
    BOOST_TEST(text_of(p) == "1-1-5 released; 2 2 | 2-2-6 released; 2 3 | 3-6-7 released; 1 1 | "
                             "4-7- there | 7-7- there");
}

BOOST_AUTO_TEST_CASE(permits_and_single_nodes)
{
    const auto lease = "/l/leases/" + guid + "lease-0000000001";
    const auto p = told_by({
        {1, a, type::create, created("/l/locks/" + guid + "lock-0000000001")},
        {3, a, type::multi, several({{type::create, created(lease)}})},
        {4, a, type::remove, deleted("/l/locks/" + guid + "lock-0000000001")},
        {8, a, type::remove, deleted(lease)},
    });
    BOOST_TEST((p.what == &kinds::semaphore));
    BOOST_TEST(text_of(p) == "1--4 released | 3-3-8 released");
    BOOST_TEST((p.contenders[0].has_permits && p.contenders[1].asked == 1000));

    const auto single = told_by({{1, a, type::create, created("/l")},
                                 {2, a, type::create, created("/else")},
                                 {4, b, type::remove, deleted("/l")},
                                 {5, b, type::create, created("/l")}});
    BOOST_TEST((single.what == &kinds::single_node_mutex));
    BOOST_TEST(text_of(single) == "1-1-4 deleted | 5-5- there");
    BOOST_TEST((told_by({{1, a, type::create, created("/l", false)}}).what == nullptr));
}

BOOST_AUTO_TEST_CASE(a_log_may_end_anywhere)
{
    const auto whole = log_of(turns);
    for (const auto& bytes : {whole + std::string(1000, '\0'), whole}) {
        for (std::size_t size = 0; size <= bytes.size(); ++size) {
            std::istringstream in{bytes.substr(0, size)};
            if (size < 16) {
                BOOST_CHECK_THROW(log_reader{in}, unreadable);
                continue;
            }
            log_reader log{in};
            std::size_t number = 0;
            while (const auto t = log.next()) {
                BOOST_REQUIRE(t->zxid == turns.at(number++).zxid);
            }
            BOOST_REQUIRE((number == turns.size()) == (size >= whole.size()));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_changed_byte_is_noticed)
{
    const auto whole = log_of(turns);
    for (std::size_t at = 16; at != whole.size(); ++at) {
        auto bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
        std::istringstream in{bytes};
        log_reader log{in};
        std::size_t number = 0;
        try {
            while (const auto t = log.next()) {
                BOOST_REQUIRE(t->zxid == turns.at(number++).zxid);
            }
        } catch (const unreadable&) {
        }
        BOOST_REQUIRE(number < turns.size());
    }
    const auto all = [](auto) { return true; };
    const auto saved = snapshot_of({{"", 0}, {mutex_node(1), 1, a}});
    BOOST_TEST(read_snapshot(saved, 0, 9, all).nodes.size() == 2U);
    constexpr std::size_t end = 5; // "/", which says that there was a checksum
    for (std::size_t at = 0; at != saved.size() - end; ++at) {
        auto bytes = saved;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
        BOOST_CHECK_THROW((void)read_snapshot(bytes, 0, 9, all), unreadable);
        BOOST_CHECK_THROW((void)read_snapshot(saved.substr(0, at), 0, 9, all), unreadable);
    }
}

BOOST_AUTO_TEST_CASE(lengths_that_make_no_sense)
{
    for (const std::int32_t length : {-2, INT32_MIN, INT32_MAX, 1 << 30}) {
        std::string record;
        jute_writer{record}.integer(length);
        for (const auto what : {type::create, type::remove, type::multi}) {
            const auto bytes = log_of({{1, a, what, record}});
            std::istringstream in{bytes};
            log_reader log{in};
            BOOST_CHECK_THROW((void)log.next(), unreadable);
        }
        BOOST_TEST(text_of(told_by({{1, a, type::create, created(mutex_node(1))},
                                    {2, a, type::close, record}})) == "1-1-2 closed");
        auto bytes = header_of("ZKLG");
        jute_writer{bytes}.longer(0).integer(length);
        std::istringstream in{bytes};
        log_reader log{in};
        if (length < 0) {
            BOOST_CHECK_THROW((void)log.next(), unreadable);
        } else {
            BOOST_TEST(!log.next());
        }
        bytes = header_of("ZKSN");
        jute_writer{bytes}.integer(length);
        BOOST_CHECK_THROW((void)read_snapshot(bytes, 0, 0, [](auto) { return true; }), unreadable);
    }
    const auto deep = [](auto self, int depth) -> std::string {
        return several({{type::multi, depth == 0 ? std::string{} : self(self, depth - 1)}});
    };
    BOOST_TEST(told_by({{1, a, type::multi, deep(deep, 2000)}}).contenders.empty());
}

BOOST_AUTO_TEST_CASE(what_is_no_snapshot_is_not_read)
{
    std::istringstream other{header_of("ZKLG") + std::string(1000, 'x')};
    BOOST_CHECK_THROW((void)bytes_of_snapshot(other), unreadable);
    BOOST_TEST(other.tellg() == 16);
    const auto saved = snapshot_of({{"", 0}});
    std::istringstream right{saved};
    BOOST_TEST(bytes_of_snapshot(right) == saved);
}

BOOST_AUTO_TEST_CASE(files_in_their_order)
{
    const directory d;
    d.write("snapshot.0", snapshot_of({{"", 0}}));
    d.write("log.1", log_of({turns.begin(), turns.begin() + 1}) + std::string(100, '\0'));
    d.write("log.2", log_of({{1, a, type::create, created(mutex_node(1))},
                             {2, b, type::create, created(mutex_node(2))},
                             {3, a, type::remove, deleted(mutex_node(1))}}));
    d.write("log.x", "?");
    d.write("snapshot.3.gz", "?");
    BOOST_REQUIRE(::mkfifo((d.path() + "/log.4").c_str(), 0600) == 0);
    const auto found = d.read();
    BOOST_TEST(text_of(found.told) == "1-1-3 released; 1 1 | 2-3- there");
    BOOST_TEST(found.told.gaps.empty());
    BOOST_REQUIRE(found.notes.size() == 1U);
    BOOST_TEST(found.notes[0] == "snapshot.3.gz is compressed: unpack it by gunzip");
}

BOOST_AUTO_TEST_CASE(gaps_are_told)
{
    const directory d;
    // The history begins with the oldest snapshot; its holder has held the lock for nobody knows how long.
    d.write("log.1", log_of({{5, a, type::remove, deleted("/else")},
                             {6, b, type::create, created(mutex_node(2))}}));
    d.write("snapshot.5", snapshot_of({{"", 0}, {mutex_node(1), 3, a}, {mutex_node(7), 6, c}}));
    // 7 to 9 are missing.
    d.write("snapshot.9",
            snapshot_of({{"", 0, 0, {}, 9}, {mutex_node(2), 6, b}, {mutex_node(3), 8, c}}));
    d.write("log.a", log_of({{10, b, type::remove, deleted(mutex_node(2))}}));
    // 11 is missing, and nothing tells of it.
    d.write("log.c", log_of({{12, b, type::create, created(mutex_node(4))}}));
    const auto found = d.read();
    BOOST_TEST(text_of(found.told) == "3-<3-8 unseen; 1 2 | 6-<8-10 released; 1 2 | 8-10- there");
    BOOST_TEST(found.told.from == 6000);
    BOOST_TEST(found.told.to == 10000);
    BOOST_TEST(
        (found.told.gaps == std::vector{std::pair<std::int64_t, std::int64_t>{6000, 10000}}));

    // A damaged snapshot is one of which an earlier one takes the place.
    d.write("snapshot.9", snapshot_of({{"", 0}}).substr(0, 60));
    const auto less = d.read();
    BOOST_TEST(text_of(less.told) == "3-<3- there; 1 0 | 6-- there");
    BOOST_REQUIRE(less.notes.size() == 2U);
    BOOST_TEST(less.notes[0] == "snapshot.9 is not whole");
    BOOST_TEST(less.notes[1].starts_with("log.a begins after"));
}

// A leader that is cut off logs what is never decided. Then the others send it a snapshot, since its log does not fit theirs.
BOOST_AUTO_TEST_CASE(what_was_never_decided_is_taken_back)
{
    const directory d;
    constexpr std::int64_t next = std::int64_t{1} << 32; // the epoch of the next leader
    d.write("snapshot.0", snapshot_of({{"", 0}}));
    d.write("log.1", log_of({{1, a, type::create, created(mutex_node(1))},
                             {2, b, type::create, created(mutex_node(2))},
                             {3, c, type::create, created(mutex_node(3))},
                             // Of these the others never heard.
                             {4, a, type::close, {}, 0, 14'000},
                             {5, c, type::close, {}, 0, 15'000},
                             {6, a, type::create, created(mutex_node(4)), 7, 16'000}}));
    const auto kept = [](int number) {
        return saved_node{mutex_node(number), number, number == 1 ? a : number == 2 ? b : c};
    };
    auto late = saved_node{"/else", next + 2};
    late.time = 8000;
    d.write("snapshot.100000003", snapshot_of({{"", 0, 0, {}, next + 3}, kept(1), kept(2), late}));
    d.write("log.100000004",
            log_of({{next + 4, a, type::remove, deleted(mutex_node(1)), 7, 10'000}}));
    const auto found = d.read();
    BOOST_TEST(text_of(found.told) == "1-1-10 released; 2 8 | 2-10- there | 3--8 unseen");
    BOOST_TEST(
        (found.told.gaps == std::vector{std::pair<std::int64_t, std::int64_t>{3000, 10'000}}));
    BOOST_TEST(found.told.to == 10'000);

    // Nor where no node shows what was decided in their place.
    d.write("snapshot.100000003", snapshot_of({{"", 0}, kept(1), kept(2), kept(3)}));
    BOOST_TEST(text_of(d.read().told) == "1-1-10 released; 2 8 | 2-10- there; 1 0 | 3-- there");
}

BOOST_AUTO_TEST_CASE(an_epoch_begins_and_nothing_is_missing)
{
    const directory d;
    constexpr std::int64_t epoch = std::int64_t{1} << 32;
    d.write("snapshot.0", snapshot_of({{"", 0}}));
    d.write("log.100000001", log_of({{epoch + 1, a, type::create, created(mutex_node(1))}}));
    d.write("snapshot.200000000", snapshot_of({{"", 0, 0, {}, epoch + 1}}));
    d.write("log.200000001", log_of({{2 * epoch + 1, a, type::remove, deleted(mutex_node(1))}}));
    const auto found = d.read();
    BOOST_TEST(found.told.gaps.empty());
    BOOST_TEST(found.told.contenders.size() == 1U);
    BOOST_TEST((found.told.contenders[0].how == departure::released));
}

BOOST_AUTO_TEST_CASE(where_nothing_can_be_told)
{
    const auto refusal = [](const std::function<void()>& run) {
        try {
            run();
        } catch (const failure& f) {
            BOOST_TEST(f.status() == usage);
            return std::string{f.what()};
        }
        return std::string{};
    };
    const directory d;
    BOOST_TEST(refusal([&] { (void)d.read(); }).find("has no transaction logs") !=
               std::string::npos);
    BOOST_TEST(refusal([&] { (void)read_past({d.path() + "/none"}, "/l"); }).find("cannot list") ==
               0U);
    d.write("log.5", log_of({{5, a, type::create, created(mutex_node(1))}}));
    d.write("snapshot.4.snappy", "?");
    const auto said = refusal([&] { (void)d.read(); });
    BOOST_TEST(said.find("no snapshot that can be read; snapshot.4.snappy is compressed") !=
                   std::string::npos,
               said);
    d.write("log.1", log_of({{1, a, type::create, created(mutex_node(1))}}));
    BOOST_TEST(text_of(d.read().told) == "1-1- there"); // nothing was before it
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::look_past_test
