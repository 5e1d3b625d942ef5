// Which children of a directory are contenders, and in which order they stand.

#include "names/contender_name.hpp"
#include "names/kinds.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test::naming_test {

using namespace std::literals;
using namespace colock::protocol;

namespace {

constexpr guid some{0x0123456789abcdef, 0xfedcba9876543210};

std::string text_of(const guid& g)
{
    std::string text;
    append(text, g);
    return text;
}

std::vector<std::string> names(const entries& queue)
{
    std::vector<std::string> all;
    for (const auto& e : queue) {
        all.emplace_back(e.name);
    }
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(naming)

BOOST_AUTO_TEST_CASE(guid_text)
{
    BOOST_TEST(text_of(some) == "01234567-89ab-cdef-fedc-ba9876543210");
    BOOST_TEST(text_of(guid{}) == "00000000-0000-0000-0000-000000000000");
    BOOST_TEST(text_of(guid{~std::uint64_t{0}, ~std::uint64_t{0}}) ==
               "ffffffff-ffff-ffff-ffff-ffffffffffff");
}

// A recovery looks for the guid of the last join only.
BOOST_AUTO_TEST_CASE(next_guid_is_another)
{
    auto g = some;
    g.next();
    BOOST_TEST(text_of(g) == "01234567-89ab-cdef-fedc-ba9876543211");
    guid last{7, ~std::uint64_t{0}};
    last.next();
    BOOST_TEST(text_of(last) == "00000000-0000-0007-0000-000000000000");
}

BOOST_AUTO_TEST_CASE(prefix_as_curator_writes_it)
{
    BOOST_TEST(std::string{name_prefix(curator_layout(), some)} ==
               "_c_01234567-89ab-cdef-fedc-ba9876543210-lock-");
}

BOOST_AUTO_TEST_CASE(prefix_and_number_come_back)
{
    for (const layout& l : {curator_layout(), layout{"", "x-"}, layout{"n_", "__lock__"}}) {
        BOOST_TEST(number_of(l, name_prefix(l, some) + "0000000042").value() == 42);
    }
}

BOOST_AUTO_TEST_CASE(number_of_each_kind_of_name)
{
    struct row {
        std::string_view name;
        std::optional<std::int64_t> number;
    };
    const row rows[] = {
        // Curator's, with and without protection; go-zookeeper's.
        {"_c_01234567-89ab-cdef-fedc-ba9876543210-lock-0000000007", 7},
        {"_c_01234567-89ab-cdef-fedc-ba9876543210-lock-2147483647", 2147483647},
        {"lock-0000000000", 0},
        {"_c_0123456789abcdeffedcba9876543210-lock-0000000012", 12},
        // Behind the overflow of the counter.
        {"_c_01234567-89ab-cdef-fedc-ba9876543210-lock--2147483648", -2147483648},
        {"lock--2147483647", -2147483647},
        {"lock--0000000000", {}},
        {"lock---2147483648", {}},
        // Malformed.
        {"", {}},
        {"lock-", {}},
        {"0000000001", {}},
        {"lock-000000001", {}},   // nine digits
        {"lock-00000000001", {}}, // eleven
        {"lock-000000000a", {}},
        {"lock-+000000001", {}},
        {"lock- 000000001", {}},
        {"lock-0000000001 ", {}},
        {"lock-0000000001-", {}},
        {"lock0000000001", {}},
        {"LOCK-0000000001", {}},
        {"lock-\0"
         "000000001"sv,
         {}},
        // Of other recipes.
        {"0123456789abcdeffedcba9876543210__lock__0000000001", {}}, // kazoo
        {"_c_01234567-89ab-cdef-fedc-ba9876543210-__WRIT__0000000001", {}},
        {"_c_01234567-89ab-cdef-fedc-ba9876543210-__READ__0000000001", {}},
        {"_c_01234567-89ab-cdef-fedc-ba9876543210-lease-0000000001", {}},
        {"x-72057594037927936-0000000001", {}},
        {"locks", {}},
        {"leases", {}},
    };
    for (const auto& r : rows) {
        const auto number = number_of(curator_layout(), r.name);
        BOOST_TEST_CONTEXT(r.name)
        {
            BOOST_TEST(number.has_value() == r.number.has_value());
            BOOST_TEST(number.value_or(0) == r.number.value_or(0));
        }
    }
}

// "lock-" and "lock--" are told apart by what precedes the digits.
BOOST_AUTO_TEST_CASE(number_behind_a_marker_that_ends_in_two_dashes)
{
    const layout l{"_c_", "lock--"};
    BOOST_TEST(number_of(l, "_c_x-lock--0000000007").value() == 7);
    BOOST_TEST(number_of(l, "_c_x-lock---2147483648").value() == -2147483648);
    BOOST_TEST(!number_of(l, "_c_x-lock-0000000007").has_value());
}

BOOST_AUTO_TEST_CASE(order_is_of_numbers_not_of_names)
{
    const std::vector<std::string> children{
        "_c_aaaaaaaa-0000-0000-0000-000000000000-lock-0000000010",
        "_c_ffffffff-0000-0000-0000-000000000000-lock-0000000002",
        "_c_bbbbbbbb-0000-0000-0000-000000000000-lock-2147483647",
        "_c_cccccccc-0000-0000-0000-000000000000-lock-0000000009",
        "lock-0000000003",
        // Sorted as texts these two would be the other way round.
        "_c_dddddddd-0000-0000-0000-000000000000-lock--2147483647",
        "_c_eeeeeeee-0000-0000-0000-000000000000-lock--2147483648",
    };
    const std::vector<std::string> expected{children[6], children[5], children[1], children[4],
                                            children[3], children[0], children[2]};
    BOOST_TEST(names(contenders(curator_layout(), children)) == expected,
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(others_are_no_contenders)
{
    const std::vector<std::string> nothing, foreign{"config", "ffff__lock__0000000000", "lock-12"},
        mixed{"config", "lock-0000000004", "lease-0000000001"}, expected{"lock-0000000004"};
    BOOST_TEST(contenders(curator_layout(), nothing).empty());
    BOOST_TEST(contenders(curator_layout(), foreign).empty());
    BOOST_TEST(names(contenders(curator_layout(), mixed)) == expected,
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(W4_latches_and_locks_are_different_queues)
{
    const std::vector<std::string> children{
        name_prefix(curator_layout(), guid{1, 2}) + "0000000001",
        name_prefix(curator_latch_layout(), guid{1, 3}) + "0000000002"};
    BOOST_REQUIRE(contenders(curator_layout(), children).size() == 1U);
    BOOST_TEST(contenders(curator_layout(), children).front().number == 1);
    BOOST_REQUIRE(contenders(curator_latch_layout(), children).size() == 1U);
    BOOST_TEST(contenders(curator_latch_layout(), children).front().number == 2);
}

BOOST_AUTO_TEST_CASE(locks_of_another_kind_are_recognised)
{
    const std::vector<std::string> mutexes{name_prefix(curator_layout(), guid{1, 2}) +
                                           "0000000005"};
    const std::vector<std::string> readers{name_prefix(curator_shared_layout(), guid{1, 3}, true) +
                                           "0000000005"};
    BOOST_TEST(!is_of_another_kind(curator_layout(), mutexes, 9));
    BOOST_TEST(!is_of_another_kind(curator_shared_layout(), readers, 9));
    BOOST_TEST(is_of_another_kind(curator_layout(), readers, 6));
    BOOST_TEST(!is_of_another_kind(curator_layout(), readers, 5)); // who was there first goes on
    BOOST_TEST(is_of_another_kind(curator_shared_layout(), mutexes, 6));
    BOOST_TEST(is_of_another_kind(curator_latch_layout(), mutexes, 6));
    BOOST_TEST(is_of_another_kind(curator_layout(), {"leases", "locks"}, 1));
    BOOST_TEST(is_of_another_kind(curator_layout(), {"leases"}, 1)); // nobody waits
    BOOST_TEST(!is_of_another_kind(curator_layout(), {"locks"}, 1)); // a lock of that name
}

BOOST_AUTO_TEST_CASE(kinds_are_told_apart_in_every_pair_of_layouts_that_names_tell)
{
    std::vector<layout> known;
    for (const auto* kind : detail::kinds::seen) {
        if (!kind->marker.empty()) {
            const auto& names = known.emplace_back(kind->names());
            BOOST_TEST(names.marker == kind->marker);
            BOOST_TEST(names.shared_marker == kind->shared_marker);
            BOOST_TEST(names.prefix == kind->prefix);
            BOOST_TEST(names.required_prefix.empty() == !kind->requires_prefix);
        }
    }
    BOOST_TEST(known.size() >= 5U);
    for (const auto& here : known) {
        for (const auto& there : known) {
            for (const bool shared : {false, true}) {
                if (shared && there.shared_marker.empty()) {
                    continue;
                }
                const std::vector<std::string> children{name_prefix(there, guid{1, 2}, shared) +
                                                        "0000000005"};
                BOOST_TEST(is_of_another_kind(here, children, 6) == (here != there),
                           children.front() << " in a queue of " << here.marker);
                BOOST_TEST(!is_of_another_kind(here, children, 5));
                BOOST_TEST(has_contenders(children));
            }
        }
    }
    const std::vector<std::string> go{name_prefix(go_zookeeper_layout(), guid{1, 2}) +
                                      "0000000005"};
    const std::vector<std::string> named{name_prefix(named_layout("a"), guid{1, 2}) + "0000000005"};
    BOOST_TEST(!is_of_another_kind(curator_layout(), go, 6)); // one queue
    BOOST_TEST(is_of_another_kind(curator_latch_layout(), go, 6));
    for (const auto& each : known) { // several locks in one directory, on purpose
        BOOST_TEST(!is_of_another_kind(each, named, 6));
        BOOST_TEST(!is_of_another_kind(named_layout("b"),
                                       {name_prefix(each, guid{1, 2}) + "0000000005"}, 6));
    }
    BOOST_TEST(!is_of_another_kind(layout{"", "door-"}, go, 6));
    BOOST_TEST(
        !number_of(named_layout("x"), name_prefix(named_layout("box"), guid{1, 2}) + "0000000005"));
    BOOST_TEST(!has_contenders({"locks", "leases", "config", "job-0000000001"}));
    BOOST_TEST(has_contenders({"locks", "leases", "lock-0000000007"})); // somebody's own recipe
}

BOOST_AUTO_TEST_CASE(duplicate_numbers_are_all_kept)
{
    const std::vector<std::string> twins{"a-lock-0000000004", "b-lock-0000000004"};
    BOOST_TEST(contenders(curator_layout(), twins).size() == 2u);
}

// ---- layouts

BOOST_AUTO_TEST_CASE(the_layouts_of_the_library_are_without_fault)
{
    for (const auto& l : {curator_layout(), curator_shared_layout(), curator_latch_layout(),
                          kazoo_layout(), go_zookeeper_layout(), zookeeper_recipe_layout(),
                          named_layout("a"), named_layout("a-")}) {
        BOOST_TEST(layout_fault(l) == "");
    }
}

BOOST_AUTO_TEST_CASE(a_layout_that_could_not_read_back_its_own_names_is_refused)
{
    struct bad {
        layout l;
        const char* says;
    };
    const bad all[] = {
        // The separator and the marker look like the sign of a number that has overflowed.
        {{.prefix = "x-", .marker = "-"}, "-0000000000"},
        // A reader whose number has overflowed looks like a writer.
        {{.prefix = "x", .marker = "-", .shared_marker = "r", .separator = ""}, "-2147483648"},
        {{.prefix = "", .marker = "lock-", .shared_marker = "lock--"}, "lock-"},
        {{.prefix = "", .marker = "a", .shared_marker = "a-"}, "a-2147483647"},
        {{.prefix = "", .marker = "a", .separator = std::string{"\0", 1}}, "contains a NUL"},
        {{.prefix = "\n", .marker = "a"}, "control character"},
        {{.prefix = "", .marker = "a\x7f"}, "control character"},
        {{.prefix = "\xff", .marker = "a"}, "no UTF-8"},
        {{.prefix = "", .marker = "a", .separator = "😀"}, "ZooKeeper does not allow"},
        {{.prefix = "", .marker = ""}, "no marker"},
        {{.prefix = "a/b", .marker = "a"}, "'/'"},
        {{.prefix = "", .marker = "a", .required_prefix = "b"}, "requires"}};
    for (const auto& each : all) {
        const auto fault = layout_fault(each.l);
        BOOST_TEST_CONTEXT(each.l.separator << each.l.marker << ' ' << each.l.shared_marker)
        {
            BOOST_TEST(!fault.empty());
            BOOST_TEST(fault.find(each.says) != fault.npos, fault);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::naming_test
