// Servers whose replies break the protocol. Each such reply costs the connection, and a line in the log says why.
// The executor goes on meanwhile. Requests and locks go on over the next connection.
#include <support/hostile_scene.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <climits>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace colock::test::hostile_server_test {

using namespace std::chrono_literals;

namespace data = boost::unit_test::data;

namespace {

using answer = hostile_server::answer;

// A frame whose length says that this is all.
answer cut(const std::string& honest, std::size_t left)
{
    return framed(honest.substr(4, left));
}

const auto shorter = [](std::size_t by) {
    return [by](const std::string& honest) { return cut(honest, honest.size() - 4 - by); };
};
const auto bodiless = [](const std::string& honest) { return cut(honest, 16); };
// The number behind the header.
const auto counting = [](std::int32_t count) {
    return [count](std::string honest) { return answer{honest.replace(20, 4, number(count))}; };
};

// Text of the same length in the place of its first occurrence behind the header.
const auto replacing = [](std::string_view what, std::string_view by) {
    return [what, by](std::string honest) {
        return answer{honest.replace(honest.find(what, 24), what.size(), by)};
    };
};

constexpr auto too_short = "less in it than belongs there";
constexpr auto other_path = "another path than the request's";
constexpr auto not_a_name = "a list with a name that cannot be one";
constexpr auto lying_list = "a list that counts more names than it has";

const std::vector<row> rows{
    {"a negative length", opcode::get_data, [](auto honest) { return with_length(honest, -5); },
     "a frame of -5 bytes"},
    {"the most negative length", opcode::get_data,
     [](auto honest) { return with_length(honest, INT_MIN); }, "a frame of -2147483648 bytes"},
    {"a huge length", opcode::exists, [](auto honest) { return with_length(honest, INT_MAX); },
     "a frame of 2147483647 bytes"},
    {"a length of nothing", opcode::get_data, [](auto honest) { return with_length(honest, 0); },
     "a frame of 0 bytes"},
    {"a frame cut by the end", opcode::get_data,
     [](auto honest) {
         answer a{honest.substr(0, honest.size() - 3)};
         a.finish = true;
         return a;
     },
     "ended within a frame"},
    {"a reply twice", opcode::get_data, [](auto honest) { return answer{honest + honest}; },
     "no request has asked for"},
    {"another request's number", opcode::get_data,
     [](auto honest) {
         honest[7] ^= 1;
         return answer{honest};
     },
     "another request"},
    {"an error of the client's own", opcode::get_data,
     [](auto honest) { return answer{honest.replace(16, 4, number(-4))}; },
     "an error that no server has"},
    {"an error of credentials", opcode::create2,
     [](auto honest) { return answer{honest.replace(16, 4, number(-115))}; },
     "an error that no server has"},
    {"a get without a body", opcode::get_data, bodiless, too_short},
    {"a get cut short", opcode::get_data, shorter(1), too_short},
    {"a get of a negative size", opcode::get_data, counting(-2), too_short},
    {"a get of a huge size", opcode::get_data, counting(INT_MAX), too_short},
    {"an exists without a body", opcode::exists, bodiless, too_short},
    {"an exists cut short", opcode::exists, shorter(60), too_short},
    {"a set without a body", opcode::set_data, bodiless, too_short},
    {"a sync without a body", opcode::sync, bodiless, other_path},
    {"a sync about another path", opcode::sync, replacing("/a", "/b"), other_path},
    {"children without a body", opcode::get_children2, bodiless, too_short},
    {"children cut in a name", opcode::get_children2, shorter(70), "cannot be one"},
    {"a negative number of children", opcode::get_children2, counting(-1), lying_list},
    {"the most negative number of children", opcode::get_children2, counting(INT_MIN), lying_list},
    {"a huge number of children", opcode::get_children2, counting(INT_MAX), lying_list},
    {"one child more than there are", opcode::get_children2, counting(3), "cannot be one"},
    {"a child with a length of -1", opcode::get_children2,
     [](auto honest) { return answer{honest.replace(24, 4, number(-1))}; }, "cannot be one"},
    {"a child with a line feed", opcode::get_children2, replacing("x", "\n"), not_a_name},
    {"a child with an escape", opcode::get_children2, replacing("x", "\x1b"), not_a_name},
    {"a child that is no UTF-8", opcode::get_children2, replacing("x", "\xff"), not_a_name},
    {"a child that is the directory", opcode::get_children2, replacing("x", "."), not_a_name},
    {"a create without a body", opcode::create2, bodiless, other_path},
    {"a create cut short", opcode::create2, shorter(5), too_short},
    {"a created path of length -1", opcode::create2, counting(-1), other_path},
    {"a created path of length -2", opcode::create2, counting(-2), other_path},
    {"another created path", opcode::create2, replacing("/a/c", "/a/d"), other_path},
    {"a created path with a letter", opcode::create2, replacing("0000000", "000000x"), other_path},
    {"a created path with a line feed", opcode::create2, replacing("0000000", "000000\n"),
     other_path},
    {"a created path with more behind its name", opcode::create2,
     [](auto honest) {
         const auto name = honest.substr(24, 14); // "/a/c" and the digits
         return answer{
             framed(honest.substr(4, 16) + text(name + "\nX=" + name) + honest.substr(38))};
     },
     other_path},
    {"a transaction without a body", opcode::multi, bodiless, "fewer results"},
    {"a transaction cut short", opcode::multi, shorter(9), too_short},
    {"a transaction cut in a step", opcode::multi, shorter(20), "fewer results"},
    {"a transaction without its last step", opcode::multi,
     [](auto honest) {
         return answer{
             framed(honest.substr(4, honest.size() - 4 - 18) + honest.substr(honest.size() - 9))};
     },
     "fewer results"},
    {"a transaction with a step too many", opcode::multi,
     [](auto honest) {
         const auto last = honest.substr(honest.size() - 18, 9);
         return answer{framed(honest.substr(4, honest.size() - 4 - 9) + last +
                              honest.substr(honest.size() - 9))};
     },
     "more results"},
};

} // namespace

