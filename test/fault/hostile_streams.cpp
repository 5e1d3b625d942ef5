// Servers whose handshakes and streams break the protocol: they answer too late, too slowly, without an end, or not at
// all. Each costs its connection, and a line in the log says why. Requests and locks go on over the next connection.
#include <support/hostile_scene.hpp>
#include <support/sanitizers.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <climits>
#include <functional>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace colock::test::hostile_streams_test {

using namespace std::chrono_literals;

namespace data = boost::unit_test::data;

namespace {

using answer = hostile_server::answer;

const std::vector<row> handshakes{
    {"read-only", opcode::connect,
     [](auto honest) {
         honest.back() = '\1';
         return answer{honest};
     },
     "read-only session"},
    {"of another length", opcode::connect, [](auto honest) { return answer{framed(honest)}; },
     "has 41 bytes"},
    {"of random bytes", opcode::connect,
     [](auto honest) {
         for (std::size_t i = 4; i != honest.size(); ++i) {
             honest[i] = static_cast<char>(37 * i * i + 11);
         }
         return answer{honest};
     },
     "is not ZooKeeper's"},
    {"with a negative length", opcode::connect, [](auto honest) { return with_length(honest, -1); },
     "has -1 bytes"},
    {"without a session", opcode::connect,
     [](auto honest) { return answer{honest.replace(12, 8, std::string(8, '\0'))}; },
     "the server sent session 0 with"},
    {"with a time-out that cannot be", opcode::connect,
     [](auto honest) { return answer{honest.replace(8, 4, number(INT_MAX))}; },
     "a time-out of 2147483647 ms"},
    {"cut by the end", opcode::connect,
     [](auto honest) {
         answer a{honest.substr(0, 30)};
         a.finish = true;
         return a;
     },
     "ended within a frame"},
    {"of bytes without end", opcode::connect,
     [](auto) {
         answer a{""};
         a.endless = true;
         return a;
     },
     "has 0 bytes"},
    {"without its last byte", opcode::connect,
     [](auto honest) { return answer{honest.substr(0, honest.size() - 1)}; },
     "did not answer in time"},
};

// Address sanitizer keeps up to 256 MiB of what was freed, and some memory more for each size of it.
constexpr std::size_t memory_allowance = (address_sanitizer ? 256u + 64u : 16u) << 20;

} // namespace

BOOST_AUTO_TEST_SUITE(hostile_streams)

BOOST_DATA_TEST_CASE(a_handshake_that_is_none_costs_its_connection, data::make(handshakes), r)
{
    hostile_scene s;
    s.once(r.kind, r.misdeed);
    s.connect();
    BOOST_TEST(s.server.connections() == 2u);
    BOOST_TEST(s.logged(r.why), s.last_lines());
    s.fill();
    s.goes_on();
    // And one that is to take a session over: the session stays.
    s.once(r.kind, r.misdeed);
    s.server.push(number(-1));
    BOOST_TEST(s.pulse.becomes_true([&] { return s.server.connections() == 4; }));
    BOOST_TEST(
        s.pulse.becomes_true([&] { return s.zk.state() == colock::connection_state::connected; }));
    BOOST_TEST(s.zk.stats().sessions == 1u);
    s.goes_on();
}

BOOST_AUTO_TEST_CASE(frames_that_come_byte_by_byte_are_frames)
{
    hostile_scene s;
    s.server.play([](const auto&, std::string honest) {
        answer a{std::move(honest)};
        a.at_once = 1;
        return a;
    });
    s.connect();
    s.fill();
    for (const auto kind : {opcode::get_data, opcode::get_children2, opcode::exists, opcode::multi,
                            opcode::create2, opcode::sync}) {
        BOOST_TEST(!s.ask(kind));
    }
    s.goes_on();
    BOOST_TEST(s.server.connections() == 1u);
}

BOOST_AUTO_TEST_CASE(a_trickled_frame_without_an_end_is_given_up)
{
    // 4 s of a session of 3 s, in which every millisecond brings a byte.
    hostile_scene s{3s};
    s.connect();
    s.fill();
    s.once(opcode::get_data, [](const std::string&) {
        answer a{number(1 << 20) + std::string(4000, 'x')};
        a.at_once = 1;
        return a;
    });
    BOOST_TEST(!s.ask(opcode::get_data));
    BOOST_TEST((s.logged("answered no request") || s.logged("silent")), s.last_lines());
    s.goes_on();
}

