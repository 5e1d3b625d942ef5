// What a fence costs: one more condition, or one more statement in the transaction.
#include <colock/colock.hpp>
#include <colock/fence/statements.hpp>
#include <support/figures.hpp>

#include <boost/test/unit_test.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace sql = colock::fence::sqlite;
using clock_type = std::chrono::steady_clock;

struct statement {
    statement(sqlite3* db, const char* text, std::initializer_list<std::string> given)
        : values{given}
    {
        BOOST_REQUIRE(sqlite3_prepare_v2(db, text, -1, &prepared, nullptr) == SQLITE_OK);
        int i = 0;
        for (const auto& value : values) {
            sqlite3_bind_text(prepared, ++i, value.c_str(), -1, SQLITE_STATIC);
        }
    }
    statement(const statement&) = delete;
    statement& operator=(const statement&) = delete;
    ~statement() { sqlite3_finalize(prepared); }

    void run() const
    {
        if (sqlite3_step(prepared) != SQLITE_DONE) {
            BOOST_FAIL(sqlite3_errmsg(sqlite3_db_handle(prepared)));
        }
        sqlite3_reset(prepared);
    }

    const std::vector<std::string> values;
    sqlite3_stmt* prepared = nullptr;
};

// The median of what a transaction takes, in microseconds, if that is less than what was found before.
void measure(double& best, std::initializer_list<const statement*> steps)
{
    std::vector<double> times;
    for (int i = 0; i != 4'000; ++i) {
        const auto begin = clock_type::now();
        for (const auto* step : steps) {
            step->run();
        }
        times.push_back(1000 * colock::test::milliseconds(clock_type::now() - begin));
    }
    best = std::min(best, colock::test::quantile(std::move(times), 0.5));
}

} // namespace

BOOST_AUTO_TEST_SUITE(fence_cost)

BOOST_AUTO_TEST_CASE(one_more_condition_and_one_more_statement)
{
    sqlite3* opened = nullptr;
    BOOST_REQUIRE(sqlite3_open(":memory:", &opened) == SQLITE_OK);
    const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> db{opened, &sqlite3_close};
    statement{opened, sql::table, {}}.run();
    const auto table = std::string{"CREATE TABLE books (id TEXT PRIMARY KEY, balance INTEGER, "} +
                       sql::column + ")";
    statement{opened, table.c_str(), {}}.run();
    statement{opened, "INSERT INTO books (id, balance) VALUES ('a', 0)", {}}.run();

    const auto token = to_string(colock::fencing_token{7, 1});
    const statement begin{opened, "BEGIN IMMEDIATE", {}};
    const statement commit{opened, "COMMIT", {}};
    const statement plain{opened, "UPDATE books SET balance = balance + 1 WHERE id = ?1", {"a"}};
    const statement of_row{opened,
                           "UPDATE books SET balance = balance + 1, token = ?2 "
                           "WHERE id = ?1 AND token <= ?2",
                           {"a", token}};
    const statement of_resource{opened, sql::present, {"books", token}};

    double without = 1e9;
    double row = 1e9;
    double resource = 1e9;
    // In turn: the machine is not equally busy all the time.
    for (int round = 0; round != 5; ++round) {
        measure(without, {&begin, &plain, &commit});
        measure(row, {&begin, &of_row, &commit});
        measure(resource, {&begin, &of_resource, &plain, &commit});
    }
    std::cout << "figure: SQLite in memory: a transaction that updates a row takes " << without
              << " us, with a fence in the row " << row << " us, with a fence for the resource "
              << resource << " us" << std::endl;
    BOOST_TEST(sqlite3_total_changes(opened) > 80'000); // all of them have written
}

BOOST_AUTO_TEST_SUITE_END()