BOOST_AUTO_TEST_SUITE(hostile)

BOOST_DATA_TEST_CASE(a_reply_that_is_none_costs_its_connection, data::make(rows), r)
{
    hostile_scene s;
    s.connect();
    s.fill();
    s.once(r.kind, r.misdeed);
    const auto seen = s.server.connections();
    const auto ec = s.ask(r.kind);
    // Reads are asked again, and answered; of a write nobody knows what came of it.
    BOOST_TEST((!ec || colock::outcome_unknown(ec)), ec.message());
    BOOST_TEST(
        s.pulse.becomes_true([&] { return s.zk.state() == colock::connection_state::connected; }));
    BOOST_TEST(s.server.connections() == seen + 1);
    BOOST_TEST(s.logged(r.why), s.last_lines());
    BOOST_TEST(s.zk.stats().sessions == 1u);
    s.goes_on();
}

BOOST_AUTO_TEST_CASE(what_comes_unasked_costs_its_connection)
{
    const std::string stat(68, '\0');
    const auto header = [](std::int32_t xid, std::int32_t error = 0) {
        return number(xid) + std::string(8, '\0') + number(error);
    };
    const auto event = [&](std::int32_t type, std::int32_t length, const std::string& path) {
        return framed(header(-1) + number(type) + number(3) + number(length) + path);
    };
    const struct {
        std::string bytes;
        const char* why;
    } unasked[] = {
        {framed(header(7)), "no request has asked for"},
        {framed(header(7, -101)), "no request has asked for"},
        {framed(header(-3) + stat), "no request has asked for"},
        {framed(header(-4, -115)), "credentials that were not sent"},
        {framed(header(-8)), "about watches"},
        {framed(header(-1)), "an event that is cut short"},
        {framed(header(-1) + number(1)), "an event that is cut short"},
        {event(1, 100, "/a"), "an event that is cut short"},
        {event(1, -1, ""), "an event that is cut short"},
        {event(3, INT_MAX, "/a"), "an event that is cut short"},
        {event(1, 3, "/a\n"), "an event that is cut short"},
        {event(1, 5, "/a/.."), "an event that is cut short"},
        {event(-1, 2, "/a"), "an event that is cut short"},
        {event(77, 2, "/a"), "an event that is cut short"},
        {std::string(1 << 20, '\xff'), "a frame of -1 bytes"},
        {std::string(1 << 20, '\0'), "a frame of 0 bytes"},
        {"GET / HTTP/1.1\r\n\r\n", "a frame of"},
    };
    hostile_scene s;
    s.connect();
    s.fill();
    std::uint64_t connections = 1;
    for (const auto& u : unasked) {
        s.log.clear();
        s.server.push(u.bytes);
        BOOST_TEST(s.pulse.becomes_true([&] {
            return s.server.connections() == connections + 1 &&
                   s.zk.state() == colock::connection_state::connected &&
                   s.zk.stats().in_flight == 0; // or the next one could pass for a reply
        }));
        ++connections;
        BOOST_TEST(s.logged(u.why), s.last_lines());
    }
    BOOST_TEST(s.zk.stats().sessions == 1u);
    s.goes_on();
}

