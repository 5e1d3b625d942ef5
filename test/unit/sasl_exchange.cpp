// What a client and a server say by SASL before the C client hears anything: byte by byte, and from hostile servers.
#include "zk/sasl_exchange.hpp"

#include "../support/jute.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test::sasl_exchange_test {

using colock::zk::sasl_exchange;
using stage = sasl_exchange::stage;

namespace {

std::string framed(const std::string& body)
{
    return jute_writer{}.text(body).bytes();
}

std::string handshake(std::int32_t timeout = 4000, std::int64_t session = 7)
{
    return framed(jute_writer{}
                      .integer(0)
                      .integer(timeout)
                      .longer(session)
                      .text(std::string(16, 'p'))
                      .boolean(false)
                      .bytes());
}

std::string header(std::int32_t number, std::int32_t error = 0)
{
    return jute_writer{}.integer(number).longer(0).integer(error).bytes();
}

std::string reply(std::int32_t number, const std::string& token, std::int32_t error = 0)
{
    return framed(header(number, error) + jute_writer{}.text(token).bytes());
}

std::string nothing(std::int32_t number, std::int32_t error = 0)
{
    return framed(header(number, error) + jute_writer{}.integer(-1).bytes());
}

std::string request(std::int32_t number, const std::string& token)
{
    return framed(jute_writer{}.integer(number).integer(102).text(token).bytes());
}

/// Gives it as much as it wants at once, and returns what it does not want any more.
std::string_view give(sasl_exchange& to, std::string_view bytes,
                      std::size_t piece = std::numeric_limits<std::size_t>::max())
{
    while (!bytes.empty() && to.wanted() != 0) {
        const auto count = std::min({bytes.size(), to.wanted(), piece});
        to.take(bytes.substr(0, count));
        bytes.remove_prefix(count);
    }
    return bytes;
}

/// The handshake is answered, and the client has said its first word.
sasl_exchange begun(const std::string& token = "")
{
    sasl_exchange e{{.token = token}};
    give(e, handshake());
    e.sent(e.unsent().size());
    return e;
}

} // namespace

BOOST_AUTO_TEST_SUITE(of_sasl)

// As DIGEST-MD5 goes: the server has the last word, and the client agrees to it.
BOOST_DATA_TEST_CASE(the_mechanism_may_end_it, boost::unit_test::data::make({1, 3, 1000}), piece)
{
    sasl_exchange e{{}};
    BOOST_TEST(e.unsent().empty());
    BOOST_TEST(give(e, handshake(), static_cast<std::size_t>(piece)).empty());
    BOOST_TEST(e.unsent() == request(1, ""));
    e.sent(5);
    BOOST_TEST(e.unsent() == request(1, "").substr(5));
    e.sent(e.unsent().size());
    give(e, reply(1, "who"), static_cast<std::size_t>(piece));
    BOOST_TEST((e.now() == stage::thinking));
    BOOST_TEST(e.challenge() == "who");
    BOOST_TEST(e.wanted() == 0u);
    e.spoke({.token = "me"});
    BOOST_TEST(e.unsent() == request(2, "me"));
    e.sent(e.unsent().size());
    give(e, reply(2, "so it is"), static_cast<std::size_t>(piece));
    BOOST_TEST((e.now() == stage::thinking));
    e.spoke({.complete = true});
    BOOST_TEST((e.now() == stage::over));
    BOOST_TEST(e.unsent().empty());
    BOOST_TEST(e.answer() == handshake());
}

// As Kerberos goes: the client speaks first, and the server ends it with nothing.
BOOST_AUTO_TEST_CASE(the_server_may_end_it)
{
    auto e = begun("ticket");
    give(e, reply(1, "mine"));
    e.spoke({});
    BOOST_TEST(e.unsent() == request(2, ""));
    give(e, reply(2, "no layer"));
    e.spoke({.token = "no layer", .complete = true});
    BOOST_TEST(e.unsent() == request(3, "no layer"));
    BOOST_TEST((e.now() == stage::reply));
    give(e, nothing(3));
    BOOST_TEST((e.now() == stage::over));
    BOOST_TEST(e.answer() == handshake());
}

