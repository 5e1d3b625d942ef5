#include <colock/fencing_token.hpp>

#include <boost/test/unit_test.hpp>

#include <sstream>

namespace {

using colock::fencing_token;

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

BOOST_AUTO_TEST_SUITE_END()

} // namespace
