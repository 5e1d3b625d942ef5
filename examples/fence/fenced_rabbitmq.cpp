// A fence where messages go through RabbitMQ, which compares nothing: each carries the token, and the consumer refuses that of
// an earlier holder. fenced_rabbitmq_consumer has to run, too.
//
//     fenced_rabbitmq PORT [HOST:PORT]
//
#include "amqp.hpp"
#include "note.hpp"

#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;

asio::awaitable<void> write(amqp::connection& broker, const colock::unique_lock& held)
{
    const auto text = note::ask("what shall the note say?");
    std::string old;
    colock::fenced(held, [&](const std::string& token) {
        const auto answer = broker.ask({.type = "read", .token = token});
        old = answer.text;
        return answer.type == "accepted";
    });
    note::ask("instead of '" + old + "'?");
    colock::fenced(held, [&](const std::string& token) {
        return broker.ask({.type = "write", .text = text, .token = token}).type == "accepted";
    });
    co_return;
}

int main(int argc, char** argv)
{
    try {
        amqp::connection broker{argc > 1 ? argv[1] : "5672", amqp::answers};
        return note::under_lock(argc > 2 ? argv[2] : "localhost:2181",
                                [&](auto&, const auto& held) { return write(broker, held); });
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
