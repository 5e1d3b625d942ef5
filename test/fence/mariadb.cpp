// MariaDB refuses the late write of an earlier holder, and ends its transaction in time.
#include <colock/fence/statements.hpp>

#include "store_server.hpp"

#include <initializer_list>

using namespace colock::test;
namespace sql = colock::fence::mariadb;

namespace {

// A statement with these values.
std::string with(std::string statement, std::initializer_list<std::string> values)
{
    for (const auto& each : values) {
        statement.replace(statement.find('?'), 1, '\'' + each + '\'');
    }
    return statement + ";\n";
}

struct mariadb : store_server {
    mariadb()
    {
        const auto server = find_program("mariadbd").empty() ? std::string{"/usr/sbin/mariadbd"}
                                                             : find_program("mariadbd");
        if (::access(server.c_str(), X_OK) != 0) {
            skip("mariadb-server is missing");
        }
        const auto data = "--datadir=" + directory() + "/data";
        run({"mariadb-install-db", "--no-defaults", data, "--skip-test-db",
             "--auth-root-authentication-method=normal"});
        start({server, "--no-defaults", data, "--port=" + port(), "--bind-address=127.0.0.1",
               "--socket=" + directory() + "/socket", "--pid-file=" + directory() + "/pid",
               "--innodb-buffer-pool-size=16M"},
              SIGTERM);
        BOOST_REQUIRE(wait_until([&] { return listens(); }, 60s));
    }

    // The lines that MariaDB's client prints.
    std::vector<std::string> ask(const std::string& statements) const
    {
        const auto file = directory() + "/statements";
        write_file(file, statements);
        subprocess client{{"mariadb", "--no-defaults", "--host=127.0.0.1", "--port=" + port(),
                           "--user=root", "--batch", "--skip-column-names",
                           "--execute=source " + file},
                          {.capture_output = true}};
        std::vector<std::string> lines;
        while (auto line = client.read_line(60s)) {
            lines.push_back(std::move(*line));
        }
        BOOST_TEST(client.wait().success());
        return lines;
    }
    // Of a transaction, in microseconds.
    double latency(const std::string& transaction) const
    {
        constexpr int count = 1000;
        const std::string time = "SELECT UNIX_TIMESTAMP(SYSDATE(6));\n";
        std::string all = "USE costs;\n" + time;
        for (int i = 0; i != count; ++i) {
            all += transaction;
        }
        const auto times = ask(all + time);
        BOOST_REQUIRE(times.size() == 2);
        return 1e6 * (std::stod(times[1]) - std::stod(times[0])) / count;
    }

    fence_scene scene{"fenced_mariadb", "libmariadb-dev", port()};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fence_mariadb, mariadb)

BOOST_AUTO_TEST_CASE(a_late_write_is_refused)
{
    scene.late_write_is_refused();
}

BOOST_AUTO_TEST_CASE(a_stopped_transaction_is_ended)
{
    colock::test::a_stopped_transaction_is_ended(scene, "MariaDB");
}

BOOST_AUTO_TEST_CASE(a_transaction_that_goes_on_comes_first)
{
    colock::test::a_transaction_that_goes_on_comes_first(scene);
}

// Each commits in the memory of the server: what the disk takes is the same for all.
BOOST_AUTO_TEST_CASE(cost)
{
    const std::string token = "00000000000000070000000000000001";
    ask("SET GLOBAL innodb_flush_log_at_trx_commit = 0;\nCREATE DATABASE costs;\nUSE costs;\n" +
        with(sql::table, {}) + with(sql::add, {"books"}) +
        "CREATE TABLE books (id INT PRIMARY KEY, balance INT);\nALTER TABLE books ADD COLUMN " +
        with(sql::column, {}) + "INSERT INTO books (id, balance) VALUES (1, 0);\n");
    const std::string begin = "START TRANSACTION;\n";
    const std::string plain = "UPDATE books SET balance = balance + 1 WHERE id = 1;\n";
    const auto of_row = with("UPDATE books SET balance = balance + 1, token = ?, "
                             "presented = presented + 1 WHERE id = 1 AND token <= ?",
                             {token, token});
    const auto present = with(sql::present, {token, "books", token});
    const std::string commit = "COMMIT;\n";
    const auto best = least_of(
        {begin + plain + commit, begin + of_row + commit, begin + present + plain + commit},
        [&](const std::string& transaction) { return latency(transaction); });
    std::cout << "figure: MariaDB on this machine: a transaction that updates a row takes "
              << best[0] << " us, with a fence in the row " << best[1]
              << " us, with a fence for the resource " << best[2] << " us" << std::endl;
    // Each of them has written.
    BOOST_TEST(ask("SELECT balance FROM costs.books;") == std::vector<std::string>{"15000"});
    BOOST_TEST(ask("SELECT presented FROM costs.books;") == std::vector<std::string>{"5000"});
    BOOST_TEST(ask("SELECT presented FROM costs.fence;") == std::vector<std::string>{"5000"});
}

BOOST_AUTO_TEST_SUITE_END()
