// Fencing: what the lock protects refuses a holder that does not know that it has lost the lock. Here a holder waits for
// a line of text, blocks its thread, and so cannot be told. When its session is over the next one gets the lock, and
// writes. docs/fencing.md has the same for other stores.
//
//     fenced_sqlite FILE [HOST:PORT]
//
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <sqlite3.h>

#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using database = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

// Returns whether it was written: not if there is a greater token than this one.
bool write(sqlite3* db, const std::string& text, const colock::fencing_token& token)
{
    constexpr auto sql = "INSERT INTO notes VALUES('note', ?1, ?2) ON CONFLICT(name) "
                         "DO UPDATE SET text = ?1, token = ?2 WHERE token <= ?2";
    const std::string digits = to_string(token);
    sqlite3_stmt* statement = nullptr;
    const int prepared = sqlite3_prepare_v2(db, sql, -1, &statement, nullptr);
    sqlite3_bind_text(statement, 1, text.c_str(), -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, digits.c_str(), -1, SQLITE_STATIC);
    sqlite3_step(statement);
    if (sqlite3_finalize(statement) != SQLITE_OK || prepared != SQLITE_OK) {
        throw std::runtime_error{sqlite3_errmsg(db)};
    }
    return sqlite3_changes(db) == 1;
}

asio::awaitable<void> run(colock::client& zk, sqlite3* db)
{
    co_await zk.async_connect();
    colock::mutex notes{zk, "/locks/notes"};
    co_await notes.async_with_lock([&](const colock::unique_lock& held) -> asio::awaitable<void> {
        std::cout << "what shall the note say?" << std::endl;
        std::string text;
        std::getline(std::cin, text);
        const bool done = write(db, text, held.token());
        std::cout << (done ? "written" : "refused: somebody has written since") << std::endl;
        co_return;
    });
    co_await zk.async_close();
}

int main(int argc, char** argv)
{
    asio::io_context context;
    const auto* hosts = argc > 2 ? argv[2] : "localhost:2181";
    colock::client zk{context, {.hosts = hosts}};
    try {
        sqlite3* opened = nullptr;
        const int failed = sqlite3_open(argc > 1 ? argv[1] : "notes.db", &opened);
        const database db{opened, &sqlite3_close};
        constexpr auto sql = "CREATE TABLE IF NOT EXISTS notes(name PRIMARY KEY, text, token)";
        if (failed || sqlite3_exec(db.get(), sql, nullptr, nullptr, nullptr)) {
            throw std::runtime_error{sqlite3_errmsg(db.get())};
        }
        sqlite3_busy_timeout(db.get(), 3000);
        asio::co_spawn(context, run(zk, db.get()), [](std::exception_ptr e) {
            if (e) {
                std::rethrow_exception(e);
            }
        });
        context.run();
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n  " << zk.last_error_detail() << '\n';
        return 1;
    }
}
