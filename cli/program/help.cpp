#include "program/help.hpp"

#include "program/failure.hpp"
#include "program/page.hpp"
#include "program/program.hpp"
#include "program/wrap.hpp"

#include <iostream>
#include <memory>

namespace colock::cli {

namespace {

constexpr std::size_t text_column = 26;

std::string row(const std::string& name, const std::string& text, std::size_t column = text_column)
{
    return wrapped(text, column, "  " + name);
}

std::string rows(const std::string& heading, const std::vector<shown_row>& all, std::size_t column)
{
    std::string out;
    for (const auto& [name, text] : all) {
        out += row(name, text, column);
    }
    return out.empty() ? out : '\n' + heading + ":\n" + out;
}

std::string options_of(const page& p)
{
    std::string out;
    std::string group;
    for (const auto& option : p.options) {
        if (option.group != group) {
            group = option.group;
            out += '\n' + group + ":\n";
        }
        // Long names stand in one column, with or without a short one before them.
        const bool is_long_alone = option.names.front().starts_with("--");
        out += row((is_long_alone ? "    " : "") + heading_of(option), whole_text_of(option));
    }
    return out;
}

} // namespace

std::string help_of(const page& p)
{
    std::string out = wrapped(p.name + ": " + p.summary);
    out += '\n' + wrapped(p.synopsis, 7 + p.name.size() + 1, "usage: " + p.name);
    bool as_it_is = false;
    for (const auto& text : paragraphs(p.description)) {
        const bool is_line = text.starts_with(' ');
        out += as_it_is && is_line ? "" : "\n";
        out += is_line ? text + '\n' : wrapped(text);
        as_it_is = is_line;
    }
    out += rows("Commands", p.commands, 14);
    if (!p.arguments.empty()) {
        out += "\nArguments:\n";
        for (const auto& argument : p.arguments) {
            out += row(heading_of(argument), whole_text_of(argument));
        }
    }
    out += options_of(p);
    out += rows("Exit status", p.statuses, 14);
    if (!p.examples.empty()) {
        out += "\nExamples:\n";
        for (const auto& e : p.examples) {
            out += "  $ " + std::string{e.line} + '\n' + wrapped(e.what, 6);
        }
    }
    return out;
}

std::string help_of(const program& p)
{
    auto whole = page_of(p);
    whole.statuses.clear(); // each command has its own
    return help_of(whole) +
           "\n`colock COMMAND --help` says more of a command, `man colock-COMMAND` all.\n"
           "The servers are those of --servers, or of the variable COLOCK_SERVERS:\n"
           "\"host:2181,other:2181/chroot\".\n";
}

std::string help_of(const subcommand& c)
{
    return help_of(page_of(c));
}

void add_help(program& p)
{
    auto& c = p.add({.name = "help",
                     .synopsis = "[COMMAND]",
                     .summary = "say what a command does",
                     .description = "The same as `colock COMMAND --help`.",
                     .examples = {{"colock help run", "Say what `colock run` does."}}});
    const auto name = std::make_shared<std::string>();
    c.options->add_option("COMMAND", *name, "of which command; without it, list the commands");
    c.run = [&p, name] {
        std::cout << (name->empty() ? help_of(p) : help_of(p.find(*name)));
        return success;
    };
}

} // namespace colock::cli
