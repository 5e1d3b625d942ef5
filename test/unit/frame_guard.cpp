// What the C client may see of a server, and what not: frames byte by byte, and what chance makes of them.
#include "zk/frame_guard.hpp"

#include <colock/log.hpp>

#include "../support/c_client_reader.hpp"
#include "../support/jute.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

using colock::check_op;
using colock::create_op;
using colock::remove_op;
using colock::set_op;
using colock::test::jute_writer;
using colock::test::read_as_the_c_client;
using colock::zk::call;
using colock::zk::frame_guard;
using colock::zk::opcode;

using finding = frame_guard::finding;

namespace {

constexpr std::int64_t session = 0x1234'5678'9abc;

std::string framed(const std::string& body)
{
    return jute_writer{}.text(body).bytes();
}

std::string handshake(std::int32_t timeout = 4000, std::int64_t id = session,
                      bool read_only = false, std::int32_t version = 0)
{
    return framed(jute_writer{}
                      .integer(version)
                      .integer(timeout)
                      .longer(id)
                      .text(std::string(16, 'p'))
                      .boolean(read_only)
                      .bytes());
}

std::string header(std::int32_t xid, std::int32_t error = 0)
{
    return jute_writer{}.integer(xid).longer(77).integer(error).bytes();
}

const std::string stat(68, '\0');

std::string text(const std::string& value)
{
    return jute_writer{}.text(value).bytes();
}

std::string number(std::int32_t value)
{
    return jute_writer{}.integer(value).bytes();
}

std::string result(std::int32_t type, std::int32_t error = 0, bool done = false)
{
    return jute_writer{}.integer(type).boolean(done).integer(error).bytes();
}

std::string end_of_results()
{
    return result(-1, -1, true);
}

std::string failed_result(std::int32_t error)
{
    return result(-1, error) + number(error);
}

std::string event(std::int32_t type, const std::string& path)
{
    return framed(header(-1) + number(type) + number(3) + text(path));
}

constexpr auto sequential = colock::create_mode::ephemeral_sequential;

const call transaction{
    .op = opcode::multi,
    .ops = {create_op("/a"), set_op("/a", "x"), check_op("/a"), remove_op("/a")}};

// A request, and what a server replies to it.
struct exchange {
    const char* name;
    call request;
    std::string body;
};

const std::vector<exchange> exchanges{
    {"create", {.op = opcode::create, .path = "/a"}, text("/a") + stat},
    {"numbered create",
     {.op = opcode::create, .path = "/a", .mode = sequential},
     text("/a0000000001") + stat},
    {"remove", {.op = opcode::remove, .path = "/a"}, ""},
    {"exists", {.op = opcode::exists, .path = "/a"}, stat},
    {"get", {.op = opcode::get, .path = "/a"}, text("data") + stat},
    {"get of no data", {.op = opcode::get, .path = "/a"}, text("") + stat},
    {"get of null", {.op = opcode::get, .path = "/a"}, number(-1) + stat},
    {"set", {.op = opcode::set, .path = "/a"}, stat},
    {"children",
     {.op = opcode::children, .path = "/a"},
     number(3) + text("x") + text("yy") + text("z") + stat},
    {"no children", {.op = opcode::children, .path = "/a"}, number(0) + stat},
    {"sync", {.op = opcode::sync, .path = "/"}, text("/")},
    {"multi", transaction,
     result(1) + text("/a") + result(5) + stat + result(13) + result(2) + end_of_results()},
    {"failed multi", transaction,
     failed_result(0) + failed_result(-101) + failed_result(-2) + failed_result(-2) +
         end_of_results()},
    {"get_acl",
     {.op = opcode::get_acl, .path = "/a"},
     number(2) + number(31) + text("digest") + text("me:hash") + number(1) + text("world") +
         text("anyone") + stat},
    {"get_acl of an open node", {.op = opcode::get_acl, .path = "/a"}, number(0) + stat},
    {"set_acl", {.op = opcode::set_acl, .path = "/a"}, ""},
    {"forget watches", {.op = opcode::forget_watches, .path = "/a"}, ""},
};

// A guard behind its handshake, for one frame.
frame_guard guard_for(const call* request = nullptr, std::size_t credentials = 0)
{
    frame_guard guard{0, credentials};
    BOOST_REQUIRE((guard.look(handshake()).found == finding::whole));
    if (request != nullptr) {
        guard.sent(*request);
    }
    return guard;
}

// Looks at a copy that ends where its memory ends, so that a sanitizer sees what is read behind it.
frame_guard::verdict look(frame_guard& guard, const std::string& bytes)
{
    const std::vector<char> exact(bytes.begin(), bytes.end());
    return guard.look({exact.data(), exact.size()});
}

std::string refusal(const std::string& bytes, const call* request = nullptr,
                    std::size_t credentials = 0)
{
    auto guard = guard_for(request, credentials);
    const auto verdict = look(guard, bytes);
    return verdict.found == finding::refused ? verdict.why : "";
}

} // namespace

