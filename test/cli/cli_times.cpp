// How long the program takes: silent name servers, limits of zero and of weeks, outages, session time-outs.
#include <support/admin_session.hpp>
#include <support/one_server.hpp>
#include <support/tcp_proxy.hpp>
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>

#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::cli_times_test {

using namespace std::chrono_literals;

namespace {

// What silent name servers cost whoever waits for them: resolv.conf says 20 s, twice, for each name that is tried.
constexpr auto cost_of_silence = 40s;

// A name server that takes questions and never answers, on an address of its own.
class silent_name_server {
public:
    silent_name_server()
    {
        static unsigned made = 0;
        const auto number = static_cast<unsigned>(::getpid());
        address_ = "127." + std::to_string(53 + made++) + '.' +
                   std::to_string(number / 250 % 250 + 1) + '.' + std::to_string(number % 250 + 1);
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_port = htons(53);
        ::inet_pton(AF_INET, address_.c_str(), &where.sin_addr);
        if (::bind(socket_, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) {
            throw std::runtime_error(address_ + ": " + std::strerror(errno));
        }
    }
    silent_name_server(const silent_name_server&) = delete;
    ~silent_name_server() { ::close(socket_); }

    const std::string& address() const { return address_; }
    // Whether anybody has asked.
    bool was_asked() const
    {
        char question[512];
        return ::recv(socket_, question, sizeof question, MSG_DONTWAIT) > 0;
    }

private:
    int socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    std::string address_;
};

// `colock` in a mount namespace of its own, in which nobody else is asked for names.
class silent_names {
public:
    explicit silent_names(const std::string& more = {})
    {
        std::ofstream{directory_.path() + "/resolv.conf"} << "nameserver " << server_.address()
                                                          << "\noptions timeout:20\n"
                                                          << more;
        std::ofstream{program()} << "#!/bin/sh\nexec unshare --mount sh -c 'mount --bind "
                                 << directory_.path()
                                 << "/resolv.conf /etc/resolv.conf && exec " COLOCK_PROGRAM
                                    " \"$@\"' sh \"$@\"\n";
        ::chmod(program().c_str(), 0755);
    }

    static std::string obstacle()
    {
        if (::geteuid() != 0) {
            return "to stand in for the machine's name servers needs root";
        }
        subprocess p{{"unshare", "--mount", "true"}};
        return p.wait().success() ? "" : "there can be no mount namespace here";
    }

