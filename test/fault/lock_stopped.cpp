// Holders that are stopped for longer than their session.
#include <colock/colock.hpp>
#include <support/admin_session.hpp>
#include <support/fenced_store.hpp>
#include <support/link.hpp>
#include <support/outcome.hpp>
#include <support/print.hpp>
#include <support/run.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <list>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace colock::test::lock_stopped_test {

using namespace std::chrono_literals;

namespace {

constexpr int processes = 50;

struct pair_of_holders {
    pair_of_holders(const std::string& hosts, const std::string& directory, int number)
        : path{"/turns/" + std::to_string(number)}, data{"/data/" + std::to_string(number)},
          file{directory + "/" + std::to_string(number)}, store{file},
          process{{COLOCK_STOPPED_HOLDER, hosts, path, file, data},
                  {.environment = link_environment(), .capture_output = true, .open_input = true}}
    {
    }

    const std::string path;
    const std::string data;
    const std::string file;
    fenced_store store;
    subprocess process;
    std::string token; // of the process
    outcome<unique_lock> next;
};

// As the process prints it.
std::string text_of(const error_code& ec)
{
    std::ostringstream text;
    text << ec;
    return text.str();
}

} // namespace

BOOST_AUTO_TEST_SUITE(lock_stopped)

BOOST_AUTO_TEST_CASE(G1_a_holder_that_was_stopped_for_longer_than_its_session_can_do_no_harm)
{
    zookeeper_options options;
    options.tick_time = 200ms; // sessions of four seconds at most
    zookeeper_server server{link_servers(options)};
    const temporary_directory directory;
    admin_session admin{server.connect_string()};
    admin.create("/data");
    std::list<pair_of_holders> pairs;
    for (int i = 0; i != repetitions(processes); ++i) {
        admin.create("/data/" + std::to_string(i));
        pairs.emplace_back(link_hosts(server), directory.path(), i);
    }
    for (auto& p : pairs) {
        const auto line = p.process.read_line(60s);
        BOOST_REQUIRE((line && line->starts_with("held ")));
        p.token = line->substr(5);
    }
    asio::io_context io;
    client zk{io, link_client({.hosts = link_hosts(server), .session_timeout = 4s, .tick = 200ms})};
    outcome<> connected;
    zk.async_connect(connected.handler());
    value_of(io, connected);
    for (const auto& p : pairs) {
        mutex{zk, p.path}.async_lock(p.next.handler());
    }
    BOOST_REQUIRE(becomes_true(io, [&] {
        return std::ranges::all_of(
            pairs, [&](const auto& p) { return admin.children(p.path).size() == 2; });
    }));

    const auto stopped = std::chrono::steady_clock::now();
    for (auto& p : pairs) {
        BOOST_REQUIRE(p.process.stop());
    }
    for (auto& p : pairs) {
        BOOST_REQUIRE(code_of(io, p.next) == error_code{});
        const auto& held = p.next.value();
        BOOST_TEST(to_string(held.token()) > p.token);
        BOOST_TEST(p.store.write(to_string(held.token()), "the next one's"));
        outcome<std::vector<transaction_result>> written;
        zk.async_multi(held.guarded({set_op(p.data, "the next one's")}), written.handler());
        BOOST_TEST(code_of(io, written) == error_code{});
    }
    const std::chrono::duration<double> taken_over = std::chrono::steady_clock::now() - stopped;

    int harmless = 0;
    int by_the_clock = 0;
    int at_once = 0;
    for (auto& p : pairs) {
        BOOST_REQUIRE(p.process.write_input("go on\n")); // read at once when it wakes
        p.process.resume();
    }
    for (auto& p : pairs) {
        std::optional<std::string> line;
        BOOST_REQUIRE(becomes_true(
            io, [&] { return (line = p.process.read_line(0ms)).has_value(); }, 60s));
        std::istringstream words{*line};
        bool holds = true;
        std::string lost;
        std::string first;
        std::string settled;
        std::string store;
        std::string lost_then;
        words >> holds >> lost >> first >> settled >> store >> lost_then;
        BOOST_TEST(!holds);
        BOOST_TEST(
            (lost == text_of(errc::session_expired) || lost == text_of(errc::safe_until_passed)),
            *line);
        BOOST_TEST(lost_then == lost); // the first reason stays
        BOOST_TEST(settled == text_of(zookeeper_errc::no_node));
        BOOST_TEST(store == "refused");
        BOOST_TEST(p.store.value() == "the next one's");
        BOOST_TEST(admin.get(p.data) == "the next one's");
        harmless += !holds && settled == text_of(zookeeper_errc::no_node) && store == "refused";
        by_the_clock += lost == text_of(errc::safe_until_passed);
        at_once += first == settled;
        const auto status = p.process.wait_for(30s);
        BOOST_REQUIRE(status.has_value());
        BOOST_TEST(status->success());
    }
    std::cout << "figure: " << harmless << " of " << pairs.size() << " stopped for "
              << taken_over.count() << " s, with a session of 4 s, did no harm when they woke; "
              << by_the_clock
              << " knew by the clock, the others from a server; the guarded write of " << at_once
              << " was refused at once, that of the others broke with its connection first"
              << std::endl;
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::lock_stopped_test
