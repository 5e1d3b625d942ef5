// The checker of the chaos: journals that are sound, and those that it has to find faulty.
#include "checker.hpp"

#include <boost/test/unit_test.hpp>

#include <sstream>
#include <string>
#include <vector>

using namespace chaos;

namespace {

constexpr std::uint64_t permits = 3;

journal journal_of(const std::string& process, const std::string& text)
{
    journal j{process, true, {}};
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) {
        if (!line.empty()) {
            const auto e = parse(line);
            BOOST_REQUIRE_MESSAGE(e, line);
            j.events.push_back(*e);
        }
    }
    return j;
}

std::string turn(const std::string& lock, const std::string& token, int from, int to)
{
    std::ostringstream text;
    text << from - 5 << " asked 1 " << lock << '\n'
         << from - 1 << " granted 1 " << token << '\n'
         << from << " holds 1\n"
         << to << " holds 1\n"
         << to + 1 << " leaving 1\n"
         << to + 2 << " left 1 0\n";
    return text.str();
}

// The only violation has this in its text.
void finds(const std::vector<journal>& journals, const std::string& part,
           const std::vector<register_entry>& accepted = {})
{
    const auto found = check(journals, accepted, permits).violations;
    BOOST_REQUIRE_EQUAL(found.size(), 1U);
    BOOST_TEST(found.front().find(part) != std::string::npos, found.front());
}