// The names are made before anybody asks: the client does not wait for them.
auto list_of(std::int32_t count)
{
    std::string names;
    for (std::int32_t i = 0; i != count; ++i) {
        names += text("_c_00000000-0000-0000-0000-000000000000-lock-" + std::to_string(i));
    }
    return [list = number(count) + names + std::string(68, '\0')](const std::string& honest) {
        return framed(honest.substr(4, 16) + list);
    };
}

BOOST_AUTO_TEST_CASE(a_list_of_megabytes_is_read_and_others_have_their_turn)
{
    hostile_scene s{40s}; // a busy machine reads megabytes for seconds
    s.connect();
    s.fill();
    constexpr std::int32_t count = 100'000;
    s.once(opcode::get_children2, list_of(count));
    const outcome<colock::children_result> o;
    s.zk.async_children("/a", o.handler());
    BOOST_TEST(s.pulse.becomes_true([&] { return o.done(); }));
    BOOST_TEST(o.value().names.size() == std::size_t{count});
    BOOST_TEST(s.server.connections() == 1u);
    s.goes_on();
}

// The request fails, and the connection lives on: else the read would break each further one.
BOOST_AUTO_TEST_CASE(a_list_with_too_many_names_is_refused)
{
    hostile_scene s{40s}; // a busy machine reads megabytes for seconds
    s.connect();
    s.fill();
    s.once(opcode::get_children2, list_of(250'001));
    BOOST_TEST(s.ask(opcode::get_children2) == colock::zookeeper_errc::marshalling_error);
    BOOST_TEST(s.logged("path /a: it has more than 250000 children"), s.last_lines());
    BOOST_TEST(s.logged("spread them over"), s.last_lines());
    BOOST_TEST(s.zk.last_error_detail().find("more than 250000 children") != std::string::npos);
    BOOST_TEST(s.server.connections() == 1u);
    s.goes_on();
}

// Whether it comes to its end or not: the request is not sent again.
BOOST_AUTO_TEST_CASE(an_answer_that_is_too_large_is_answered_for_and_skipped)
{
    constexpr std::int32_t size = (32 << 20) + 1;
    for (const bool stops : {false, true}) {
        hostile_scene s{stops ? 12s : 40s}; // a busy machine reads megabytes for seconds
        s.connect();
        s.fill();
        s.once(opcode::get_children2, [&](const std::string& honest) {
            const auto header = number(size) + honest.substr(4, 16);
            return answer{header + std::string(stops ? 0 : size - 16, '\xff')};
        });
        const outcome<colock::children_result> o;
        s.zk.async_children("/a", o.handler());
        const auto after = s.ask(opcode::get_data); // after it
        BOOST_TEST(!after, after.message());
        BOOST_TEST(o.error() == colock::zookeeper_errc::marshalling_error);
        BOOST_TEST(s.server.connections() == (stops ? 2U : 1U));
        BOOST_TEST(s.zk.stats().sessions == 1u);
        s.goes_on();
    }
}

// The rest of a long answer, which is skipped, may look like the confirmation.
BOOST_AUTO_TEST_CASE(a_close_is_not_confirmed_by_the_data_of_a_node)
{
    hostile_scene s;
    s.connect();
    s.fill();
    s.server.play([](const auto& r, std::string honest) {
        if (r.kind == opcode::get_data) {
            honest = number((32 << 20) + 1) + honest.substr(4, 16);
        }
        answer a{std::move(honest)};
        if (r.kind == opcode::close) {
            a.bytes = std::string{"\0\0\0\x10\x7f\xff\xff\xff", 8};
            a.finish = true;
        }
        return a;
    });
    BOOST_TEST(s.ask(opcode::get_data) == colock::zookeeper_errc::marshalling_error);
    const outcome<> closed;
    s.zk.async_close(closed.handler());
    s.wait_for(closed);
    BOOST_TEST(closed.error() == colock::errc::disconnected);
}

BOOST_AUTO_TEST_CASE(a_close_is_confirmed_after_the_rest_of_a_long_answer)
{
    constexpr std::int32_t size = (32 << 20) + 1;
    hostile_scene s{40s}; // a busy machine reads megabytes for seconds
    s.connect();
    s.fill();
    s.server.play([rest = std::size_t{0}](const auto& r, std::string honest) mutable {
        if (r.kind == opcode::get_data) {
            honest = number(size) + honest.substr(4, 16);
            rest = size - 16;
        } else {
            honest.insert(0, std::exchange(rest, 0), 'x');
        }
        return answer{std::move(honest)};
    });
    BOOST_TEST(s.ask(opcode::get_data) == colock::zookeeper_errc::marshalling_error);
    const outcome<> closed;
    s.zk.async_close(closed.handler());
    s.wait_for(closed);
    BOOST_TEST(!closed.error(), closed.error().message());
}

BOOST_AUTO_TEST_CASE(bodies_of_random_bytes_do_no_harm)
{
    std::minstd_rand random{20};
    const auto below = [&](std::size_t limit) { return std::size_t{random()} % limit; };
    hostile_scene s;
    std::vector<std::unique_ptr<colock::client>> clients;
    for (int i = 0; i != 20; ++i) {
        clients.push_back(std::make_unique<colock::client>(
            s.io, link_client({.hosts = s.front.connect_string()})));
        clients.back()->async_connect([](colock::error_code) {});
    }
    s.connect();
    s.fill();
    BOOST_REQUIRE(s.pulse.becomes_true([&] {
        return std::ranges::all_of(clients, [](const auto& c) {
            return c->state() == colock::connection_state::connected;
        });
    }));
    // In the server's thread.
    s.server.play([&](const auto& r, std::string honest) {
        if (r.kind == opcode::connect || r.kind == opcode::ping || below(3) == 0) {
            return answer{honest};
        }
        std::string body = honest.substr(4);
        if (below(2) == 0) { // anything behind a header that fits
            body.resize(16);
            body.replace(12, 4, number(0));
            for (auto size = below(120); size != 0; --size) {
                constexpr unsigned char likely[] = {0, 0, 0, 1, 0x7f, 0x80, 0xff, '/'};
                body += static_cast<char>(below(3) == 0 ? below(256) : likely[below(8)]);
            }
        } else { // the honest one, with a few bytes changed
            for (auto changes = 1 + below(4); changes != 0; --changes) {
                body[below(body.size())] = static_cast<char>(below(256));
            }
        }
        return answer{framed(body)};
    });
    std::size_t answered = 0;
    std::size_t outstanding = 0;
    const auto enough = [&] { return s.server.connections() > 300; };
    constexpr opcode kinds[] = {opcode::get_data, opcode::exists,  opcode::get_children2,
                                opcode::set_data, opcode::create2, opcode::multi,
                                opcode::sync};
    std::minstd_rand choice{4};
    std::function<void(colock::client&)> go = [&](colock::client& c) {
        if (enough()) {
            return;
        }
        ++outstanding;
        request(c, kinds[choice() % std::size(kinds)], [&](colock::error_code) {
            ++answered;
            --outstanding;
            go(c);
        });
    };
    for (auto& c : clients) {
        go(*c);
    }
    BOOST_TEST(s.pulse.becomes_true(enough, 120s));
    s.server.play({});
    BOOST_TEST(s.pulse.becomes_true([&] { return outstanding == 0; }));
    BOOST_TEST_MESSAGE(answered << " requests, " << s.server.connections() << " connections");
    s.goes_on();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::hostile_server_test
