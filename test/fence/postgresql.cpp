// PostgreSQL refuses the late write of an earlier holder, and ends its transaction in time.
#include <colock/fence/statements.hpp>

#include "store_server.hpp"

#include <filesystem>

using namespace colock::test;
namespace sql = colock::fence::postgresql;

namespace {

// The programs of the latest version; Debian keeps them out of PATH.
std::string bin()
{
    std::string latest;
    std::error_code none;
    for (const auto& version : std::filesystem::directory_iterator{"/usr/lib/postgresql", none}) {
        latest = std::max(latest, version.path().string() + "/bin/");
    }
    if (latest.empty() || !std::filesystem::exists(latest + "initdb")) {
        skip("postgresql is missing");
    }
    return latest;
}

struct postgresql : store_server {
    postgresql()
    {
        const auto programs = bin();
        const auto data = directory() + "/data";
        run({programs + "initdb", "--pgdata=" + data, "--auth=trust", "--username=colock",
             "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"});
        start({programs + "postgres", "-D", data, "-p", port(), "-c", "listen_addresses=127.0.0.1",
               "-c", "unix_socket_directories="},
              SIGINT);
        BOOST_REQUIRE(wait_until(
            [&] {
                return subprocess{{programs + "pg_isready", "-q", "-h", "127.0.0.1", "-p", port()}}
                    .wait()
                    .success();
            },
            60s));
    }

    // The last line of what one of PostgreSQL's programs says that contains a text.
    std::string ask(std::vector<std::string> command, const std::string& text = {}) const
    {
        command.front() = bin() + command.front();
        command.insert(command.begin() + 1, {"-h", "127.0.0.1", "-U", "colock", "-p", port()});
        subprocess program{
            command,
            {.environment = {"PGOPTIONS=-c synchronous_commit=off", "PGDATABASE=postgres"},
             .capture_output = true}};
        std::string last;
        while (const auto line = program.read_line(60s)) {
            last = line->find(text) != std::string::npos ? *line : last;
        }
        BOOST_TEST(program.wait().success());
        return last;
    }
    // Of a script, in microseconds.
    double latency(const std::string& script) const
    {
        const std::string label = "latency average = ";
        const auto said =
            ask({"pgbench", "-n", "-M", "prepared", "-t", "1000", "-f", script}, label);
        BOOST_REQUIRE(said.starts_with(label));
        return 1000 * std::stod(said.substr(label.size()));
    }

    fence_scene scene{"fenced_postgresql", "libpq-dev",
                      "host=127.0.0.1 user=colock dbname=postgres port=" + port()};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fence_postgresql, postgresql)

BOOST_AUTO_TEST_CASE(a_late_write_is_refused)
{
    scene.late_write_is_refused();
}

BOOST_AUTO_TEST_CASE(a_stopped_transaction_is_ended)
{
    colock::test::a_stopped_transaction_is_ended(scene, "PostgreSQL");
}

BOOST_AUTO_TEST_CASE(a_transaction_that_goes_on_comes_first)
{
    colock::test::a_transaction_that_goes_on_comes_first(scene);
}

// Each commits in the memory of the server: what the disk takes is the same for all.
BOOST_AUTO_TEST_CASE(cost)
{
    const auto file = [&](const char* name, const std::string& text) {
        write_file(directory() + '/' + name, text);
        return directory() + '/' + name;
    };
    const std::string token = "'00000000000000070000000000000001'";
    const std::string plain = "UPDATE books SET balance = balance + 1 WHERE id = 1;\n";
    std::string present = sql::present;
    present.replace(present.find("$1"), 2, "'books'");
    present.replace(present.find("$2"), 2, token);
    ask({"psql", "-q", "-f",
         file("tables", std::string{sql::table} + "; CREATE TABLE books (id int PRIMARY KEY, " +
                            "balance int, " + sql::column +
                            "); INSERT INTO books VALUES (1, 0);")});
    const auto without = file("without", "BEGIN;\n" + plain + "COMMIT;\n");
    const auto row =
        file("row", "BEGIN;\nUPDATE books SET balance = balance + 1, token = " + token +
                        " WHERE id = 1 AND token <= " + token + ";\nCOMMIT;\n");
    const auto resource = file("resource", "BEGIN;\n" + present + ";\n" + plain + "COMMIT;\n");
    const auto best = least_of({without, row, resource},
                               [&](const std::string& script) { return latency(script); });
    std::cout << "figure: PostgreSQL on this machine: a transaction that updates a row takes "
              << best[0] << " us, with a fence in the row " << best[1]
              << " us, with a fence for the resource " << best[2] << " us" << std::endl;
    BOOST_TEST((best[0] > 0 && best[1] > 0 && best[2] > 0));
    // Each of them has written: the same token passes.
    BOOST_TEST(ask({"psql", "-Atc", "SELECT balance FROM books"}) == "15000");
    BOOST_TEST(ask({"psql", "-c", present}) == "INSERT 0 1");
    present.replace(present.find(token), token.size(), "repeat('0', 32)");
    BOOST_TEST(ask({"psql", "-c", present}) == "INSERT 0 0");
}

BOOST_AUTO_TEST_SUITE_END()