BOOST_AUTO_TEST_CASE(a_server_that_only_pings_is_given_up)
{
    hostile_scene s{3s};
    s.connect();
    s.fill();
    bool mute = true;
    s.server.play([&mute](const auto& r, std::string honest) {
        return answer{r.kind == opcode::ping || r.connection > 1 || !mute ? std::move(honest) : ""};
    });
    const outcome<colock::get_result> o;
    const auto began = std::chrono::steady_clock::now();
    s.zk.async_get("/a", o.handler());
    auto next = began;
    BOOST_TEST(s.pulse.becomes_true([&] {
        if (const auto now = std::chrono::steady_clock::now(); now >= next) {
            s.server.push(framed(number(-2) + std::string(12, '\0')));
            next = now + 20ms;
        }
        return o.done();
    }));
    BOOST_TEST(!o.error());
    BOOST_TEST((std::chrono::steady_clock::now() - began >= 1'400ms));
    BOOST_TEST(s.logged("answered no request for 2000 ms"), s.last_lines());
    s.goes_on();
}

// The program stands still for longer than the client waits for an answer. The answer has come meanwhile, behind more
// events than are read in one turn.
BOOST_AUTO_TEST_CASE(an_answer_that_lies_behind_events_is_found_after_a_pause)
{
    hostile_scene s{3s};
    s.connect();
    s.fill();
    const std::string event = framed(number(-1) + std::string(12, '\0') + number(3) + number(3) +
                                     text("/nobody/watches/this"));
    std::mutex guard;
    std::string held_back;
    s.server.play([&](const auto& r, std::string honest) {
        const std::lock_guard lock{guard};
        if (r.kind == opcode::get_data && held_back.empty()) {
            held_back = std::exchange(honest, "");
        }
        return answer{std::move(honest)};
    });
    const auto is_held_back = [&] {
        const std::lock_guard lock{guard};
        return !held_back.empty();
    };
    const outcome<colock::get_result> o;
    s.zk.async_get("/a", o.handler());
    BOOST_REQUIRE(s.pulse.becomes_true(is_held_back));
    std::string all;
    for (int i = 0; i != 4000; ++i) {
        all += event;
    }
    s.server.push(all + held_back);
    std::this_thread::sleep_for(2'100ms); // the subject: nothing runs the executor
    BOOST_REQUIRE(becomes_true(s.io, [&] { return o.done(); }));
    BOOST_TEST(!o.error());
    BOOST_TEST(s.server.connections() == 1u, s.last_lines());
    s.server.play({});
    s.goes_on();
}

BOOST_AUTO_TEST_CASE(what_streams_behind_the_close_is_not_kept)
{
    hostile_scene s;
    s.connect();
    s.fill();
    s.once(opcode::close, [](std::string honest) {
        answer a{std::move(honest)};
        a.endless = true;
        return a;
    });
    const auto before = resident_memory();
    const outcome<> o;
    s.zk.async_close(o.handler());
    std::size_t most = 0;
    BOOST_TEST(s.pulse.becomes_true([&] {
        most = std::max(most, resident_memory());
        return o.done();
    }));
    BOOST_TEST(o.error() == colock::errc::disconnected);
    BOOST_TEST(most < before + memory_allowance);
    BOOST_TEST((s.pulse.longest() < 50ms * slowness));
    BOOST_TEST(run_to_the_end(s.io));
}

BOOST_AUTO_TEST_CASE(connections_that_break_at_once_are_not_made_without_a_pause)
{
    hostile_scene s;
    s.connect();
    s.fill();
    const auto before = s.server.connections();
    s.server.play([](const auto& r, std::string honest) {
        return answer{r.kind == opcode::connect ? honest + number(-1) : honest};
    });
    s.server.push(number(-1));
    s.pulse.becomes_true([] { return false; }, 1500ms);
    BOOST_TEST(s.server.connections() - before <= 25u); // ten a second
    s.server.play({});
    s.goes_on();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::hostile_streams_test
