// Processes of this colock and of the last commit of 0.1 in one queue, on a real server: with what 0.1 writes into a
// directory, what it remembers of one, and what it does near the end of a directory's numbers.
#include <support/snapshot.hpp>
#include <support/tcp_proxy.hpp>
#include <support/wait_until.hpp>

#include "both_versions.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace colock::test;

namespace {

const std::string path = "/locks/one";

// What 0.1 writes into a directory that it has made.
const std::string signature = "made by colock, to be deleted when it is empty";
const std::string mark = signature + "\nnobody is left up to ";

constexpr std::int32_t overflow = std::numeric_limits<std::int32_t>::max(); // 2^31 - 1
constexpr std::int32_t last_number = overflow - (1 << 20) + 1; // not granted from here on
// From here on contenders of ours make way, and those of 0.1 drain.
constexpr std::int32_t late_from_number = overflow - (1 << 24) + 1;

const std::string exhausted = "the sequence numbers of the lock's directory are used up";

std::int64_t number_of(const std::string& node)
{
    return std::stoll(node.substr(node.size() - 10));
}

zookeeper_options old_server()
{
    zookeeper_options options;
    options.container_check_interval = 1h; // the servers delete no directory
    options.jvm_flags = {"-Dzookeeper.digest.enabled=false"};
    return options;
}

struct scene : both_versions {
    scene() : both_versions{old_server()} {}

    bool queue_has(std::size_t number, const std::string& directory = path) const
    {
        auto operator_ = admin();
        return wait_until(
            [&] {
                const auto found = operator_.exists(directory);
                return found ? static_cast<std::size_t>(found->num_children) == number
                             : number == 0;
            },
            patience);
    }
    // The transaction that has made the directory; 0: it is not there.
    std::int64_t made_in(const std::string& directory = path) const
    {
        const auto found = admin().exists(directory);
        return found ? found->czxid : 0;
    }
    static void take_a_turn(peer& p, const std::string& directory = path)
    {
        p.ask("lock " + directory, "locked");
        p.ask("unlock " + directory, "unlocked");
    }

    struct contender {
        peer* process;
        bool is_earlier;
        std::size_t left = 0; // turns
        std::size_t taken = 0;
        bool killed = false;
    };
    std::vector<contender> ten_of_both()
    {
        std::vector<contender> all;
        for (int i = 0; i != 10; ++i) {
            all.push_back({&ours(), false});
            all.push_back({&earlier(), true});
        }
        return all;
    }

