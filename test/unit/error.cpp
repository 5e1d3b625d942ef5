// Every code has a text of its own that says something, and the predicates sort them.
#include <colock/error.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <set>
#include <string>

namespace colock::test::error_test {

namespace {

constexpr int last_errc = static_cast<int>(errc::credentials_refused);
constexpr int zookeeper_codes[] = {-1,   -2,   -3,   -4,   -5,   -6,   -7,   -8,   -9,
                                   -13,  -14,  -15,  -100, -101, -102, -103, -108, -110,
                                   -111, -112, -113, -114, -115, -116, -117, -118, -119,
                                   -120, -121, -123, -124, -125, -127};

BOOST_AUTO_TEST_SUITE(errors)

BOOST_AUTO_TEST_CASE(every_code_has_a_message_of_its_own)
{
    std::set<std::string> texts;
    const auto unknown = error_code{errc{9999}}.message();
    for (int value = 1; value <= last_errc; ++value) {
        const error_code ec{static_cast<errc>(value)};
        BOOST_TEST(ec.category().name() == std::string{"colock"});
        BOOST_TEST(ec.message() != unknown);
        BOOST_TEST(texts.insert(ec.message()).second);
    }
    BOOST_TEST(error_code{static_cast<errc>(last_errc + 1)}.message() == unknown);

    const auto unknown_to_zookeeper = error_code{zookeeper_errc{-9999}}.message();
    for (const int value : zookeeper_codes) {
        const error_code ec{static_cast<zookeeper_errc>(value)};
        BOOST_TEST(ec.category().name() == std::string{"colock.zookeeper"});
        BOOST_TEST(ec.value() == value);
        BOOST_TEST(ec.message() != unknown_to_zookeeper);
        BOOST_TEST(texts.insert(ec.message()).second);
    }
}

BOOST_AUTO_TEST_CASE(the_message_without_allocation_is_the_same)
{
    char buffer[1];
    const error_code ec{errc::no_server};
    BOOST_TEST(ec.message(buffer, sizeof buffer) == ec.message());
}

BOOST_AUTO_TEST_CASE(what_was_sent_and_not_answered_has_an_unknown_outcome)
{
    const std::set<int> unknown{-2, -4, -7, -112, -116};
    for (const int value : zookeeper_codes) {
        BOOST_TEST_CONTEXT("code " << value)
        {
            BOOST_TEST(outcome_unknown(error_code{static_cast<zookeeper_errc>(value)}) ==
                       unknown.contains(value));
        }
    }
    BOOST_TEST(!outcome_unknown({}));
    BOOST_TEST(!outcome_unknown(errc::client_closed));
    // The same numbers of another category mean something else.
    BOOST_TEST(!outcome_unknown(error_code{-4, boost::system::generic_category()}));
}

BOOST_AUTO_TEST_CASE(a_session_ends_by_expiry_refusal_and_close)
{
    BOOST_TEST(is_session_fatal(zookeeper_errc::session_expired));
    BOOST_TEST(is_session_fatal(zookeeper_errc::auth_failed));
    BOOST_TEST(!is_session_fatal(errc::credentials_refused));
    BOOST_TEST(is_session_fatal(errc::client_closed));
    BOOST_TEST(!is_session_fatal(zookeeper_errc::connection_loss));
    BOOST_TEST(!is_session_fatal({}));
}

BOOST_AUTO_TEST_CASE(a_mistake_of_the_caller_is_not_worth_a_repetition)
{
    BOOST_TEST(is_retryable(zookeeper_errc::connection_loss));
    BOOST_TEST(is_retryable(zookeeper_errc::session_moved));
    BOOST_TEST(is_retryable(errc::disconnected));
    for (const auto e : {errc::invalid_path, errc::invalid_hosts, errc::invalid_option,
                         errc::no_chroot, errc::client_closed, errc::not_held}) {
        BOOST_TEST(!is_retryable(e));
    }
    BOOST_TEST(!is_retryable(zookeeper_errc::no_auth));
}

// Each code with all conditions that it is of; one that is missing here is of none.
BOOST_AUTO_TEST_CASE(a_program_compares_with_conditions)
{
    using set = std::set<condition>;
    using enum condition;
    const std::map<errc, set> of_colock{
        {errc::invalid_path, {misuse}},
        {errc::invalid_hosts, {misuse}},
        {errc::invalid_option, {misuse}},
        {errc::unknown_host, {unavailable}},
        {errc::no_server, {unavailable}},
        {errc::connect_timeout, {unavailable}},
        {errc::not_connected, {misuse}},
        {errc::disconnected, {unavailable}},
        {errc::not_held, {misuse}},
        {errc::lock_lost, {lock_lost}},
        {errc::revoked, {condition::revoked}},
        {errc::session_expired, {lock_lost, condition::outcome_unknown}},
        {errc::node_deleted, {lock_lost}},
        {errc::safe_until_passed, {lock_lost}},
        {errc::fenced, {lock_lost}},
        {errc::conflicting_use, {misuse}},
        {errc::conflicting_kind, {misuse}},
        {errc::owner_waits, {misuse}},
        {errc::unlock_out_of_order, {misuse}},
        {errc::too_many_permits, {misuse}},
        {errc::conflicting_maximum, {misuse}},
        {errc::path_twice, {misuse}},
        {errc::several_clients, {misuse}},
        {errc::nothing_to_lock, {misuse}},
        {errc::cannot_guard, {misuse}},
        {errc::request_too_large, {misuse}},
        {errc::session_full, {misuse}},
        {errc::forked, {lock_lost, misuse}},
        {errc::no_answer, {unavailable}},
    };
    const std::map<int, set> of_zookeeper{
        {-2, {condition::outcome_unknown, unavailable}},
        {-4, {condition::outcome_unknown, unavailable}},
        {-7, {condition::outcome_unknown, unavailable}},
        {-8, {misuse}},
        {-112, {condition::outcome_unknown}},
        {-114, {misuse}},
        {-116, {condition::outcome_unknown}},
        {-118, {unavailable}},
        {-127, {unavailable}},
    };
    const auto check = [](const error_code& ec, const auto& all, auto key) {
        const auto found = all.find(key);
        for (const auto c :
             {lock_lost, condition::revoked, condition::outcome_unknown, misuse, unavailable}) {
            BOOST_TEST((ec == c) == (found != all.end() && found->second.contains(c)),
                       ec << " as condition " << static_cast<int>(c));
        }
    };
    for (int value = 1; value <= last_errc; ++value) {
        const auto code = static_cast<errc>(value);
        check(code, of_colock, code);
    }
    for (const int value : zookeeper_codes) {
        check(static_cast<zookeeper_errc>(value), of_zookeeper, value);
    }
    BOOST_TEST((error_code{} != lock_lost));
    BOOST_TEST((error_code{1, boost::system::generic_category()} != lock_lost));
    BOOST_TEST((error_code{1, boost::system::generic_category()} != misuse));
    std::set<std::string> texts;
    for (const auto c :
         {lock_lost, condition::revoked, condition::outcome_unknown, misuse, unavailable}) {
        BOOST_TEST(texts.insert(make_error_condition(c).message()).second);
    }
    BOOST_TEST(colock::condition_category().name() == std::string{"colock.condition"});
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

} // namespace colock::test::error_test