void is_sound(const std::vector<journal>& journals,
              const std::vector<register_entry>& accepted = {})
{
    for (const auto& v : check(journals, accepted, permits).violations) {
        BOOST_ERROR(v);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(chaos_checker)

BOOST_AUTO_TEST_CASE(a_line_is_read_as_it_was_written)
{
    const auto e = parse("17 told 3 12 colock:19");
    BOOST_REQUIRE(e);
    BOOST_TEST(e->at == 17);
    BOOST_TEST((e->what == what::told));
    BOOST_TEST(e->turn == 3U);
    BOOST_TEST(e->words == (std::vector<std::string>{"12", "colock:19"}),
               boost::test_tools::per_element());
    BOOST_TEST(!parse("17 wrote 3"));
    BOOST_TEST(!parse("17 told"));
    BOOST_TEST(!parse(""));
}

BOOST_AUTO_TEST_CASE(turns_one_after_the_other_are_sound)
{
    const std::vector journals{journal_of("a", turn("mutex exclusive", "01", 100, 200)),
                               journal_of("b", turn("mutex exclusive", "02", 201, 300)),
                               journal_of("c", turn("rw exclusive", "01", 150, 250))};
    is_sound(journals);
    BOOST_TEST(check(journals, {}, permits).turns == 3U);
    BOOST_TEST(granted_at(journals[1], 200).at("mutex") == 1U);
    BOOST_TEST(granted_at(journals[1], 201).empty());
}

BOOST_AUTO_TEST_CASE(two_who_hold_a_mutex_at_once_are_found)
{
    finds({journal_of("a", turn("mutex exclusive", "01", 100, 200)),
           journal_of("b", turn("mutex exclusive", "02", 190, 300))},
          "b turn 1 held it at 0.000000, a turn 1 held it at 0.000000 still (G1)");
}

BOOST_AUTO_TEST_CASE(a_long_turn_is_compared_with_all_that_begin_in_it)
{
    const auto found = check({journal_of("a", turn("mutex exclusive", "01", 100, 900)),
                              journal_of("b", turn("mutex exclusive", "02", 200, 300)),
                              journal_of("c", turn("mutex exclusive", "03", 400, 500))},
                             {}, permits);
    BOOST_TEST(found.violations.size() == 2U);
}

BOOST_AUTO_TEST_CASE(readers_share_and_writers_do_not)
{
    is_sound({journal_of("a", turn("rw shared", "01", 100, 200)),
              journal_of("b", turn("rw shared", "02", 150, 250)),
              journal_of("c", turn("rw exclusive", "03", 251, 300))});
    finds({journal_of("a", turn("rw shared", "01", 100, 200)),
           journal_of("b", turn("rw shared", "02", 150, 160)),
           journal_of("c", turn("rw exclusive", "03", 170, 300))},
          "a turn 1 held it");
    finds({journal_of("a", turn("rw exclusive", "01", 100, 200)),
           journal_of("b", turn("rw shared", "02", 150, 250))},
          "(G1)");
}

BOOST_AUTO_TEST_CASE(more_permits_than_there_are_are_found)
{
    is_sound({journal_of("a", turn("semaphore 2", "-", 100, 200)),
              journal_of("b", turn("semaphore 1", "-", 150, 250)),
              journal_of("c", turn("semaphore 2", "-", 200, 300))});
    finds({journal_of("a", turn("semaphore 2", "-", 100, 200)),
           journal_of("b", turn("semaphore 2", "-", 150, 250))},
          "4 permits were held");
    finds({journal_of("a", turn("semaphore 2", "-", 100, 200)),
           journal_of("b", turn("semaphore 2", "-", 150, 150))},
          "4 permits were held");
}

BOOST_AUTO_TEST_CASE(a_token_that_does_not_rise_is_found)
{
    for (const std::string token : {"02", "01"}) {
        finds({journal_of("a", turn("mutex exclusive", "02", 100, 200)),
               journal_of("b", turn("mutex exclusive", token, 201, 300))},
              "is not greater than 02");
    }
    finds({journal_of("a", turn("rw shared", "05", 100, 200)),
           journal_of("b", turn("rw shared", "02", 110, 120)),
           journal_of("c", turn("rw exclusive", "04", 201, 300))},
          "is not greater than 05");
    is_sound({journal_of("a", turn("rw shared", "05", 100, 200)),
              journal_of("b", turn("rw shared", "02", 110, 120))});
}

BOOST_AUTO_TEST_CASE(a_holder_that_is_told_too_late_is_found)
{
    const auto told = [](const std::string& ran) {
        return journal_of("a", "90 asked 1 mutex exclusive\n95 granted 1 01\n100 holds 1\n"
                               "110 lapsed 1\n260 told 1 " +
                                   ran + " colock:19\n261 leaving 1 dropped\n");
    };
    // It ran at 205, when the next one had been granted, and was not told.
    finds({told("205"), journal_of("b", turn("mutex exclusive", "02", 200, 300))},
          "ran at 0.000000 (G5)");
    // It was told before.
    BOOST_TEST(
        check({told("199"), journal_of("b", turn("mutex exclusive", "02", 300, 400))}, {}, permits)
                .leads == std::vector<nanoseconds>{40},
        boost::test_tools::per_element());
    // It did not run then.
    is_sound({told("199"), journal_of("b", turn("mutex exclusive", "02", 200, 300))});
    // It held two of three permits, and two more were granted.
    const auto permits_told =
        journal_of("a", "90 asked 1 semaphore 2\n95 granted 1 -\n100 holds 1\n110 lapsed 1\n"
                        "260 told 1 250 colock:19\n261 leaving 1 dropped\n");
    finds({permits_told, journal_of("b", turn("semaphore 2", "-", 200, 300))},
          "4 permits were held");
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_final_or_never_told_is_found)
{
    const std::string begin = "90 asked 1 mutex exclusive\n95 granted 1 01\n100 holds 1\n";
    finds({journal_of("a", begin + "110 lapsed 1\n120 holds 1\n")}, "what it had lost");
    finds({journal_of("a", begin + "110 leaving 1\n120 holds 1\n")}, "what it had lost or left");
    finds({journal_of("a", begin + "110 lapsed 1\n120 untold 1\n")}, "was not told");
}

BOOST_AUTO_TEST_CASE(operations_complete_exactly_once)
{
    const std::string begin = "90 asked 1 mutex exclusive\n95 granted 1 01\n";
    finds({journal_of("a", begin + "96 granted 1 01\n")}, "completed twice");
    finds({journal_of("a", begin + "96 refused 1 system:125\n")}, "completed twice");
    finds({journal_of("a", begin + "96 leaving 1\n97 left 1 0\n98 left 1 0\n")},
          "unlock completed twice");
    finds({journal_of("a", "90 asked 1 mutex exclusive\n99 closed 0\n")}, "has not completed");
    finds({journal_of("a", begin + "96 leaving 1\n99 closed 0\n")}, "unlock has not completed");
    is_sound({journal_of("a", begin + "96 leaving 1 dropped\n99 closed 0\n")});
    finds({journal_of("a", "95 granted 1 01\n")}, "before it was asked for");
    finds({journal_of("a", "90 asked 1 mutex exclusive\n91 asked 1 mutex exclusive\n")}, "twice");
    finds({journal_of("a", "90 asked 1 mutex exclusive\n91 holds 1\n")}, "what was not granted");
    finds({journal_of("a", "90 closed 0\n91 quiet 0\n")}, "behind \"closed\"");
    // A process that was killed leaves what it likes.
    is_sound({journal_of("a", "90 asked 1 mutex exclusive\n")});
}

BOOST_AUTO_TEST_CASE(what_the_register_tells_is_looked_at)
{
    const std::vector journals{journal_of("a", turn("mutex exclusive", "01", 100, 200)),
                               journal_of("b", turn("mutex exclusive", "02", 201, 300))};
    is_sound(journals, {{"mutex", "a", 1, "01"}, {"mutex", "a", 1, "01"}, {"mutex", "b", 1, "02"}});
    finds(journals, "a stale write", {{"mutex", "b", 1, "02"}, {"mutex", "a", 1, "03"}});
    finds(journals, "has the token of", {{"mutex", "a", 1, "01"}, {"mutex", "b", 1, "01"}});
    finds({journal_of("a", "90 asked 1 mutex exclusive\n95 granted 1 01\n100 holds 1\n"
                           "110 rejected 1\n120 holds 1\n")},
          "has seen a greater token");
}

BOOST_AUTO_TEST_SUITE_END()