    struct outcome {
        std::size_t ours = 0, earlier = 0;
        std::map<std::string, std::size_t> errors;
        std::int64_t first = -1, highest = -1, last = -1; // numbers of nodes that were granted
    };
    // Each of them wants the lock so many times. While one has it nobody else may get it. Who gets an error asks again, up
    // to `most_errors` of all. `kills`: in the middle one waiter of each program is killed.
    static outcome take_turns(std::vector<contender>& all, std::size_t times,
                              const std::string& directory = path, std::size_t most_errors = 0,
                              bool kills = false)
    {
        outcome result;
        std::size_t errors_left = most_errors;
        for (auto& each : all) {
            each.left = times;
            each.process->tell("lock " + directory);
        }
        const auto failed = [&](contender& c, const std::string& answer) {
            ++result.errors[answer];
            if (answer.rfind("error ", 0) != 0 || errors_left == 0) {
                c.left = 0;
            } else {
                --errors_left;
                c.process->tell("lock " + directory);
            }
        };
        const auto anybody_left = [&] {
            return std::ranges::any_of(all, [](const contender& c) { return c.left != 0; });
        };
        auto since = std::chrono::steady_clock::now();
        while (anybody_left()) {
            contender* holder = nullptr;
            for (auto& each : all) {
                const auto answer =
                    each.left != 0 ? each.process->answer(1ms) : std::optional<std::string>{};
                if (!answer) {
                    continue;
                }
                since = std::chrono::steady_clock::now();
                if (answer->rfind("locked ", 0) != 0) {
                    failed(each, *answer);
                    continue;
                }
                holder = &each;
                result.last = number_of(*answer);
                break;
            }
            if (holder == nullptr) {
                const bool goes_on = std::chrono::steady_clock::now() - since < patience;
                BOOST_TEST_REQUIRE(goes_on, "nobody is granted the lock");
                continue;
            }
            result.first = result.first < 0 ? result.last : result.first;
            result.highest = std::max(result.highest, result.last);
            ++(holder->is_earlier ? result.earlier : result.ours);
            ++holder->taken;
            if (kills && result.ours + result.earlier == all.size()) {
                for (const bool of_earlier : {false, true}) {
                    auto& waiter = *std::ranges::find_if(all, [&](const contender& c) {
                        return &c != holder && c.left == times - 1 && c.is_earlier == of_earlier;
                    });
                    waiter.process->kill();
                    waiter.left = 0;
                    waiter.killed = true;
                }
            }
            // Twenty milliseconds or more, in which somebody else would get in.
            for (auto& other : all) {
                if (&other == holder || other.left == 0) {
                    continue;
                }
                if (const auto answer = other.process->answer(1ms)) {
                    BOOST_TEST_REQUIRE(answer->rfind("locked ", 0) != 0,
                                       "two hold the lock: "
                                           << (holder->is_earlier ? "0.1 " : "ours ") << result.last
                                           << ", " << (other.is_earlier ? "0.1 " : "ours ")
                                           << *answer);
                    failed(other, *answer);
                }
            }
            holder->process->ask("unlock " + directory, "unlocked");
            if (--holder->left != 0) {
                holder->process->tell("lock " + directory);
            }
        }
        return result;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(colock_0_1, scene)

// ---- what 0.1 writes

BOOST_AUTO_TEST_CASE(G1_twenty_in_turns_where_0_1_writes_its_signature_and_its_mark)
{
    take_a_turn(earlier()); // which makes the directory
    BOOST_TEST(admin().get(path) == signature);
    admin().create("/counter", "0");
    auto all = ten_of_both();
    for (auto& each : all) {
        each.process->tell("turns " + path + " 50 /counter");
    }
    auto operator_ = admin();
    BOOST_TEST(wait_until([&] { return operator_.get(path).rfind(mark, 0) == 0; }, patience),
               "0.1 writes no mark here");
    for (auto& each : all) {
        BOOST_TEST(each.process->expect("done") == "50");
    }
    BOOST_TEST(admin().get("/counter") == "1000");
    BOOST_TEST(queue_has(0));

    // In a directory with the last mark, and where waiters die.
    const auto t = take_turns(all, 5, path, 0, true);
    BOOST_TEST(t.errors.empty());
    for (const auto& each : all) {
        BOOST_TEST((each.killed || each.taken == 5U));
    }
    BOOST_TEST(admin().get(path).rfind(signature, 0) == 0);
    BOOST_TEST(queue_has(0));
}

BOOST_AUTO_TEST_CASE(G1_twenty_in_turns_in_a_directory_of_ours)
{
    take_a_turn(ours());
    auto all = ten_of_both();
    const auto t = take_turns(all, 5);
    BOOST_TEST(t.errors.empty());
    BOOST_TEST(t.ours == 50U);
    BOOST_TEST(t.earlier == 50U);
    BOOST_TEST(admin().get(path).empty());
}

// ---- what 0.1 remembers

struct remembered : scene {
    // It was alone, so it counts the children when it joins next, instead of listing them; under the version of the data
    // that it knows.
    remembered()
    {
        for (int i = 0; i != 4; ++i) {
            take_a_turn(one);
        }
        const auto before = proxy.requests(opcode::multi);
        take_a_turn(one);
        BOOST_TEST_REQUIRE(proxy.requests(opcode::multi) == before + 1);
        BOOST_TEST_REQUIRE(admin().get(path) == signature);
        version = admin().exists(path)->version;
        directory = made_in();
    }

    // The directory has been replaced, and one of ours holds its lock.
    void is_kept_out_by(peer& holder)
    {
        BOOST_TEST(made_in() != directory);
        BOOST_TEST(queue_has(1));
        const auto before = proxy.requests(opcode::multi);
        one.tell("lock " + path);
        BOOST_TEST(queue_has(2));
        BOOST_TEST(proxy.requests(opcode::multi) == before + 1);
        BOOST_TEST(one.waits());
        auto& next = ours();
        next.tell("lock " + path);
        BOOST_TEST(queue_has(3));
        holder.ask("unlock " + path, "unlocked");
        one.expect("locked");
        BOOST_TEST(next.waits());
        one.ask("unlock " + path, "unlocked");
        next.expect("locked");
        next.ask("unlock " + path, "unlocked");
        std::vector<contender> all{{&one, true}, {&holder, false}, {&next, false}};
        const auto t = take_turns(all, 10);
        BOOST_TEST(t.errors.empty());
        BOOST_TEST(t.earlier == 10U);
        BOOST_TEST(t.ours == 20U);
    }
    // The servers accept the write of 0.1 then.
    void make_the_version_the_same() const
    {
        auto operator_ = admin();
        while (operator_.set(path, "").version != version) {
        }
    }

    tcp_proxy proxy{server.connect_string()};
    peer& one = earlier_at(proxy.connect_string());
    std::int32_t version = 0;
    std::int64_t directory = 0;
};

BOOST_FIXTURE_TEST_CASE(G1_0_1_remembers_a_directory_that_ours_have_made_anew, remembered)
{
    admin().remove(path); // as the servers do with empty containers
    auto& holder = ours();
    holder.ask("lock " + path, "locked");
    is_kept_out_by(holder);
    BOOST_TEST(admin().get(path).empty()); // the servers have refused what 0.1 wrote
}

BOOST_FIXTURE_TEST_CASE(G1_0_1_remembers_a_directory_and_the_new_one_has_the_same_version,
                        remembered)
{
    admin().remove(path);
    auto& holder = ours();
    holder.ask("lock " + path, "locked");
    make_the_version_the_same();
    is_kept_out_by(holder);
    BOOST_TEST(admin().get(path) == signature); // it has written
}

// The other way: 0.1 waits while somebody of ours comes, and another one waits behind it.
BOOST_FIXTURE_TEST_CASE(G1_ours_wait_for_0_1_that_has_counted, remembered)
{
    one.ask("lock " + path, "locked");
    auto& next = ours();
    next.tell("lock " + path);
    BOOST_TEST(queue_has(2));
    BOOST_TEST(next.waits());
    one.ask("unlock " + path, "unlocked");
    next.expect("locked");
    one.tell("lock " + path);
    BOOST_TEST(queue_has(2));
    BOOST_TEST(one.waits());
    next.ask("unlock " + path, "unlocked");
    one.expect("locked");
}

// Ours remove a directory near the end of its numbers. It has to have no data: CHANGELOG tells users to empty them.
BOOST_FIXTURE_TEST_CASE(G1_0_1_remembers_a_directory_that_ours_have_removed, remembered)
{
    admin().set(path, "");
    set_sequence_counters(server, {{path, late_from_number}});
    BOOST_TEST_REQUIRE(wait_until([&] { return proxy.live() == 1; }, patience));
    BOOST_TEST(proxy.sessions().size() == 1U); // so 0.1 still remembers
    auto& holder = ours();
    BOOST_TEST(number_of(holder.ask("lock " + path, "locked")) == late_from_number);
    holder.ask("unlock " + path, "unlocked");
    BOOST_TEST(wait_until([&] { return made_in() == 0; }, patience));
    BOOST_TEST(number_of(holder.ask("lock " + path, "locked")) == 0);
    make_the_version_the_same();
    is_kept_out_by(holder);
}

// ---- late numbers

BOOST_AUTO_TEST_CASE(G1_G4_the_end_of_the_numbers)
{
    struct place {
        std::string path;
        bool is_signed; // made by 0.1
        std::int32_t counter;
    };
    const std::vector<place> places{
        {"/signed_late", true, late_from_number - 5}, {"/late", false, late_from_number - 5},
        {"/signed_last", true, last_number - 20},     {"/last", false, last_number - 20},
        {"/signed_over", true, overflow - 3},         {"/over", false, overflow - 3},
    };
    std::map<std::string, std::int32_t> counters;
    {
        auto &a = ours(), &b = earlier();
        for (const auto& p : places) {
            take_a_turn(p.is_signed ? b : a, p.path);
            BOOST_TEST(admin().get(p.path) == (p.is_signed ? signature : ""));
            counters[p.path] = p.counter;
        }
    }
    set_sequence_counters(server, counters);

    auto all = ten_of_both();
    for (const auto& p : places) {
        BOOST_TEST_CONTEXT(p.path)
        {
            const auto before = made_in(p.path);
            const auto t = take_turns(all, 3, p.path, 100'000);
            std::size_t failed = 0;
            for (const auto& [text, times] : t.errors) {
                BOOST_TEST(text.find(exhausted) != std::string::npos, text);
                failed += times;
            }
            std::cout << "figure: " << p.path << ": " << t.ours << " turns of ours, " << t.earlier
                      << " of 0.1; the first number " << t.first << ", the highest " << t.highest
                      << ", the last " << t.last << "; " << failed << " refused\n";
            BOOST_TEST(t.ours == 30U);
            BOOST_TEST(t.earlier == 30U);
            BOOST_TEST(t.highest < last_number);
            BOOST_TEST(made_in(p.path) != before);
            BOOST_TEST(queue_has(0, p.path));
        }
    }
}

// As CHANGELOG says: where 0.1 keeps the queue of an unsigned directory busy, the numbers run on, and ours stand by. They come
// when 0.1 pauses, and the directory begins anew.
BOOST_AUTO_TEST_CASE(G1_0_1_makes_no_way_in_a_directory_of_ours)
{
    take_a_turn(ours());
    set_sequence_counters(server, {{path, late_from_number}});
    const auto before = made_in();
    peer *holder = &earlier(), *waiter = &earlier();
    auto& stands_by = ours();
    auto number = number_of(holder->ask("lock " + path, "locked"));
    BOOST_TEST(number == late_from_number);
    waiter->tell("lock " + path);
    BOOST_TEST(queue_has(2));
    stands_by.tell("lock " + path);
    BOOST_TEST(stands_by.waits());
    for (int i = 0; i != 10; ++i) {
        BOOST_TEST(queue_has(2)); // the third one has no node
        holder->ask("unlock " + path, "unlocked");
        const auto next = number_of(waiter->expect("locked"));
        BOOST_TEST(next > number);
        number = next;
        std::swap(holder, waiter);
        waiter->tell("lock " + path);
        BOOST_TEST(stands_by.waits());
    }
    BOOST_TEST(made_in() == before);
    BOOST_TEST(queue_has(2));
    holder->ask("unlock " + path, "unlocked");
    waiter->expect("locked");
    waiter->ask("unlock " + path, "unlocked");
    stands_by.expect("locked");
    BOOST_TEST(made_in() == before);
    stands_by.ask("unlock " + path, "unlocked");
    BOOST_TEST(wait_until([&] { return made_in() == 0; }, patience));
    BOOST_TEST(number_of(holder->ask("lock " + path, "locked")) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
