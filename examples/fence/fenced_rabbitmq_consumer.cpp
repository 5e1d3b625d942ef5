// The consumer of what fenced_rabbitmq sends. It keeps the note in a file, with the greatest token that it has seen, and refuses
// messages with a smaller one.
//
//     fenced_rabbitmq_consumer PORT FILE
//
#include <colock/fence/file.hpp>
#include <colock/log.hpp>

#include "amqp.hpp"

#include <exception>
#include <fstream>
#include <iostream>
#include <string>

namespace file = colock::fence::file;

// Whether the token is accepted. Equal ones are: a message whose consumer has ended before it was acknowledged comes again.
bool carry_out(const std::string& path, const amqp::message& asked)
{
    return asked.type == "write" ? file::replace(path, asked.token, asked.text)
                                 : file::present(path, asked.token);
}

int main(int argc, char** argv)
{
    const std::string path = argc > 2 ? argv[2] : "note.txt";
    try {
        amqp::connection broker{argc > 1 ? argv[1] : "5672", amqp::questions};
        std::cout << "the note is in " << path << std::endl;
        for (;;) {
            const auto asked = broker.receive();
            const bool accepted = carry_out(path, asked);
            broker.settle(asked, accepted); // it is on the disk
            if (!accepted) {
                std::cout << "refused: a later holder than " << colock::printable(asked.token)
                          << " was here" << std::endl;
            }
            if (!asked.reply_to.empty()) {
                std::string now;
                std::getline(std::ifstream{path}, now);
                broker.send(
                    asked.reply_to,
                    {.type = accepted ? "accepted" : "refused", .text = now, .id = asked.id});
            }
        }
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
