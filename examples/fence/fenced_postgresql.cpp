// A fence in PostgreSQL: each transaction presents its token before it reads. The database refuses that of an earlier holder,
// and ends a transaction whose client does nothing.
//
//     fenced_postgresql 'host=127.0.0.1 dbname=notes' [HOST:PORT]
//
#include <colock/fence/statements.hpp>

#include "note.hpp"

#include <libpq-fe.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sql = colock::fence::postgresql;
using connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;
using result = std::unique_ptr<PGresult, decltype(&PQclear)>;

result run(PGconn* db, const char* statement, const std::vector<const char*>& values = {})
{
    result answer{PQexecParams(db, statement, static_cast<int>(values.size()), nullptr,
                               values.data(), nullptr, nullptr, 0),
                  &PQclear};
    const auto status = PQresultStatus(answer.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        throw std::runtime_error{PQerrorMessage(db)};
    }
    return answer;
}

void write(PGconn* db, const colock::unique_lock& held)
{
    const auto text = note::ask("what shall the note say?");
    run(db, "BEGIN");
    try {
        colock::fenced(held, [&](const std::string& token) {
            const auto written = run(db, sql::present, {"note", token.c_str()});
            return std::string{PQcmdTuples(written.get())} == "1";
        });
        const auto old = run(db, "SELECT text FROM notes");
        note::ask("instead of '" + std::string{PQgetvalue(old.get(), 0, 0)} + "'?");
        run(db, "UPDATE notes SET text = $1", {text.c_str()});
        run(db, "COMMIT");
    } catch (...) {
        PQclear(PQexec(db, "ROLLBACK"));
        throw;
    }
}

int main(int argc, char** argv)
{
    const connection db{PQconnectdb(argc > 1 ? argv[1] : "dbname=notes"), &PQfinish};
    try {
        run(db.get(), sql::limits);
        run(db.get(), "SET client_min_messages = warning");
        run(db.get(), sql::table);
        run(db.get(), "CREATE TABLE IF NOT EXISTS notes (name text PRIMARY KEY, text text)");
        run(db.get(), "INSERT INTO notes VALUES ('note', '') ON CONFLICT DO NOTHING");
    } catch (const std::exception& e) {
        std::cerr << e.what();
        return 1;
    }
    return note::under_lock(
        argc > 2 ? argv[2] : "localhost:2181",
        [&](colock::client&, const colock::unique_lock& held) -> note::asio::awaitable<void> {
            write(db.get(), held);
            co_return;
        });
}
