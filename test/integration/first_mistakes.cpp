// What a first program gets wrong, and what it is told: where, what, and what to do about it. The table of docs/errors.md
// is what this test has seen; with COLOCK_UPDATE_DOCS in the environment it writes the table there.
#include <colock/diagnostics.hpp>
#include <support/hostile_server.hpp>
#include <support/lock_scene.hpp>
#include <support/loopback_port.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

using namespace colock;
using namespace colock::test;

namespace {

struct told {
    error_code ec;
    std::string why;
};
struct mistake {
    const char* name;
    std::function<told(lock_scene&)> make;
};

told connecting(lock_scene& s, client_options options)
{
    diagnostics why;
    client zk{s.io, std::move(options)};
    outcome<> connected;
    zk.async_connect(bind_diagnostics(why, connected.handler()));
    const auto ec = code_of(s.io, connected);
    return {ec, why.message()};
}

template <class Lock>
told locking(lock_scene& s, Lock lock)
{
    diagnostics why;
    outcome<unique_lock> locked;
    lock.async_lock(bind_diagnostics(why, locked.handler()));
    const auto ec = code_of(s.io, locked);
    return {ec, why.message()};
}

const std::vector<mistake> mistakes{
    {"no server runs there, or the port is wrong",
     [](auto& s) {
         const loopback_port nobody;
         return connecting(s, {.hosts = nobody.address(), .connect_timeout = 3s});
     }},
    {"the port is wrong: another service listens there",
     [](auto& s) {
         hostile_server web;
         web.play([](const auto&, std::string) {
             hostile_server::answer page{"HTTP/1.1 400 Bad Request\r\n\r\n"};
             page.finish = true;
             return page;
         });
         return connecting(s, {.hosts = web.connect_string(), .connect_timeout = 3s});
     }},
    {"the host has no such name",
     [](auto& s) { return connecting(s, {.hosts = "zookeeper.invalid", .connect_timeout = 3s}); }},
    {"`hosts` is no list of servers",
     [](auto& s) { return connecting(s, {.hosts = "localhost:zookeeper"}); }},
    {"the chroot does not exist",
     [](auto& s) {
         return connecting(s, {.hosts = s.server.connect_string(), .chroot = "/services/shop"});
     }},
    {"the chroot has no '/'",
     [](auto& s) {
         return connecting(s, {.hosts = s.server.connect_string(), .chroot = "services/shop"});
     }},
    {"a digest credential has no ':'",
     [](auto& s) {
         return connecting(
             s, {.hosts = s.server.connect_string(), .credentials = {{"digest", "shop"}}});
     }},
    {"`async_connect` was forgotten",
     [](auto& s) {
         client zk{s.io, {.hosts = s.server.connect_string()}};
         return locking(s, mutex{zk, "/locks/orders"});
     }},
    {"the path has no '/'",
     [](auto& s) {
         return locking(s, mutex{s.connect(), "locks/orders"});
     }},
    {"the password is wrong, so that the directory refuses the client",
     [](auto& s) {
         auto& owner = s.connect({.credentials = {{"digest", "shop:right"}}, .acl = creator_acl()});
         outcome<unique_lock> first;
         mutex{owner, "/guarded"}.async_lock(first.handler());
         const auto held = value_of(s.io, first);
         return locking(s,
                        mutex{s.connect({.credentials = {{"digest", "shop:wrong"}}}), "/guarded"});
     }},
    {"the directory refuses clients without credentials",
     [](auto& s) {
         auto& owner = s.connect({.credentials = {{"digest", "shop:right"}}, .acl = creator_acl()});
         outcome<unique_lock> first;
         mutex{owner, "/private"}.async_lock(first.handler());
         const auto held = value_of(s.io, first);
         return locking(s, mutex{s.connect(), "/private"});
     }},
    {"`tick` is too long for the session",
     [](auto& s) {
         auto& zk = s.connect({.session_timeout = 4s, .tick = 4s});
         return locking(s, mutex{zk, "/locks/orders"});
     }},
    {"two objects for one path have other options",
     [](auto& s) {
         auto& zk = s.connect();
         outcome<unique_lock> first;
         mutex{zk, "/locks/stock", {.linger = 1s}}.async_lock(first.handler());
         const auto held = value_of(s.io, first);
         return locking(s, mutex{zk, "/locks/stock", {.linger = 2s}});
     }},
    {"the path is a lock of another kind, here",
     [](auto& s) {
         auto& zk = s.connect();
         outcome<unique_lock> first;
         mutex{zk, "/locks/cart"}.async_lock(first.handler());
         const auto held = value_of(s.io, first);
         return locking(s, shared_mutex{zk, "/locks/cart"});
     }},
    {"the path is a lock of another kind, elsewhere",
     [](auto& s) {
         outcome<unique_lock> first;
         mutex{s.connect(), "/locks/till"}.async_lock(first.handler());
         const auto held = value_of(s.io, first);
         return locking(s, shared_mutex{s.connect(), "/locks/till"});
     }},
};

// The ports of this run are of no interest.
std::string without_ports(const std::string& text)
{
    static const std::regex port{"(127\\.0\\.0\\.1):[0-9]+"};
    return std::regex_replace(text, port, "$1:2181");
}

// A client cannot see this one.
constexpr const char* a_tick_that_is_too_short =
    "| `tick` is shorter than the servers' `tickTime` | nothing: a holder may learn of a loss "
    "after the servers have "
    "granted the lock to another client ([G5](guarantees.md#g5-no-silent-loss)) |\n";

constexpr const char* begins = "<!-- first mistakes: written by a test -->\n";
constexpr const char* ends = "<!-- end -->\n";

} // namespace

BOOST_FIXTURE_TEST_CASE(what_a_first_program_gets_wrong_is_told_in_words, lock_scene)
{
    std::string table = "| what is wrong | the diagnostics say |\n|---|---|\n";
    for (const auto& each : mistakes) {
        BOOST_TEST_CONTEXT(each.name)
        {
            const auto [ec, why] = each.make(*this);
            BOOST_TEST(ec);
            BOOST_TEST(!why.empty());
            BOOST_TEST(!ec.message().empty());
            table += std::string{"| "} + each.name + " | " + without_ports(why) + " |\n";
            close_all();
        }
    }
    table += a_tick_that_is_too_short;

    const std::string file = COLOCK_DOCS "/errors.md";
    std::ifstream in{file};
    std::string page{std::istreambuf_iterator<char>{in}, {}};
    const auto from = page.find(begins);
    const auto to = page.find(ends);
    BOOST_REQUIRE(from != std::string::npos);
    BOOST_REQUIRE(to != std::string::npos);
    const auto first = from + std::string{begins}.size();
    if (std::getenv("COLOCK_UPDATE_DOCS") != nullptr) {
        page.replace(first, to - first, table);
        std::ofstream{file} << page;
    } else {
        BOOST_TEST(page.substr(first, to - first) == table,
                   "docs/errors.md has another table; run this with COLOCK_UPDATE_DOCS=1:\n"
                       << table);
    }
}
