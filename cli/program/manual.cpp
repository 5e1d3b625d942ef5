#include "program/manual.hpp"

#include <colock/version.hpp>

#include "program/failure.hpp"
#include "program/page.hpp"
#include "program/program.hpp"
#include "program/wrap.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

namespace colock::cli {

namespace {

// What would mean something else to roff. What stands between backticks is bold.
std::string roff(std::string_view text)
{
    std::string out;
    bool bold = false;
    for (const auto c : text) {
        switch (c) {
        case '\\': out += "\\e"; break;
        case '-': out += "\\-"; break;
        case '\'': out += "\\(aq"; break;
        case '^': out += "\\(ha"; break;
        case '~': out += "\\(ti"; break;
        case '`':
            bold = !bold;
            out += bold ? "\\fB" : "\\fP";
            break;
        default: out += c;
        }
    }
    return out.starts_with('.') ? "\\&" + out : out;
}

// A line of text, where a request such as .TP stands before it.
std::string line(std::string_view text)
{
    return roff(text) + '\n';
}

std::string in_roff_quotes(std::string_view text)
{
    auto out = roff(text);
    for (std::size_t at = 0; (at = out.find('"', at)) != out.npos; at += 4) {
        out.replace(at, 1, "\\(dq");
    }
    return '"' + out + '"';
}

std::string with_dash(std::string name)
{
    std::ranges::replace(name, ' ', '-');
    return name;
}

std::string bold(std::string_view text)
{
    return "\\fB" + roff(text) + "\\fP";
}

std::string rows(std::string_view heading, const std::vector<shown_row>& all)
{
    std::string out;
    for (const auto& [name, text] : all) {
        const bool marked = name.find('`') != name.npos || name.find(' ') != name.npos;
        out += ".TP\n" + (marked ? roff(name) : bold(name)) + '\n' + line(text);
    }
    return out.empty() ? out : ".SH " + std::string{heading} + '\n' + out;
}

std::string heading(const shown_option& option)
{
    std::string out;
    for (const auto& name : option.names) {
        out += (out.empty() ? "" : ", ") + bold(name);
    }
    if (option.is_argument()) {
        return "\\fI" + roff(option.value) + "\\fP";
    }
    if (option.value.starts_with("[=")) {
        const auto name = option.value.substr(2, option.value.size() - 3);
        return out + "[=\\fI" + roff(name) + "\\fP]";
    }
    return option.value.empty() ? out : out + " \\fI" + roff(option.value) + "\\fP";
}

std::string options_section(const page& p)
{
    std::string out;
    if (!p.arguments.empty()) {
        out += ".SH ARGUMENTS\n";
    }
    for (const auto& argument : p.arguments) {
        out += ".TP\n" + heading(argument) + '\n' + line(whole_text_of(argument));
    }
    std::string group;
    for (const auto& option : p.options) {
        if (option.group != group) {
            out += group.empty() ? ".SH OPTIONS\n" : "";
            out += option.group == "Options" ? "" : ".SS " + in_roff_quotes(option.group) + '\n';
            group = option.group;
        }
        out += ".TP\n" + heading(option) + '\n' + line(whole_text_of(option));
    }
    return out;
}

std::string description_of(const page& p)
{
    std::string out = ".SH DESCRIPTION\n";
    bool in_example = false;
    bool first = true;
    for (const auto& text : paragraphs(p.description)) {
        const bool is_line = text.starts_with(' ');
        if (is_line != in_example) {
            out += is_line ? (first ? ".EX\n" : ".PP\n.EX\n") : ".EE\n";
            in_example = is_line;
        }
        out += is_line || first ? "" : ".PP\n";
        out += line(text);
        first = false;
    }
    return out + (in_example ? ".EE\n" : "");
}

std::string examples_of(const page& p)
{
    std::string out;
    for (const auto& e : p.examples) {
        out += ".TP\n" + line(e.what) + ".EX\n" + bold(e.line) + "\n.EE\n";
    }
    return out.empty() ? out : ".SH EXAMPLES\n" + out;
}

std::string see_also(const page& p, const program& all)
{
    std::vector<std::string> names{"colock"};
    for (const auto& c : all.commands()) {
        names.push_back("colock-" + std::string{c.text.name});
    }
    std::erase(names, with_dash(p.name));
    std::string out;
    for (const auto& name : names) {
        out += ".BR " + roff(name) + (name == names.back() ? " (1)" : " (1),\n");
    }
    return ".SH SEE ALSO\n" + out + '\n';
}

void write_page(const std::filesystem::path& directory, const page& p, const program& all)
{
    const auto file = directory / (with_dash(p.name) + ".1");
    std::ofstream out{file};
    out << manual_of(p, all);
    if (!out.flush()) {
        throw failure{usage, "cannot write " + file.string() + "; name a directory that is there"};
    }
}

} // namespace

std::string manual_of(const page& p, const program& all)
{
    auto title = with_dash(p.name);
    const auto name = title;
    std::ranges::transform(title, title.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    auto synopsis = roff(p.synopsis);
    std::string out = ".\\\" Made from the options of the program; do not edit.\n.TH " +
                      roff(title) +
                      " 1 \"\" \"colock " COLOCK_VERSION_STRING "\" \"User Commands\"\n";
    out += ".SH NAME\n" + roff(name) + " \\- " + line(p.summary);
    out += ".SH SYNOPSIS\n" + bold(p.name) + ' ' + synopsis + '\n';
    out += description_of(p);
    std::vector<shown_row> commands;
    for (const auto& c : p.commands) {
        commands.push_back({c.name, c.text + ": see `colock-" + c.name + "`(1)."});
    }
    out += rows("COMMANDS", commands);
    out += options_section(p);
    out += rows("\"EXIT STATUS\"", p.statuses);
    out += rows("ENVIRONMENT", p.environment);
    out += rows("FILES", p.files);
    out += examples_of(p);
    return out + see_also(p, all);
}

void add_man(program& p)
{
    struct options {
        std::string name;
        std::string directory;
    };
    auto& c =
        p.add({.name = "man",
               .synopsis = "[COMMAND] | --into DIRECTORY",
               .summary = "print a page of the manual",
               .description =
                   "Prints the page of the command, or that of colock, in roff, which `man -l` "
                   "reads. An installed colock has its pages where `man colock` finds them.",
               .examples = {{"colock man run | man -l -", "Read the page of `colock run`."},
                            {"colock man --into ~/.local/share/man/man1",
                             "Put the pages where `man` finds them, without an installation."}}});
    const auto o = std::make_shared<options>();
    c.options->add_option("COMMAND", o->name, "of which command; without it, of colock");
    c.options->add_option("--into", o->directory, "write all pages into this directory instead")
        ->type_name("DIRECTORY");
    c.run = [&p, o] {
        if (o->directory.empty()) {
            std::cout << manual_of(o->name.empty() ? page_of(p) : page_of(p.find(o->name)), p);
            return success;
        }
        if (!o->name.empty()) {
            throw failure{usage,
                          "--into writes the pages of all commands; leave " + o->name + " out"};
        }
        write_page(o->directory, page_of(p), p);
        for (const auto& each : p.commands()) {
            write_page(o->directory, page_of(each), p);
        }
        return success;
    };
}

} // namespace colock::cli
