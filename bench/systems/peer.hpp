// A process of a system, driven by the protocol of peers/README.md.
#pragma once

#include <support/subprocess.hpp>

#include "systems/catalogue.hpp"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

// It answered with an error, or not at all.
struct peer_failed : std::runtime_error {
    using runtime_error::runtime_error;
};

struct peer_options {
    std::string self; // the path of this program
    std::string log;  // a file for what its library logs
    std::chrono::milliseconds session_timeout{30'000};
    std::vector<std::string> environment = {}; // "NAME=value", added to this program's
    std::vector<std::string> launcher = {};    // runs the command that is appended to it
};

// What all threads of a process have taken of the processors until now, in microseconds.
struct processor_use {
    double user;
    double system;
};

class peer {
public:
    // Starts it; `wait_until_ready` is to be called before it is asked anything.
    peer(const lock_system& s, const std::string& hosts, const peer_options& options);

    void wait_until_ready();

    // A command, and its answer without the first word, which is that. Throw peer_failed.
    void send(const std::string& command);
    [[nodiscard]] std::string answer(const std::string& word);
    std::string ask(const std::string& command, const std::string& word);

    // That of a read, the median of ten, in microseconds.
    [[nodiscard]] double round_trip();

    // As `answer`, if one comes within the time: for those who want to give up waiting.
    [[nodiscard]] std::optional<std::string> answer_within(const std::string& word,
                                                           std::chrono::milliseconds limit);

    [[nodiscard]] pid_t process() const { return process_.pid(); }

    // Known to a hundredth of a second.
    [[nodiscard]] processor_use processor() const;

    // SIGKILL, SIGSTOP, SIGCONT.
    void kill();
    void stop();
    void resume();

private:
    [[nodiscard]] std::string line();
    [[nodiscard]] std::string rest_of(const std::string& text, const std::string& word) const;

    std::string name_;
    colock::test::subprocess process_;
};

// The processes of one system that do the same at the same time.
class peer_group {
public:
    // Ready when it returns.
    peer_group(const lock_system& s, const std::string& hosts, const peer_options& options,
               int processes);

    // Gives the command to the first so many, and adds up what they answer; does something else before it waits for
    // that.
    long turns(
        const std::string& command, int processes, const std::function<void()>& meanwhile = [] {});

    // Gives the command to all, and waits until all have answered.
    void each(const std::string& command, const std::string& word);

    // So many uncontended cycles in each, at the same time, on paths that begin so.
    void cycle(const std::string& path, int count);

    [[nodiscard]] peer& at(std::size_t i) { return *all_.at(i); }
    [[nodiscard]] peer& front() { return at(0); }

private:
    void answers_of(int processes, const std::string& word,
                    const std::function<void(const std::string&)>& use);

    std::vector<std::unique_ptr<peer>> all_;
};

// The numbers of an answer.
[[nodiscard]] std::vector<double> numbers(const std::string& text);

} // namespace bench
