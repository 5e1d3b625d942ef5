// A fence in SQLite: each transaction presents its token before it reads. The database refuses that of an earlier holder.
//
//     fenced_sqlite FILE [HOST:PORT]
//
#include <colock/fence/statements.hpp>

#include "note.hpp"

#include <sqlite3.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
namespace sql = colock::fence::sqlite;
using database = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

// The first column of the first row, if there is one.
std::string run(sqlite3* db, const char* text, const std::vector<std::string>& values = {})
{
    sqlite3_stmt* statement = nullptr;
    const int prepared = sqlite3_prepare_v2(db, text, -1, &statement, nullptr);
    for (std::size_t i = 0; i != values.size(); ++i) {
        sqlite3_bind_text(statement, static_cast<int>(i + 1), values[i].c_str(), -1, SQLITE_STATIC);
    }
    std::string found;
    if (prepared == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        found = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    }
    if (sqlite3_finalize(statement) != SQLITE_OK || prepared != SQLITE_OK) {
        throw std::runtime_error{sqlite3_errmsg(db)};
    }
    return found;
}

asio::awaitable<void> write(sqlite3* db, const colock::unique_lock& held)
{
    const auto text = note::ask("what shall the note say?");
    try {
        run(db, "BEGIN IMMEDIATE");
        colock::fenced(held, [&](const std::string& token) {
            run(db, sql::present, {"note", token});
            return sqlite3_changes(db);
        });
        note::ask("instead of '" + run(db, "SELECT text FROM notes") + "'?");
        run(db, "UPDATE notes SET text = ?1", {text});
        run(db, "COMMIT");
    } catch (...) {
        sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
        throw;
    }
    co_return;
}

int main(int argc, char** argv)
{
    sqlite3* opened = nullptr;
    sqlite3_open(argc > 1 ? argv[1] : "notes.db", &opened);
    const database db{opened, &sqlite3_close};
    sqlite3_busy_timeout(opened, 3000); // nobody waits longer
    try {
        run(opened, sql::table);
        run(opened, "CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, text TEXT)");
        run(opened, "INSERT OR IGNORE INTO notes VALUES ('note', '')");
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
    return note::under_lock(argc > 2 ? argv[2] : "localhost:2181",
                            [&](auto&, const auto& held) { return write(opened, held); });
}