BOOST_AUTO_TEST_CASE(what_is_no_session_is_left_to_the_c_client)
{
    for (const auto& answer :
         {handshake(0, 0), handshake(-1, 7), handshake(4000, 0), framed(""), framed("short")}) {
        sasl_exchange e{{}};
        give(e, answer);
        BOOST_TEST((e.now() == stage::over));
        BOOST_TEST(e.unsent().empty());
        BOOST_TEST(e.answer() == answer);
    }
    for (const std::string length : {"\x7f\xff\xff\xff", "\xff\xff\xff\xff", "HTTP"}) {
        sasl_exchange e{{}};
        BOOST_TEST(give(e, length + "/1.1") == "/1.1");
        BOOST_TEST((e.now() == stage::over));
        BOOST_TEST(e.answer() == length);
    }
}

BOOST_AUTO_TEST_CASE(who_is_refused_learns_it)
{
    for (const int error : {-115, -124}) {
        for (const auto& refusal : {nothing(1, error), framed(header(1, error))}) {
            auto e = begun();
            give(e, refusal);
            BOOST_TEST((e.now() == stage::failed));
            BOOST_TEST(e.is_refused());
            BOOST_TEST(!e.has_answer());
        }
    }
}

BOOST_AUTO_TEST_CASE(what_a_hostile_server_sends_ends_it)
{
    const auto endless = [] {
        auto bytes = jute_writer{}.integer(1 << 30).bytes();
        return bytes + std::string(100, 'x');
    }();
    const std::vector<std::string> all{
        reply(2, "another number"),
        reply(0, "another number"),
        framed(jute_writer{}.integer(-1).longer(0).integer(0).text("an event").bytes()),
        reply(1, "another error", -4),
        nothing(1),
        framed(header(1)),
        framed(header(1) + "abc"),
        framed(header(1) + jute_writer{}.integer(5).bytes() + "four"),
        framed(header(1) + jute_writer{}.integer(3).bytes() + "four"),
        framed(header(1) + jute_writer{}.integer(-2).bytes()),
        framed(header(1) + jute_writer{}.integer(0x7fffffff).bytes()),
        framed("less than a header"),
        jute_writer{}.integer(-1).bytes(),
        jute_writer{}.integer(0).bytes(),
        endless,
    };
    for (const auto& bytes : all) {
        for (const std::size_t piece : {1u, 1000u}) {
            auto e = begun();
            give(e, bytes, piece);
            BOOST_TEST((e.now() == stage::failed));
            BOOST_TEST(!e.fault().empty());
            BOOST_TEST(!e.is_refused());
            BOOST_TEST(e.wanted() == 0u);
            e.spoke({.token = "too late", .complete = true});
            BOOST_TEST((e.now() == stage::failed));
        }
    }
}

BOOST_AUTO_TEST_CASE(it_ends_after_some_rounds)
{
    auto e = begun();
    int rounds = 1;
    for (; rounds != 100 && e.now() == stage::reply; ++rounds) {
        give(e, reply(rounds, "again"));
        e.spoke({.token = "again"});
    }
    BOOST_TEST((e.now() == stage::failed));
    BOOST_TEST(rounds <= sasl_exchange::most_rounds + 1);
}

BOOST_AUTO_TEST_CASE(the_mechanism_may_fail)
{
    auto e = begun();
    give(e, reply(1, "who"));
    e.spoke({.fault = "no password"});
    BOOST_TEST((e.now() == stage::failed));
    BOOST_TEST(e.fault() == "no password");
    BOOST_TEST(!e.is_refused());

    sasl_exchange large{{.token = std::string(sasl_exchange::largest_token + 1, 't')}};
    give(large, handshake());
    BOOST_TEST((large.now() == stage::failed));
    BOOST_TEST(large.unsent().empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::sasl_exchange_test
