// A fence in Redis: a script compares the token and writes, or does nothing.
//
//     fenced_redis PORT [HOST:PORT]
//
#include <colock/fence/statements.hpp>

#include "note.hpp"

#include <hiredis/hiredis.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
namespace fence = colock::fence::redis;
using connection = std::unique_ptr<redisContext, decltype(&redisFree)>;
using reply = std::unique_ptr<void, decltype(&freeReplyObject)>;

// Presents the token, then runs the rest of the script: its answer, or nothing when the token was refused. Both keys have
// the same hash tag, and so are on one node of a cluster.
std::optional<std::string> present(redisContext* db, const std::string& token,
                                   const std::string& rest, const std::string& text)
{
    const auto script = std::string{fence::present} + rest;
    const reply answer{redisCommand(db, "EVAL %s 2 {note}:fence {note}:text %s %s", script.c_str(),
                                    token.c_str(), text.c_str()),
                       &freeReplyObject};
    const auto* said = static_cast<const redisReply*>(answer.get());
    if (said == nullptr) {
        throw std::runtime_error{db->errstr};
    }
    if (said->type != REDIS_REPLY_ERROR) {
        return said->str;
    }
    if (!fence::refused(said->str)) {
        throw std::runtime_error{said->str};
    }
    return {};
}

asio::awaitable<void> run(redisContext* db, const colock::unique_lock& held)
{
    // A holder that reads before it decides presents its token before it reads.
    std::string before;
    colock::fenced(held, [&](const std::string& token) {
        const auto read = present(db, token, "return redis.call('GET', KEYS[2]) or ''", "");
        before = read.value_or("");
        return read.has_value();
    });
    const auto text = note::ask("it says '" + before + "'; what shall it say?");
    colock::fenced(held, [&](const std::string& token) {
        return present(db, token, "return redis.call('SET', KEYS[2], ARGV[2])", text).has_value();
    });
    co_return;
}

int main(int argc, char** argv)
{
    const connection db{redisConnect("127.0.0.1", argc > 1 ? std::atoi(argv[1]) : 6379),
                        &redisFree};
    return note::under_lock(argc > 2 ? argv[2] : "localhost:2181",
                            [&](auto&, const auto& held) { return run(db.get(), held); });
}