BOOST_AUTO_TEST_SUITE(frame_guard_unit)

BOOST_AUTO_TEST_CASE(what_a_server_replies_passes_and_is_awaited_byte_by_byte)
{
    for (const auto& e : exchanges) {
        BOOST_TEST_CONTEXT(e.name)
        {
            auto guard = guard_for(&e.request);
            const auto frame = framed(header(5) + e.body);
            for (std::size_t size = 0; size != frame.size(); ++size) {
                const auto verdict = look(guard, frame.substr(0, size));
                BOOST_TEST((verdict.found == finding::partial));
                BOOST_TEST(verdict.size == (size < 4 ? 4 : frame.size()));
                BOOST_TEST(guard.outstanding() == 1u);
            }
            const auto verdict = look(guard, frame + "the next one");
            BOOST_TEST((verdict.found == finding::whole));
            BOOST_TEST(verdict.size == frame.size());
            BOOST_TEST(guard.outstanding() == 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_reply_that_is_cut_anywhere_is_refused)
{
    for (const auto& e : exchanges) {
        const auto body = header(5) + e.body;
        for (std::size_t size = 0; size != body.size(); ++size) {
            // Of the end of a transaction's results the C client reads all, too.
            BOOST_TEST(!refusal(framed(body.substr(0, size)), &e.request).empty(),
                       e.name << " cut to " << size);
        }
    }
}

BOOST_AUTO_TEST_CASE(an_error_needs_no_body_and_more_than_a_body_does_no_harm)
{
    for (const auto& e : exchanges) {
        for (const auto error : {-101, -102, -110, -112, -118, -127, 12345}) {
            BOOST_TEST(refusal(framed(header(5, error)), &e.request) == "");
        }
        BOOST_TEST(refusal(framed(header(5) + e.body + "more"), &e.request) == "");
        for (const auto error : {-2, -4, -7, -116}) { // which the C client makes up itself
            BOOST_TEST(!refusal(framed(header(5, error)), &e.request).empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(replies_are_checked_against_the_requests_in_their_order)
{
    auto guard = guard_for();
    for (const auto& e : exchanges) {
        guard.sent(e.request);
    }
    std::string all;
    for (const auto& e : exchanges) {
        all += framed(header(5) + e.body) + framed(header(-2));
    }
    auto left = exchanges.size();
    for (std::string_view rest{all}; !rest.empty();) {
        const auto verdict = guard.look(rest);
        BOOST_REQUIRE((verdict.found == finding::whole));
        rest.remove_prefix(verdict.size);
        BOOST_TEST(guard.outstanding() == --left);
        const auto ping = guard.look(rest);
        BOOST_REQUIRE((ping.found == finding::whole));
        rest.remove_prefix(ping.size);
    }
    BOOST_TEST((look(guard, framed(header(5))).found == finding::refused));
}

BOOST_AUTO_TEST_CASE(lengths_that_cannot_be_are_refused_before_the_frame_is_there)
{
    for (const auto length :
         {-1, -4, -5, INT32_MIN, 0, 1, 15, frame_guard::largest_frame + 1, INT32_MAX}) {
        BOOST_TEST(refusal(number(length)) == "a frame of " + std::to_string(length) + " bytes");
    }
    auto guard = guard_for();
    BOOST_TEST((look(guard, number(frame_guard::largest_frame)).found == finding::partial));
}

BOOST_AUTO_TEST_CASE(of_an_endless_answer_to_a_read_the_header_is_enough)
{
    for (const auto op : {opcode::children, opcode::get, opcode::get_acl}) {
        const call read{.op = op, .path = "/a"};
        const auto length = number(frame_guard::largest_frame + 1);
        for (const auto xid : {-1, -2, -4, -8}) { // it answers something else, or nothing
            BOOST_TEST(!refusal(length + header(xid), &read, 1).empty());
        }
        auto guard = guard_for(&read);
        BOOST_TEST((look(guard, length).size == 20));
        BOOST_TEST((look(guard, length + header(5)).found == finding::endless));
        BOOST_TEST(guard.cut_off(length + header(5)) == framed(header(5, -5)));
        BOOST_TEST(guard.outstanding() == 0U);
    }
}

BOOST_AUTO_TEST_CASE(what_nobody_has_asked_for_is_refused)
{
    BOOST_TEST(!refusal(framed(header(5))).empty());
    BOOST_TEST(!refusal(framed(header(0))).empty());
    BOOST_TEST(!refusal(framed(header(-3))).empty());
    BOOST_TEST(!refusal(framed(header(-8))).empty());
    BOOST_TEST(refusal(framed(header(-2))) == "");
    BOOST_TEST(!refusal(framed(header(-4))).empty());
    BOOST_TEST(!refusal(framed(header(-4, -115))).empty());

    auto guard = guard_for(nullptr, 2);
    const auto answer = framed(header(-4));
    BOOST_TEST((look(guard, answer).found == finding::whole));
    BOOST_TEST((look(guard, answer).found == finding::whole));
    BOOST_TEST((look(guard, answer).found == finding::refused));
}

BOOST_AUTO_TEST_CASE(events_have_a_type_and_a_path)
{
    for (const auto type : {1, 2, 3, 4}) {
        BOOST_TEST(refusal(event(type, "/a/b")) == "");
    }
    for (const auto type : {-2, -1, 0, 5, INT32_MAX}) {
        BOOST_TEST(!refusal(event(type, "/a/b")).empty());
    }
    BOOST_TEST(!refusal(event(1, "")).empty());
    BOOST_TEST(!refusal(event(1, "a")).empty());
    const auto whole = event(1, "/a/b").substr(4);
    for (std::size_t size = 0; size != whole.size(); ++size) {
        BOOST_TEST(!refusal(framed(whole.substr(0, size))).empty());
    }
    const auto head = header(-1) + number(1) + number(3);
    for (const auto length : {-1, -2, INT32_MIN, INT32_MAX}) {
        BOOST_TEST(!refusal(framed(head + number(length) + "/a")).empty());
    }
}

BOOST_AUTO_TEST_CASE(counts_and_lengths_that_lie_are_refused)
{
    const auto refused = [](opcode op, const std::string& body) {
        const call request{.op = op, .path = "/a"};
        return !refusal(framed(header(5) + body), &request).empty();
    };
    for (const auto count : {-1, -2, INT32_MIN, 1, 2, 17, 0x1000'0000, INT32_MAX}) {
        BOOST_TEST(refused(opcode::children, number(count) + stat));
    }
    for (const auto length : {-1, -2, INT32_MIN, 100, INT32_MAX}) {
        BOOST_TEST(refused(opcode::children, number(1) + number(length) + "x" + stat));
        BOOST_TEST(refused(opcode::create, number(length) + "/a" + stat));
        BOOST_TEST(refused(opcode::sync, number(length) + "/a"));
        if (length != -1) {
            BOOST_TEST(refused(opcode::get, number(length) + "x" + stat));
        }
    }
}

// What a name of no server's could be, and would harm. test/unit/path has all characters.
const std::string forbidden[] = {
    "",        ".",       "..",        std::string("a\0b", 3), "x\nLD_PRELOAD=y-0000000000",
    "x\r",     "\x1b[2J", "a\xc2\x9b", "a\xed\xa0\x80",        "\xff",
    "\xc0\xaf"};

BOOST_AUTO_TEST_CASE(names_that_harm_are_refused_wherever_they_stand)
{
    const auto refused = [](const call& request, const std::string& body) {
        return !refusal(framed(header(5) + body), &request).empty();
    };
    const call list{.op = opcode::children, .path = "/a"};
    BOOST_TEST(!refused(list, number(2) + text("€") + text("...") + stat));
    for (const std::string name :
         {"a\x1f", "a\x7f", "a\xc2\x9f", "\xef\xa3\xbf", "\xef\xbf\xb0", "\xef\xbf\xbf"}) {
        // ZooKeeper 3.4 took them, and what an ensemble has stays there.
        BOOST_TEST(!refused(list, number(1) + text(name) + stat), colock::printable(name));
        BOOST_TEST(refusal(event(1, "/a/" + name)).empty(), colock::printable(name));
    }
    BOOST_TEST(refused(list, number(1) + text("a/b") + stat));
    for (const auto& name : forbidden) {
        BOOST_TEST_CONTEXT(colock::printable(name))
        {
            for (const auto& path : {"/" + name, "/a/" + name, "/" + name + "/a"}) {
                BOOST_TEST((!refusal(event(1, path)).empty() || path == "/"));
            }
            BOOST_TEST(refused(list, number(1) + text(name) + stat));
            BOOST_TEST(refused(list, number(2) + text("a") + text(name) + stat));
            BOOST_TEST(refused({.op = opcode::sync, .path = "/a"}, text("/" + name)));
            for (const auto mode : {colock::create_mode::persistent, sequential}) {
                for (const auto& path : {"/" + name, "/a" + name, "/a" + name + "0000000000"}) {
                    if (path != "/a" && path != "/a0000000000") {
                        BOOST_TEST(refused({.op = opcode::create, .path = "/a", .mode = mode},
                                           text(path) + stat));
                    }
                }
            }
            const call two{.op = opcode::multi,
                           .ops = {check_op("/a"), create_op("/a", "", {.mode = sequential})}};
            BOOST_TEST(
                !refused(two, result(13) + result(1) + text("/a0000000000") + end_of_results()));
            BOOST_TEST(refused(two, result(13) + result(1) + text("/" + name + "0000000000") +
                                        end_of_results()));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_created_path_is_the_one_that_was_asked_for)
{
    struct row {
        const char* chroot;
        const char* asked;
        const char* answer;
        bool right;
        bool right_numbered;
    };
    const row rows[] = {
        {"", "/a", "/a", true, false},
        {"", "/a", "/a0000000001", false, true},
        {"", "/a", "/a2147483647", false, true},
        {"", "/a", "/a-000000001", false, true},
        {"", "/a", "/a-2147483648", false, true},
        {"", "/a", "/b", false, false},
        {"", "/a", "/b0000000001", false, false},
        {"", "/a", "/", false, false},
        {"", "/a", "/a/", false, false},
        {"", "/a", "/a1", false, false},
        {"", "/a", "/a00000000001", false, false},
        {"", "/a", "/a0000000001x", false, false},
        {"", "/a", "/a/0000000001", false, false},
        {"", "/a", "/A0000000001", false, false},
        {"", "/", "/", true, false},
        {"", "/", "/0000000001", false, true},
        {"/", "/a", "/a", true, false},
        {"/root", "/a", "/root/a", true, false},
        {"/root", "/a", "/root/a0000000001", false, true},
        {"/root", "/a", "/a", false, false},
        {"/root", "/a", "/a0000000001", false, false},
        {"/root", "/a", "/other/a", false, false},
        {"/root", "/", "/root", true, false},
        {"/root", "/", "/root/", false, false},
    };
    for (const auto& r : rows) {
        for (const bool numbered : {false, true}) {
            const auto mode = numbered ? sequential : colock::create_mode::persistent;
            const call create{.op = opcode::create, .path = r.asked, .mode = mode};
            const call multi{.op = opcode::multi, .ops = {create_op(r.asked, "", {.mode = mode})}};
            const call sync{.op = opcode::sync, .path = r.asked};
            const auto passes = [&](const call& request, const std::string& body) {
                frame_guard guard{0, 0, r.chroot};
                BOOST_REQUIRE((look(guard, handshake()).found == finding::whole));
                guard.sent(request);
                return look(guard, framed(header(5) + body)).found == finding::whole;
            };
            const bool right = numbered ? r.right_numbered : r.right;
            BOOST_TEST_CONTEXT(r.chroot << " " << r.asked << " " << r.answer << " " << numbered)
            {
                BOOST_TEST(passes(create, text(r.answer) + stat) == right);
                BOOST_TEST(passes(multi, result(1) + text(r.answer) + end_of_results()) == right);
                BOOST_TEST(passes(sync, text(r.answer)) == r.right);
            }
        }
    }
}

// Requests with and without paths, answered, failed and renamed, in any order.
BOOST_AUTO_TEST_CASE(each_reply_is_held_against_the_path_of_its_own_request)
{
    std::minstd_rand random{3};
    const auto below = [&](std::size_t limit) { return std::size_t{random()} % limit; };
    for (int round = 0; round != 200; ++round) {
        auto guard = guard_for();
        std::deque<std::pair<call, std::string>> asked; // with the honest reply
        int sent = 0;
        const auto send = [&] {
            const auto path = "/" + std::string(1 + below(200), 'p') + std::to_string(sent++);
            const auto numbered = path + "0000000007";
            switch (below(4)) {
            case 0: asked.push_back({{.op = opcode::sync, .path = path}, text(path)}); break;
            case 1:
                asked.push_back({{.op = opcode::create, .path = path, .mode = sequential},
                                 text(numbered) + stat});
                break;
            case 2:
                asked.push_back({{.op = opcode::multi,
                                  .ops = {create_op(path), create_op(path + "/x"), check_op("/")}},
                                 result(1) + text(path) + result(1) + text(path + "/x") +
                                     result(13) + end_of_results()});
                break;
            default: asked.push_back({{.op = opcode::exists, .path = path}, stat}); break;
            }
            guard.sent(asked.back().first);
        };
        for (int step = 0; step != 200; ++step) {
            if (asked.empty() || below(2) == 0) {
                send();
                continue;
            }
            const bool fails = below(4) == 0;
            const auto verdict = look(
                guard, framed(header(5, fails ? -101 : 0) + (fails ? "" : asked.front().second)));
            BOOST_REQUIRE((verdict.found == finding::whole));
            asked.pop_front();
        }
        while (!asked.empty()) {
            auto lie = asked.front().second;
            if (const auto at = lie.find("/p"); at != lie.npos) {
                lie[at + 1] = 'q';
                BOOST_TEST((look(guard, framed(header(5) + lie)).found == finding::refused));
                break;
            }
            BOOST_REQUIRE((look(guard, framed(header(5) + lie)).found == finding::whole));
            asked.pop_front();
        }
    }
}

BOOST_AUTO_TEST_CASE(a_list_is_no_longer_than_the_executor_can_bear)
{
    const auto check = [](opcode op, std::int32_t count, const std::string& each, bool excessive) {
        std::string frame = header(5) + number(count);
        for (std::int32_t i = 0; i != count; ++i) {
            frame += each;
        }
        frame = framed(frame + stat);
        const call request{.op = op, .path = "/"};
        auto guard = guard_for(&request);
        const auto verdict = look(guard, frame);
        BOOST_TEST((verdict.found == finding::whole && verdict.size == frame.size()));
        BOOST_TEST(verdict.excessive == excessive);
        BOOST_TEST(frame_guard::curtailed(frame) == framed(header(5, -5)));
    };
    for (const bool more : {false, true}) {
        check(opcode::children, frame_guard::most_names + more, text("a"), more);
        check(opcode::get_acl, frame_guard::most_acl_entries + more, std::string(12, '\0'), more);
    }
}

BOOST_AUTO_TEST_CASE(the_results_of_a_transaction_are_those_of_its_steps)
{
    const auto refused = [](const std::string& body) {
        return !refusal(framed(header(5) + body), &transaction).empty();
    };
    const auto made = result(1) + text("/a");
    const auto set = result(5) + stat;
    const auto checked = result(13);
    const auto removed = result(2);
    const auto end = end_of_results();
    BOOST_TEST(!refused(made + set + checked + removed + end));
    BOOST_TEST(refused(made + set + checked + end));
    BOOST_TEST(refused(made + set + checked + removed + removed + end));
    BOOST_TEST(refused(set + made + checked + removed + end));
    BOOST_TEST(refused(made + set + checked + failed_result(-101) + end));
    BOOST_TEST(refused(failed_result(-101) + set + checked + removed + end));
    BOOST_TEST(refused(result(1, -101) + text("/a") + set + checked + removed + end));
    BOOST_TEST(refused(result(1) + number(-1) + set + checked + removed + end));
    BOOST_TEST(refused(end));
    const auto failed = [](int error) { return failed_result(error); };
    BOOST_TEST(!refused(failed(0) + failed(0) + failed(-101) + failed(-2) + end));
    BOOST_TEST(refused(failed(0) + failed(0) + failed(0) + failed(-2) + end));
    BOOST_TEST(refused(failed(0) + failed(0) + failed(-4) + failed(-2) + end));
    BOOST_TEST(refused(failed(0) + failed(-101) + end));
}

BOOST_AUTO_TEST_CASE(the_answer_to_a_handshake_has_its_form)
{
    const auto verdict_on = [](const std::string& bytes, std::int64_t wanted) {
        frame_guard guard{wanted, 0};
        return look(guard, bytes).found;
    };
    const auto whole = [&](const std::string& bytes, std::int64_t wanted = 0) {
        return verdict_on(bytes, wanted) == finding::whole;
    };
    const auto refused = [&](const std::string& bytes, std::int64_t wanted = 0) {
        return verdict_on(bytes, wanted) == finding::refused;
    };
    BOOST_TEST(whole(handshake()));
    BOOST_TEST(whole(handshake(), session));
    BOOST_TEST(whole(handshake(4000, -1)));
    const auto old = framed(handshake().substr(4, 36)); // of a server before 3.4
    BOOST_TEST(whole(old));
    BOOST_TEST(whole(handshake(0, 0), session)); // it is over
    BOOST_TEST(refused(handshake(0, 0)));
    BOOST_TEST(refused(handshake(4000, 0)));
    BOOST_TEST(refused(handshake(4000, 0), session));
    BOOST_TEST(refused(handshake(0, session), session));
    BOOST_TEST(refused(handshake(4000, session + 1), session));
    BOOST_TEST(refused(handshake(-1)));
    BOOST_TEST(refused(handshake(INT32_MAX)));
    BOOST_TEST(refused(handshake(4000, session, true)));
    BOOST_TEST(refused(handshake(4000, session, false, 1)));
    BOOST_TEST(frame_guard(0, 0).look(handshake(0, 0)).why == "no session");
    BOOST_TEST(frame_guard(7, 0).look(handshake(0, 7)).why == "session 7 with a time-out of 0 ms");
    BOOST_TEST(frame_guard(7, 0).look(handshake(9, 8)).why == "the session under another number");
    for (const auto length : {-1, INT32_MIN, 0, 35, 38, 1000, INT32_MAX}) {
        BOOST_TEST(refused(number(length) + handshake().substr(4)));
    }
    for (const auto length : {-1, 0, 15, 17, INT32_MAX}) {
        auto bytes = handshake();
        bytes.replace(20, 4, number(length));
        BOOST_TEST(refused(bytes));
    }
    for (std::size_t size = 0; size != handshake().size(); ++size) {
        BOOST_TEST((verdict_on(handshake().substr(0, size), 0) == finding::partial));
    }
    std::minstd_rand random{7};
    for (int i = 0; i != 100'000; ++i) {
        std::string bytes = number(37);
        std::generate_n(std::back_inserter(bytes), 37,
                        [&] { return static_cast<char>(random() >> 8); });
        BOOST_REQUIRE(refused(bytes));
    }
}

BOOST_AUTO_TEST_CASE(what_chance_makes_of_frames_is_refused_or_can_be_read)
{
    std::minstd_rand random{42};
    const auto below = [&](std::size_t limit) { return std::size_t{random()} % limit; };
    std::size_t passed = 0;
    constexpr int rounds = 100'000;
    for (int i = 0; i != rounds; ++i) {
        const auto& e = exchanges[below(exchanges.size())];
        auto frame = below(8) == 0 ? event(1, "/a/b") : framed(header(5) + e.body);
        // Mostly behind the length: with another length it is another's frame, or a part of one.
        for (auto changes = 1 + below(4); changes != 0; --changes) {
            constexpr std::uint32_t likely[] = {0, 1, 0x7f, 0xff, 0x80, 4};
            frame[4 + below(frame.size() - 4)] =
                static_cast<char>(below(2) == 0 ? likely[below(6)] : below(256));
        }
        if (below(3) == 0) {
            const auto body = frame.substr(4);
            frame = framed(body.substr(0, below(body.size() + 1)));
        }
        auto guard = guard_for(&e.request, 1);
        const auto verdict = look(guard, frame);
        BOOST_REQUIRE((verdict.found != finding::partial));
        if (verdict.found == finding::whole) {
            ++passed;
            BOOST_REQUIRE_NO_THROW(read_as_the_c_client(e.request, frame));
        }
    }
    // Both ends of the test are reached.
    BOOST_TEST(passed > rounds / 20);
    BOOST_TEST(passed < rounds * 19 / 20);
}

BOOST_AUTO_TEST_SUITE_END()