    std::string program() const { return directory_.path() + "/colock"; }
    bool was_asked() const { return server_.was_asked(); }

private:
    silent_name_server server_;
    temporary_directory directory_;
};

struct timed_result : colock_result {
    std::chrono::steady_clock::duration took{};
};

timed_result run_with(const silent_names& names, std::vector<std::string> arguments)
{
    const auto begin = std::chrono::steady_clock::now();
    colock_process p{"", std::move(arguments), {}, names.program()};
    timed_result r;
    r.status = p.status();
    r.took = std::chrono::steady_clock::now() - begin;
    r.out = p.out();
    r.err = p.err();
    return r;
}

// A test that cannot run must not look as if it had passed.
boost::test_tools::assertion_result names_can_be_silent(boost::unit_test::test_unit_id)
{
    const auto why = silent_names::obstacle();
    if (!why.empty()) {
        std::cout << "skipped: " << why << std::endl;
    }
    return why.empty();
}

const std::string search = "search one.test two.test\noptions ndots:5\n";

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_times, scene, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_SUITE(silent_name_servers, *boost::unit_test::precondition(names_can_be_silent))

BOOST_AUTO_TEST_CASE(a_limit_and_a_signal_end_a_program_that_knows_no_address)
{
    for (const auto& more : {std::string{}, search}) {
        const silent_names names{more};
        const auto r =
            run_with(names, with({"--servers", "zk.silent:2181", "--timeout", "2s"}, {"true"}));
        BOOST_TEST(r.status == 121);
        BOOST_TEST(is_one_line(r.err));
        BOOST_TEST(has(r.err, "zk.silent"), r.err);
        BOOST_TEST((r.took < cost_of_silence - 1s), r.took / 1ms << " ms");
        BOOST_TEST(names.was_asked());

        for (const auto& arguments :
             {with({"--servers", "zk.silent:2181"}, {"true"}),
              std::vector<std::string>{"ls", "--servers", "zk.silent:2181", "/"}}) {
            const silent_names others{more};
            const auto begin = std::chrono::steady_clock::now();
            colock_process p{"", arguments, {}, others.program()};
            BOOST_TEST(wait_until([&] { return others.was_asked(); }, patience));
            p.process().send_signal(SIGTERM);
            BOOST_TEST(p.status() == 128 + SIGTERM);
            BOOST_TEST((std::chrono::steady_clock::now() - begin < cost_of_silence - 1s));
        }
    }
}

BOOST_AUTO_TEST_CASE(known_addresses_are_tried_while_names_are_looked_up)
{
    const auto port = servers.substr(servers.find(':'));
    for (const auto& more : {std::string{}, search}) {
        const silent_names names{more};
        // An address, and a name that the machine itself knows.
        for (const auto& good : {servers, "localhost" + port}) {
            const auto both = "zk.silent:2181," + good;
            const auto ran = run_with(names, with({"--servers", both}, {"echo", "done"}));
            BOOST_TEST(ran.status == 0, ran.err);
            BOOST_TEST(ran.out == "done\n");
            BOOST_TEST((ran.took < cost_of_silence - 1s), ran.took / 1ms << " ms");

            const auto listed = run_with(names, {"ls", "--servers", both, "/"});
            BOOST_TEST(listed.status != 121, listed.err);
            BOOST_TEST((listed.took < cost_of_silence - 1s), listed.took / 1ms << " ms");
        }
        const auto seen = run_with(names, {"doctor", "--servers", "zk.silent:2181," + servers});
        BOOST_TEST(has(seen.out, "zk.silent:2181 does not answer"), seen.out);
        BOOST_TEST(has(seen.out, "ok       latency"), seen.out);
        BOOST_TEST((seen.took < cost_of_silence - 1s), seen.took / 1ms << " ms");
        BOOST_TEST(names.was_asked());
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(a_limit_bounds_the_wait_for_the_lock_and_zero_is_a_try)
{
    for (const auto& limit : {"0", "25d"}) {
        BOOST_TEST(run({"--timeout", limit}, {"true"}).status == 0, limit);
        const auto led =
            run_colock(servers, {"elect", "--timeout", limit, path + "-led", "--", "true"});
        BOOST_TEST(led.status == 0, led.err);
    }
    // So short a time may pass before the grant, but the servers are there.
    const auto tiny = run({"--timeout", "1ms"}, {"true"});
    BOOST_TEST((tiny.status == 0 || tiny.status == 124), tiny.err);

    for (const std::string kind : {"run", "elect"}) {
        const auto at = path + '-' + kind;
        colock_process holder{servers, {kind, at, "--", "cat"}};
        admin_session admin{servers};
        BOOST_REQUIRE(wait_until([&] { return queue_length(admin, at) == 1; }, patience));
        BOOST_TEST(run_colock(servers, {kind, "--timeout", "0", at, "--", "true"}).status == 123);
        const auto late = run_colock(servers, {kind, "--timeout", "50ms", at, "--", "true"});
        BOOST_TEST(late.status == 124);
        BOOST_TEST(is_one_line(late.err));
        holder.process().close_input();
        BOOST_TEST(holder.status() == 0);
    }
}

BOOST_AUTO_TEST_CASE(a_limit_that_runs_out_in_an_outage_has_passed)
{
    for (const bool silent : {false, true}) {
        path += silent ? "-silent" : "-gone";
        colock_process holder{servers, with({}, {"cat"})};
        BOOST_REQUIRE(queue_has(1));
        tcp_proxy proxy{servers};
        colock_process waiter{proxy.connect_string(), with({"--timeout", "4s"}, {"true"})};
        BOOST_REQUIRE(queue_has(2));
        if (silent) {
            proxy.stall(true);
        } else {
            proxy.refuse(true);
            proxy.cut();
        }
        BOOST_TEST(waiter.status() == 124);
        BOOST_TEST(is_one_line(waiter.err()));
        holder.process().close_input();
        BOOST_TEST(holder.status() == 0);
    }
}

// The look at the outer locks comes before the wait, and counts.
BOOST_AUTO_TEST_CASE(a_limit_holds_below_another_lock)
{
    for (const auto& [limit, status] : {std::pair{"0", 121}, std::pair{"3s", 124}}) {
        tcp_proxy proxy{servers};
        const auto answer = proxy.on_reply(any_get_children(), reaction::hold);
        const auto r =
            run({"--shared"}, {COLOCK_PROGRAM, "run", "--shared", "--servers",
                               proxy.connect_string(), "--timeout", limit, path, "--", "true"});
        BOOST_TEST(r.status == status, r.err);
        BOOST_TEST(is_one_line(r.err), r.err);
        BOOST_TEST(answer.fired() == 1U);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_times_test
