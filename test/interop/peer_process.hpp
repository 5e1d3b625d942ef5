// A process that speaks the language of peers/README.md.
#pragma once

#include <support/subprocess.hpp>
#include <support/zookeeper_server.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

constexpr auto patience =
    std::chrono::seconds{60}; // a Java process on a busy machine takes its time

class peer {
public:
    peer(std::vector<std::string> command, const std::string& hosts,
         std::vector<std::string> environment = {})
        : process_{
              arguments(std::move(command), hosts),
              {.environment = std::move(environment), .capture_output = true, .open_input = true}}
    {
        const auto first = process_.read_line(patience);
        if (first != "ready") {
            throw std::runtime_error{"a peer is not ready: " + first.value_or("it has ended")};
        }
    }

    void tell(const std::string& command) { process_.write_input(command + '\n'); }

    // The answer to the last command, without its first word; an answer of another kind is thrown.
    std::string expect(const std::string& word, std::chrono::milliseconds limit = patience)
    {
        const auto line = answer(limit);
        if (!line || line->substr(0, line->find(' ')) != word) {
            throw std::runtime_error{"expected " + word + ", got " +
                                     line.value_or("nothing in time")};
        }
        return line->size() > word.size() ? line->substr(word.size() + 1) : std::string{};
    }
    std::string ask(const std::string& command, const std::string& word)
    {
        tell(command);
        return expect(word);
    }
    std::optional<std::string> answer(std::chrono::milliseconds limit)
    {
        return process_.read_line(limit);
    }
    // Whether there is no answer for a while: something wrong would have had the time to happen.
    bool waits() { return !answer(std::chrono::milliseconds{100}); }

    void kill() { process_.kill(); }
    // It closes its client.
    void quit()
    {
        tell("quit");
        process_.wait();
    }

private:
    static std::vector<std::string> arguments(std::vector<std::string> command,
                                              const std::string& hosts)
    {
        command.push_back(hosts);
        command.emplace_back("4000"); // milliseconds until a killed one's session ends
        return command;
    }

    subprocess process_;
};

} // namespace colock::test
