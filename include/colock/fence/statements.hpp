// The statements of fences, for databases. docs/fencing.md says where they go.
#ifndef COLOCK_FENCE_STATEMENTS_HPP
#define COLOCK_FENCE_STATEMENTS_HPP

#include <string_view>

/// Tokens are text everywhere, 32 hexadecimal digits in lower case, compared byte by byte.
///
/// A **fence per resource** is a row of the table `fence`, named as its lock. `present` comes first in each transaction that
/// reads or writes what the lock protects. It writes one row when the token is accepted, and none when the lock was lost:
/// roll back then.
///
/// A **fence per row** is the column `token` of the row itself, in the condition of the write.
namespace colock::fence {

/// For libpq and what takes its parameters. Within a transaction; READ COMMITTED suffices.
namespace postgresql {

/// Creates the table `fence`.
inline constexpr const char* table = "CREATE TABLE IF NOT EXISTS fence ("
                                     "name text PRIMARY KEY, "
                                     "token char(32) COLLATE \"C\" NOT NULL)";

/// $1: the name of the resource; $2: the token.
inline constexpr const char* present =
    "INSERT INTO fence (name, token) VALUES ($1, $2) ON CONFLICT (name) "
    "DO UPDATE SET token = excluded.token WHERE fence.token <= excluded.token";

/// The column of a fence per row: `ALTER TABLE books ADD COLUMN ` and this. Rows that exist accept every token.
inline constexpr const char* column =
    "token char(32) COLLATE \"C\" NOT NULL DEFAULT '00000000000000000000000000000000'";

/// For each new connection. The server ends a transaction whose client does nothing for two seconds. So nobody waits longer
/// than that for a holder that was stopped within one; for one that works on, nobody waits longer than three seconds.
inline constexpr const char* limits =
    "SELECT set_config('idle_in_transaction_session_timeout', '2s', false), "
    "set_config('lock_timeout', '3s', false)";

} // namespace postgresql

/// For MariaDB, and, but for `limits`, for MySQL; with InnoDB.
namespace mariadb {

/// Creates the table `fence`.
inline constexpr const char* table =
    "CREATE TABLE IF NOT EXISTS fence ("
    "name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, "
    "token CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, "
    "presented BIGINT NOT NULL DEFAULT 0) ENGINE=InnoDB";

/// Creates the row of a resource, when it is not there: once, before the transactions that present tokens. ?: its name,
/// at most 255 characters: a longer one is cut off, and all tokens are refused.
inline constexpr const char* add =
    "INSERT IGNORE INTO fence (name, token) VALUES (?, '00000000000000000000000000000000')";

/// ?: the token; the name of the resource; the token again. The column `presented` makes each of them a change: the
/// server counts changed rows, and a token that is presented again changes nothing else.
inline constexpr const char* present = "UPDATE fence SET token = ?, presented = presented + 1 "
                                       "WHERE name = ? AND token <= ?";

/// The columns of a fence per row: `ALTER TABLE books ADD COLUMN ` and this. Rows that exist accept every token.
inline constexpr const char* column =
    "(token CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL "
    "DEFAULT '00000000000000000000000000000000', "
    "presented BIGINT NOT NULL DEFAULT 0)";

/// For each new connection, as PostgreSQL's. MySQL has no `idle_transaction_timeout`; its `wait_timeout` also ends
/// connections that are idle outside a transaction.
inline constexpr const char* limits =
    "SET SESSION idle_transaction_timeout = 2, innodb_lock_wait_timeout = 3";

} // namespace mariadb

/// For SQLite. Within `BEGIN IMMEDIATE`; `sqlite3_changes` tells how many rows were written.
namespace sqlite {

/// Creates the table `fence`.
inline constexpr const char* table =
    "CREATE TABLE IF NOT EXISTS fence (name TEXT PRIMARY KEY, token TEXT NOT NULL)";

/// ?1: the name of the resource; ?2: the token.
inline constexpr const char* present =
    "INSERT INTO fence (name, token) VALUES (?1, ?2) ON CONFLICT (name) "
    "DO UPDATE SET token = excluded.token WHERE fence.token <= excluded.token";

/// The column of a fence per row: `ALTER TABLE books ADD COLUMN ` and this. Rows that exist accept every token.
inline constexpr const char* column =
    "token TEXT NOT NULL DEFAULT '00000000000000000000000000000000'";

} // namespace sqlite

/// For Redis.
namespace redis {

/// The beginning of a script in Lua; what the script writes follows. KEYS[1]: the fence; ARGV[1]: the token. When that was
/// refused, the reply is an error that begins with FENCED, and nothing after this was run. It compares byte by byte: Lua
/// compares texts in the order of the server's locale.
inline constexpr std::string_view present =
    "local seen = redis.call('GET', KEYS[1])\n"
    "for i = 1, seen and #seen or 0 do\n"
    "  local old, new = seen:byte(i), ARGV[1]:byte(i)\n"
    "  if old > new then return redis.error_reply('FENCED by ' .. seen) end\n"
    "  if old < new then break end\n"
    "end\n"
    "redis.call('SET', KEYS[1], ARGV[1])\n";

/// Whether the text of an error says that the token was refused.
[[nodiscard]] constexpr bool refused(std::string_view error) noexcept
{
    return error.starts_with("FENCED ");
}

} // namespace redis

} // namespace colock::fence

#endif
