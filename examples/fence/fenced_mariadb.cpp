// A fence in MariaDB: each transaction presents its token before it reads. The database refuses that of an earlier holder,
// and ends a transaction whose client does nothing.
//
//     fenced_mariadb PORT [HOST:PORT]       the database `notes` of root at that port, without a password
//
#include <colock/fence/statements.hpp>

#include "note.hpp"

#include <mysql.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sql = colock::fence::mariadb;

// How many rows the statement has written.
unsigned long long run(MYSQL* db, std::string_view statement, std::vector<std::string> values = {})
{
    const std::unique_ptr<MYSQL_STMT, decltype(&mysql_stmt_close)> prepared{mysql_stmt_init(db),
                                                                            &mysql_stmt_close};
    std::vector<MYSQL_BIND> bound(values.size());
    for (std::size_t i = 0; i != values.size(); ++i) {
        bound[i].buffer_type = MYSQL_TYPE_STRING;
        bound[i].buffer = values[i].data();
        bound[i].buffer_length = static_cast<unsigned long>(values[i].size());
    }
    if (mysql_stmt_prepare(prepared.get(), statement.data(), statement.size()) ||
        (!values.empty() && mysql_stmt_bind_param(prepared.get(), bound.data())) ||
        mysql_stmt_execute(prepared.get())) {
        throw std::runtime_error{mysql_stmt_error(prepared.get())};
    }
    return mysql_stmt_affected_rows(prepared.get());
}

std::string text_of_note(MYSQL* db)
{
    if (mysql_query(db, "SELECT text FROM notes")) {
        throw std::runtime_error{mysql_error(db)};
    }
    const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> rows{mysql_store_result(db),
                                                                        &mysql_free_result};
    return mysql_fetch_row(rows.get())[0];
}

note::asio::awaitable<void> write(MYSQL* db, const colock::unique_lock& held)
{
    const auto text = note::ask("what shall the note say?");
    run(db, "START TRANSACTION");
    const std::unique_ptr<MYSQL, decltype(&mysql_rollback)> undo{db, &mysql_rollback};
    colock::fenced(held, [&](const std::string& token) {
        return run(db, sql::present, {token, "note", token}) == 1;
    });
    note::ask("instead of '" + text_of_note(db) + "'?");
    run(db, "UPDATE notes SET text = ?", {text});
    run(db, "COMMIT"); // nothing is left to undo
    co_return;
}

int main(int argc, char** argv)
{
    const std::unique_ptr<MYSQL, decltype(&mysql_close)> opened{mysql_init(nullptr), &mysql_close};
    MYSQL* db = opened.get();
    mysql_real_connect(db, "127.0.0.1", "root", nullptr, nullptr,
                       static_cast<unsigned>(std::atoi(argc > 1 ? argv[1] : "3306")), nullptr, 0);
    for (const auto* statement :
         {"CREATE DATABASE IF NOT EXISTS notes", "USE notes", sql::limits, sql::table,
          "CREATE TABLE IF NOT EXISTS notes (name VARCHAR(9) PRIMARY KEY, text VARCHAR(99))",
          "INSERT IGNORE INTO notes VALUES ('note', '')"}) {
        if (mysql_query(db, statement)) {
            std::cerr << mysql_error(db) << '\n';
            return 1;
        }
    }
    run(db, sql::add, {"note"});
    return note::under_lock(argc > 2 ? argv[2] : "localhost:2181",
                            [&](auto&, const auto& held) { return write(db, held); });
}
