// Parts of the looking commands, without a server: names, answers of servers, circles of waiting.
#include <support/sanitizers.hpp>
#include <support/subprocess.hpp>

#include "connect/four_letter_word.hpp"
#include "health/findings.hpp"
#include "health/server_look.hpp"
#include "look/deadlock.hpp"
#include "look/hands.hpp"
#include "look/local_process.hpp"
#include "look/session_facts.hpp"
#include "names/lock_kind.hpp"

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <cerrno> // program_invocation_short_name
#include <chrono>
#include <string>
#include <vector>

namespace colock::test::look_parts_test {

using namespace colock::cli;

BOOST_AUTO_TEST_SUITE(look_parts)

BOOST_AUTO_TEST_CASE(servers_of_a_connect_string)
{
    const std::vector<endpoint> some{{"a", "1"}, {"::1", "2"}, {"b", "2181"}, {"::2", "2181"}};
    BOOST_TEST((endpoints_of("a:1,[::1]:2,b,[::2]/chroot") == some));
    BOOST_TEST((endpoints_of(" a:1, [::1]:2 ,b,\t[::2] , /chroot") == some));
    BOOST_TEST(endpoints_of("").empty());
    BOOST_TEST(endpoints_of(" , ").empty());
    BOOST_TEST(shown(some[1]) == "[::1]:2");
    BOOST_TEST(is_refusal("cons is not executed because it is not in the whitelist."));
}

BOOST_AUTO_TEST_CASE(limits_of_sessions_are_compared_where_they_are_known)
{
    using namespace std::chrono_literals;
    const auto judged = [](std::chrono::milliseconds a, std::chrono::milliseconds b) {
        findings found{false};
        judge_sessions({{.answers = true, .shortest = a, .longest = 40s},
                        {.answers = true, .shortest = b, .longest = 40s}},
                       {}, found);
        return found.json();
    };
    const std::string differ = "the limits differ among the servers";
    BOOST_TEST(judged(4s, 6s).find(differ) != std::string::npos);
    BOOST_TEST(judged(4s, 4s).find(differ) == std::string::npos);
    BOOST_TEST(judged(4s, 0s).find(differ) == std::string::npos);
    BOOST_TEST(judged(0s, 4s).find("sessions last from 4.0 s up to 40.0 s") != std::string::npos);
    BOOST_TEST(judged(0s, 0s).find(differ) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(kinds_by_the_names_of_nodes)
{
    const auto kind_at = [](const std::string& name) {
        const auto found = kind_of(name);
        return found ? std::string{word_for(found->what)} : std::string{};
    };
    const std::string guid = "01234567-0123-4123-8123-0123456789ab";
    BOOST_TEST(kind_at("_c_" + guid + "-lock-0000000007") == "mutex");
    BOOST_TEST(kind_at("_c_" + guid + "-lock--2147483648") == "mutex");
    BOOST_TEST(kind_at("_c_" + guid + "-__WRIT__0000000007") == "shared_mutex");
    BOOST_TEST(kind_at("_c_" + guid + "-__READ__-2147483640") == "shared_mutex");
    BOOST_TEST(kind_at("_c_" + guid + "-latch-0000000007") == "election");
    BOOST_TEST(kind_at("0123456789abcdef0123456789abcdef__lock__0000000007") == "kazoo");
    BOOST_TEST(kind_at("0123456789abcdef0123456789abcdef__rlock__0000000007") == "kazoo");
    BOOST_TEST(kind_at("x-72058668236210177-0000000007") == "recipe");
    BOOST_TEST(kind_at(guid + "-orders_lock_0000000007") == "named");
    for (const auto* other :
         {"lock", "0000000007", "item-0000000007", "locks", "-lock-000000007"}) {
        BOOST_TEST(kind_at(other).empty(), other);
    }
    const auto mixed = kinds_among({"locks", "leases", "b-lock-0000000002", "a-lock-0000000001",
                                    "c__lock__0000000003", "other"});
    BOOST_TEST_REQUIRE(mixed.size() == 3U);
    BOOST_TEST((mixed[0].what == &kinds::mutex && mixed[0].count == 2));
    BOOST_TEST(mixed[0].example == "a-lock-0000000001");
    BOOST_TEST((mixed[1].what == &kinds::kazoo && mixed[2].what == &kinds::semaphore));
    // "locks" is gone while nobody waits. Alone it may be any directory, such as that of all locks.
    BOOST_TEST_REQUIRE(kinds_among({"leases"}).size() == 1U);
    BOOST_TEST((kinds_among({"leases"})[0].what == &kinds::semaphore));
    BOOST_TEST(kinds_among({"locks"}).empty());
}

// Strangers may make them.
BOOST_AUTO_TEST_CASE(a_hundred_thousand_named_locks_are_told_apart_soon)
{
    std::vector<std::string> names;
    for (int i = 0; i != 100'000; ++i) {
        names.push_back("00000001-0000-4000-8000-000000000000-" + std::to_string(i) +
                        "_lock_0000000001");
    }
    const auto begun = std::chrono::steady_clock::now();
    BOOST_TEST(kinds_among(names).size() == names.size());
    const std::chrono::seconds soon{sanitized ? 60 : 10};
    BOOST_TEST((std::chrono::steady_clock::now() - begun < soon));
}

BOOST_AUTO_TEST_CASE(connections_that_a_server_tells)
{
    const auto all = connections_in_cons(
        " /127.0.0.1:53542[1](queued=0,recved=13,sent=13,sid=0x10000fa1b350000,lop=MULT,est=1,"
        "to=4000,lcxid=0x6b,lzxid=0xb,lresp=16407792,llat=2,minlat=0,avglat=2,maxlat=6)\n"
        " /[0:0:0:0:0:0:0:1]:53550[1](queued=0,sid=0xffffffffffffffff,to=1,lresp=x)\n"
        " /127.0.0.1:53558[0](queued=0,recved=1,sent=0)\n\nrubbish (sid=0x1 /(\n");
    BOOST_TEST_REQUIRE(all.size() == 2U);
    const auto& first = all.at(0x10000fa1b350000);
    BOOST_TEST(first.address == "127.0.0.1:53542");
    BOOST_TEST((first.timeout == std::chrono::seconds{4} && first.last_heard == 16407792));
    BOOST_TEST(all.at(-1).address == "[0:0:0:0:0:0:0:1]:53550");
    BOOST_TEST(!all.at(-1).last_heard);
    // What could not be subtracted, or told in nanoseconds.
    for (const auto* wrong : {"-9223372036854775808", "-1", "9223372036854775807"}) {
        const auto some = connections_in_cons(std::string{" /a:1[1](sid=0x7,to="} + wrong +
                                              ",lresp=" + wrong + ",llat=2)\n");
        BOOST_TEST_REQUIRE(some.size() == 1U);
        BOOST_TEST((some.at(7).timeout.count() == 0 && !some.at(7).last_heard), wrong);
        const auto told = connections_in_json(
            std::string{R"({"connections":[{"session_id":7,"session_timeout":)"} + wrong +
            R"(,"last_response_time":)" + wrong + "}]}");
        BOOST_TEST_REQUIRE((told && told->size() == 1U));
        BOOST_TEST((told->at(7).timeout.count() == 0 && !told->at(7).last_heard), wrong);
    }

    const auto json = connections_in_json(
        R"({"connections":[{"remote_socket_address":"127.0.0.1:1","session_id":7,)"
        R"("session_timeout":4000,"last_response_time":9},{"session_id":"x"},3],)"
        R"("secure_connections":[{"session_id":8}],"command":"connections","error":null})");
    BOOST_TEST_REQUIRE((json && json->size() == 2U));
    BOOST_TEST((json->at(7).address == "127.0.0.1:1" && json->at(7).last_heard == 9));
    for (const auto* wrong : {"", "[]", "{}", "{\"connections\":", "<html>"}) {
        BOOST_TEST(!connections_in_json(wrong), wrong);
    }
}

BOOST_AUTO_TEST_CASE(servers_of_an_ensemble)
{
    BOOST_TEST(servers_in_config("") == 1U); // one that stands alone
    BOOST_TEST(servers_in_config("server.1=a:2888:3888:participant;0.0.0.0:2181\n"
                                 "server.2=b:2888:3888:participant\nserver.9=c:1:2:observer\n"
                                 "group.1=1:2\nversion=100000000") == 3U);
}

BOOST_AUTO_TEST_CASE(a_word_is_the_same_in_each_shell)
{
    const std::string all[] = {R"(plain/word-1)",      R"(it's)", R"(a\\b\)",  R"(\';echo no;'\'')",
                               R"($(echo no) `echo`)", R"(\n)",   R"(x "y" *)"};
    for (const std::string shell : {"sh", "bash", "zsh", "fish"}) {
        if (test::find_program(shell).empty()) {
            continue;
        }
        for (const auto& word : all) {
            test::subprocess p{{shell, "-c", "printf '%s.\\n' " + shell_word(word)},
                               {.capture_output = true}};
            BOOST_TEST(p.read_line(std::chrono::seconds{30}).value_or("nothing") == word + '.',
                       shell);
        }
    }
    BOOST_TEST(shell_word("a line\nfeed").empty());
}

BOOST_AUTO_TEST_CASE(processes_of_this_machine)
{
    const auto self = "host=" + this_host() + " pid=" + std::to_string(::getpid());
    const auto state = [](const std::string& data, std::chrono::system_clock::time_point since) {
        queue_entry e;
        e.data = data;
        return look_at_process(e.owner(), since).state;
    };
    const auto now = std::chrono::system_clock::now();
    BOOST_TEST(
        (state(self + " program=" + program_invocation_short_name, now) == process_state::running));
    // Began later, by this clock: the servers' may be behind.
    const auto before = now - std::chrono::hours{1};
    BOOST_TEST((state(self + " program=" + program_invocation_short_name, before) ==
                process_state::unknown));
    BOOST_TEST((state(self + " program=other", now) == process_state::another_one));
}

BOOST_AUTO_TEST_CASE(changes_of_the_last_minute)
{
    using namespace std::chrono_literals;
    hands h;
    queue_entry holder;
    const std::chrono::steady_clock::time_point began{1h};
    BOOST_TEST(h.a_minute(began) == "-");
    for (int i = 0; i != 7; ++i) {
        holder.czxid = holder.number = i;
        h.seen(holder, began + i * 10s);
    }
    BOOST_TEST(h.a_minute(began + 60s) == "6.0");
    // Nobody holds it any more, so nothing is seen.
    BOOST_TEST(h.a_minute(began + 95s) == "3.0");
    BOOST_TEST(h.a_minute(began + 10min) == "0.0");
    BOOST_TEST(!h.is_idle(began + 95s));
    BOOST_TEST(h.is_idle(began + 10min));
}

BOOST_AUTO_TEST_CASE(nodes_of_sessions_that_a_server_tells)
{
    const auto all = nodes_in_dump("SessionTracker dump:\n\t0x1\nephemeral nodes dump:\n"
                                   "Sessions with Ephemerals (2):\n0x7:\n\t/a/b\n\t/c\n"
                                   "nonsense\n\t/lost\n0x8:\n\t/d\nConnections dump:\n\tip: /x\n");
    BOOST_TEST_REQUIRE(all.size() == 2U);
    BOOST_TEST((all.at(7) == std::vector<std::string>{"/a/b", "/c"}));
    BOOST_TEST((all.at(8) == std::vector<std::string>{"/d"}));
    const auto json =
        nodes_in_json(R"({"session_id_to_ephemeral_paths":{"7":["/a",1],"x":["/b"]}})");
    BOOST_TEST_REQUIRE((json && json->size() == 1U));
    BOOST_TEST((json->at(7) == std::vector<std::string>{"/a"}));
    BOOST_TEST(!nodes_in_json("{}"));
}

namespace {

seen_lock lock_at(const std::string& path, std::vector<queue_entry> entries)
{
    seen_lock l;
    l.path = path;
    l.exists = true;
    l.what = &kinds::mutex;
    std::int64_t number = 0;
    for (auto& e : entries) {
        e.number = number;
        e.path = path + "/n" + std::to_string(number++);
        e.holds = e.number == 0;
    }
    l.queue.entries = std::move(entries);
    return l;
}

queue_entry of_session(std::int64_t session)
{
    queue_entry e;
    e.session = session;
    return e;
}

queue_entry under(std::int64_t session, const std::string& node)
{
    auto e = of_session(session);
    e.data = "host=h pid=" + std::to_string(session) + " under=" + node + " program=sh";
    return e;
}

} // namespace

BOOST_AUTO_TEST_CASE(circles_of_waiting)
{
    const auto size = [](const std::vector<seen_lock>& all) {
        return find_deadlock(all, all.size()).size();
    };
    // Two sessions and two locks; three of each.
    BOOST_TEST(size({lock_at("/a", {of_session(1), of_session(2)}),
                     lock_at("/b", {of_session(2), of_session(1)})}) == 4U);
    BOOST_TEST(size({lock_at("/a", {of_session(1), of_session(3)}),
                     lock_at("/b", {of_session(2), of_session(1)}),
                     lock_at("/c", {of_session(3), of_session(2)})}) == 6U);
    // A chain, and two waiters of one session, are none.
    BOOST_TEST(size({lock_at("/a", {of_session(1), of_session(2)}),
                     lock_at("/b", {of_session(3), of_session(1)})}) == 0U);
    BOOST_TEST(size({lock_at("/a", {of_session(3), of_session(1)}),
                     lock_at("/b", {of_session(4), of_session(1)})}) == 0U);
    // A command that waits for the lock under which it runs.
    BOOST_TEST(size({lock_at("/a", {of_session(1), under(2, "/a/n0")})}) == 2U);
    // Two commands of one shell, one of which waits for the other: that ends.
    BOOST_TEST(size({lock_at("/a", {of_session(1)}),
                     lock_at("/b", {under(2, "/a/n0"), under(3, "/a/n0")})}) == 0U);
    // The waiters of a semaphore once more, in the directory where they stand.
    auto pool = lock_at("/s", {of_session(1), of_session(1)});
    pool.what = &kinds::semaphore;
    BOOST_TEST(size({pool, lock_at("/s/locks", {of_session(2), of_session(1)})}) == 0U);
    // Nested commands in a circle.
    BOOST_TEST(size({lock_at("/a", {of_session(1), under(4, "/b/n0")}),
                     lock_at("/b", {of_session(2), under(3, "/a/n0")})}) == 4U);
}

BOOST_AUTO_TEST_CASE(circles_over_a_semaphore_that_several_hold)
{
    const auto size = [](std::vector<queue_entry> pool, std::int64_t permits,
                         std::vector<queue_entry> mutex) {
        auto s = lock_at("/s", std::move(pool));
        s.what = &kinds::semaphore;
        s.permits = permits;
        s.queue.entries[1].holds = true;
        const std::vector<seen_lock> all{s, lock_at("/m", std::move(mutex))};
        return find_deadlock(all, all.size()).size();
    };
    const auto one = of_session(1), two = of_session(2), three = of_session(3);
    // Both holders wait for the one who waits for a permit.
    BOOST_TEST(size({one, two, three}, 2, {three, one, two}) == 4U);
    // One of the holders works, or a permit is free: that ends.
    BOOST_TEST(size({one, two, three}, 2, {three, one}) == 0U);
    BOOST_TEST(size({one, two, three}, 3, {three, one, two}) == 0U);
}

BOOST_AUTO_TEST_CASE(circles_that_nobody_asked_for)
{
    const std::vector<seen_lock> all{lock_at("/mine", {of_session(9), of_session(8)}),
                                     lock_at("/a", {of_session(1), of_session(2)}),
                                     lock_at("/b", {of_session(2), of_session(1)})};
    BOOST_TEST(find_deadlock(all, 1).empty());
    BOOST_TEST(find_deadlock(all, 2).size() == 4U);
}

BOOST_AUTO_TEST_CASE(words_for_a_circle)
{
    std::vector<seen_lock> all{lock_at("/a", {of_session(1), of_session(2)}),
                               lock_at("/b", {of_session(2), of_session(1)})};
    BOOST_TEST(deadlock_words(find_deadlock(all, 2)) ==
               "session 0x1 holds /a and waits for /b; session 0x2 holds /b and waits for /a");
    all = {lock_at("/a", {of_session(1), under(2, "/a/n0")})};
    BOOST_TEST(deadlock_words(find_deadlock(all, 1)) ==
               "session 0x1 holds /a and has started h:2 (sh), which waits for /a");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::look_parts_test
