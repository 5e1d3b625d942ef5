// Processes of the example move money to and fro at the same time: none is lost, and nobody waits for good.
#include <support/admin_session.hpp>

#include "example_scene.hpp"

#include <memory>

namespace colock::test::example_transfer_test {

namespace {

struct bank : example_scene {
    std::unique_ptr<example> transfer(const std::string& from, const std::string& to,
                                      const std::string& amount)
    {
        return std::make_unique<example>(
            "transfer", std::vector<std::string>{from, to, amount, server.hosts()});
    }
    int balance(const std::string& account)
    {
        return std::stoi(admin_session{server.hosts()}.get("/accounts/" + account));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(example_transfer, bank)

BOOST_AUTO_TEST_CASE(transfers_in_a_circle_keep_the_sum)
{
    // Twelve processes at once would take longer to connect than a client waits for its first answer.
    for (const auto* amount : {"1", "2", "3"}) {
        std::vector<std::unique_ptr<example>> all;
        all.push_back(transfer("ann", "bob", amount));
        all.push_back(transfer("bob", "cid", amount));
        all.push_back(transfer("cid", "ann", amount));
        all.push_back(transfer("bob", "ann", amount));
        for (auto& each : all) {
            BOOST_TEST(each->rest().size() == 1U);
            BOOST_TEST(each->wait().success());
        }
    }
    BOOST_TEST(balance("ann") == 100 + 6);
    BOOST_TEST(balance("bob") == 100 - 6);
    BOOST_TEST(balance("cid") == 100);
    check_nothing_left();
}

BOOST_AUTO_TEST_CASE(nothing_moves_when_there_is_too_little)
{
    auto refused = transfer("ann", "bob", "101");
    BOOST_TEST(refused->rest().empty());
    BOOST_TEST(refused->wait().code == 1);
    BOOST_TEST(balance("ann") == 100);
    BOOST_TEST(balance("bob") == 100);
    auto twice = transfer("ann", "ann", "1"); // it would wait for itself
    BOOST_TEST(twice->wait().code == 1);
    for (const auto* amount : {"-1", "0", "all", "4294967297"}) {
        BOOST_TEST(transfer("ann", "bob", amount)->wait().code == 2);
    }
    auto last = transfer("ann", "bob", "100");
    BOOST_TEST(last->line() == "ann has 0, bob has 200");
    BOOST_TEST(last->wait().success());
    check_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::example_transfer_test
