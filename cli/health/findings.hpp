// What a look at the servers has found, for people and for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace colock::cli {

enum class severity { ok, warning, error, unknown };

[[nodiscard]] const char* name_of(severity v);

struct finding {
    severity is = severity::ok;
    std::string subject; // one word: "server", "tick"
    std::string text;    // one line: what was found, and what to do
    std::string command; // that does it, to be pasted into a shell; empty where there is none
};

// The word as a shell reads it. Empty when it has characters that no line should have.
[[nodiscard]] std::string shell_word(const std::string& word);

class findings {
public:
    // `at_once`: each is printed when it is found.
    explicit findings(bool at_once) : at_once_{at_once} {}

    // Without a command, people have to change a server, a program, or their mind.
    void add(severity is, std::string subject, const std::string& text, std::string command = {});
    // Nothing has to be done.
    void good(std::string subject, const std::string& text)
    {
        add(severity::ok, std::move(subject), text);
    }
    // The options that `colock` needs in such a command, with a blank before each.
    std::string options_of_servers = {};
    // Where ZooKeeper's own program connects without an identity or TLS; empty where it could not.
    std::string plain_servers = {};
    bool shows_identity = false; // so do those options

    [[nodiscard]] std::size_t count(severity is) const;

    // What was sent to find them.
    std::uint64_t requests = 0;
    std::uint64_t sessions = 0;

    // The last line, for people.
    [[nodiscard]] std::string summary() const;
    [[nodiscard]] std::string json() const;

private:
    bool at_once_;
    std::vector<finding> all_;
};

} // namespace colock::cli
