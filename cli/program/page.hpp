// What there is to say of a command, before it becomes help, a page of the manual or a completion: one source for all.
#pragma once

#include "program/program.hpp"

#include <string>
#include <vector>

namespace colock::cli {

struct shown_option {
    std::vector<std::string> names; // "-n", "--try"; none for an argument
    std::string value;              // "TIME", "[=N]"; of an argument its name; empty for a flag
    std::string text;
    std::string variable;             // of the environment, that stands in for it
    std::string default_value;        // empty when the option does nothing by default
    std::string group;                // the heading that it stands under
    std::vector<std::string> choices; // when only some words are allowed
    bool is_file = false;

    [[nodiscard]] bool is_argument() const { return names.empty(); }
    // The path of a lock, which `colock paths` completes.
    [[nodiscard]] bool is_path() const { return is_argument() && value == "PATH"; }
};

struct shown_row {
    std::string name;
    std::string text;
};

struct page {
    std::string name; // "colock", "colock run"
    std::string synopsis;
    std::string summary;
    std::string
        description; // paragraphs with blank lines between; lines that begin with a blank stay as they are
    std::vector<shown_option> arguments;
    std::vector<shown_option> options; // those of one group stand together
    std::vector<shown_row> commands;   // of the program's own page
    std::vector<shown_row> environment;
    std::vector<shown_row> files;
    std::vector<shown_row> statuses;
    std::vector<example> examples;
};

[[nodiscard]] page page_of(const program& p);
[[nodiscard]] page page_of(const subcommand& c);

// Whether it starts a program of the user, whose command line stands behind "--". Its synopsis says so.
[[nodiscard]] bool starts_a_command(const subcommand& c);

// "-n, --try TIME", as it stands in help and in the manual.
[[nodiscard]] std::string heading_of(const shown_option& option);

// The text, with default and variable.
[[nodiscard]] std::string whole_text_of(const shown_option& option);

} // namespace colock::cli
