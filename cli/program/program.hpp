// The program: its subcommands, what they say of themselves, and the one that was chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock::cli {

struct example {
    std::string_view line; // what to type
    std::string_view what; // what it does
};

struct meaning {
    std::string_view name; // such as an exit status
    std::string_view what;
};

// What --help and the man page of a command say, besides its options. Between backticks stands what is typed as it is.
struct subcommand_text {
    std::string_view name;
    std::string_view synopsis; // behind the name: "[options] PATH -- COMMAND [ARGUMENT...]"
    std::string_view summary;  // one line
    std::string_view
        description; // paragraphs, which are wrapped; lines that begin with a blank are not
    std::vector<example> examples;
    // Its own exit statuses, which go before the usual ones of page.cpp; one without words does not occur.
    std::vector<meaning> statuses = {};
};

// A subcommand: its text, its options, and what it does.
struct subcommand {
    subcommand_text text;
    CLI::App* options = nullptr;
    std::function<int()> run; // gives the exit status; may throw failure
};

class program {
public:
    program();
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    // The command's options are added to `options` of the result, which lives as long as this object.
    subcommand& add(subcommand_text text);

    // Parses, runs the command that was chosen, and gives the exit status. Says on the standard error what is wrong.
    int run(int argc, char** argv);

    // What stood behind "--", and whether there was a "--".
    [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }
    [[nodiscard]] bool has_words() const noexcept { return has_words_; }

    // The memory that /proc shows as the command line of this process.
    [[nodiscard]] std::span<char> shown() const noexcept { return shown_; }

    [[nodiscard]] const std::list<subcommand>& commands() const noexcept { return commands_; }
    // Throws failure when there is none.
    [[nodiscard]] const subcommand& find(std::string_view name) const;
    [[nodiscard]] const CLI::App& app() const noexcept { return app_; }

private:
    CLI::App app_;
    std::list<subcommand> commands_;
    std::vector<std::string> words_;
    bool has_words_ = false;
    std::span<char> shown_;
};

// Each command, in a file of its own.
void add_run(program& p);
void add_elect(program& p);
void add_ls(program& p);
void add_shards(program& p);
void add_top(program& p);
void add_why(program& p);
void add_history(program& p);
void add_revoke(program& p);
void add_break(program& p);
void add_root(program& p);
void add_doctor(program& p);
void add_bench(program& p);
void add_serve(program& p);
void add_help(program& p);
void add_completion(program& p);
void add_paths(program& p);
void add_man(program& p);

} // namespace colock::cli
