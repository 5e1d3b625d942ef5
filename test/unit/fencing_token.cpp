#include <colock/fencing_token.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <unordered_set>

namespace colock::test::fencing_token_test {

namespace {

BOOST_AUTO_TEST_SUITE(token)

BOOST_AUTO_TEST_CASE(the_default_one_is_the_smallest)
{
    BOOST_TEST((fencing_token{} < fencing_token{0, 1}));
    BOOST_TEST((fencing_token{} == fencing_token{0, 0}));
}

BOOST_AUTO_TEST_CASE(order_is_that_of_128_bits_and_of_the_text)
{
    const fencing_token ascending[] = {{0, 1},
                                       {0, 0x10},
                                       {0, ~0ull},
                                       {1, 0},
                                       {0x100000000, 5},
                                       {0x7fffffffffffffff, 0},
                                       {~0ull, ~0ull - 1},
                                       {~0ull, ~0ull}};
    for (const auto* next = ascending + 1; next != std::end(ascending); ++next) {
        BOOST_TEST((next[-1] < *next));
        BOOST_TEST(to_string(next[-1]) < to_string(*next));
    }
}

BOOST_AUTO_TEST_CASE(prints_32_hexadecimal_digits)
{
    std::ostringstream out;
    out << fencing_token{0x123456789abcdef0, 0xf};
    BOOST_TEST(out.str() == "123456789abcdef0000000000000000f");
}

BOOST_AUTO_TEST_CASE(what_is_printed_is_read_back)
{
    for (const fencing_token t :
         {fencing_token{}, fencing_token{0, 1}, fencing_token{1, 0},
          fencing_token{0x123456789abcdef0, 0xfedcba9876543210}, fencing_token{~0ull, ~0ull}}) {
        BOOST_TEST((fencing_token::parse(to_string(t)) == t));
    }
    BOOST_TEST((fencing_token::parse("ABCDEF000000000000000000000000Ab") ==
                fencing_token{0xabcdef0000000000, 0xab}));
}

BOOST_AUTO_TEST_CASE(what_is_no_token_is_not_read)
{
    const std::string good(32, 'a');
    BOOST_TEST(fencing_token::parse(good).has_value());
    for (const std::string& bad :
         {std::string{}, good.substr(1), good + "a", " " + good.substr(1), good.substr(1) + " ",
          "-" + good.substr(1), "+" + good.substr(1), "0x" + good.substr(2),
          good.substr(0, 16) + "-" + good.substr(17), good.substr(0, 15) + "g" + good.substr(16),
          good.substr(0, 31) + std::string(1, '\0')}) {
        BOOST_TEST(!fencing_token::parse(bad).has_value(), bad);
    }
}

BOOST_AUTO_TEST_CASE(tokens_are_keys_of_a_hash_table)
{
    std::unordered_set<fencing_token> all;
    for (std::uint64_t high = 0; high != 100; ++high) {
        for (std::uint64_t low = 0; low != 100; ++low) {
            all.insert(fencing_token{high, low});
        }
    }
    BOOST_TEST(all.size() == 10'000U);
    BOOST_TEST(all.contains(fencing_token{7, 9}));
    std::unordered_set<std::size_t> hashes;
    for (const auto& each : all) {
        hashes.insert(std::hash<fencing_token>{}(each));
    }
    BOOST_TEST(hashes.size() > 9'900U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

} // namespace colock::test::fencing_token_test
