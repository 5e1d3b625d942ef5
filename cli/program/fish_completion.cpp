#include "program/completion.hpp"
#include "program/page.hpp"
#include "program/program.hpp"
#include "program/text.hpp"

namespace colock::cli {

namespace {

std::string in_single_quotes(std::string_view text)
{
    std::string out;
    for (const auto c : text) {
        if (c == '\'' || c == '\\') {
            out += '\\';
        }
        out += c;
    }
    return '\'' + out + '\'';
}

std::string line(const shown_option& option, const std::string& condition)
{
    std::string out = "complete -c colock -n " + in_single_quotes(condition);
    for (const auto& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (!option.value.empty() && !option.value.starts_with('[')) {
        out += option.is_file ? " -r -F" : " -x";
        if (!option.choices.empty()) {
            out += " -a " + in_single_quotes(joined(option.choices, " "));
        }
    }
    return out + " -d " + in_single_quotes(option.text) + '\n';
}

} // namespace

std::string fish_completion(const program& p)
{
    std::string out =
        "# Completes the command line of colock in fish.\n"
        "function __colock_is # COMMAND: whether it is the command of the line, before any \"--\"\n"
        "    set -l words (commandline -opc)\n"
        "    not contains -- -- $words; and contains -- $argv[1] $words[2]\n"
        "end\n"
        "function __colock_begins\n"
        "    test (count (commandline -opc)) -eq 1\n"
        "end\n"
        "function __colock_paths # those that begin as the last word does, if it is a path\n"
        "    set -l word (commandline -ct)\n"
        "    if string match -q -- '/*' $word\n"
        "        command colock paths $word -- (commandline -opc)[2..-1] 2>/dev/null\n"
        "    end\n"
        "end\n"
        "complete -c colock -f\n"
        // Behind "--" stands another command's line.
        "complete -c colock -n 'contains -- -- (commandline -opc)' -F -a "
        "'(__fish_complete_command)'\n";
    std::vector<std::string> names;
    for (const auto& c : p.commands()) {
        names.emplace_back(c.text.name);
        out += "complete -c colock -n __colock_begins -a " + names.back() + " -d " +
               in_single_quotes(c.text.summary) + '\n';
    }
    for (const auto& option : page_of(p).options) {
        out += line(option, "__colock_begins");
    }
    for (const auto& c : p.commands()) {
        const auto condition = "__colock_is " + std::string{c.text.name};
        const auto text = page_of(c);
        for (const auto& option : text.options) {
            out += line(option, condition);
        }
        for (const auto& argument : text.arguments) {
            if (argument.is_path()) {
                out += "complete -c colock -n " + in_single_quotes(condition) +
                       " -a '(__colock_paths)'\n";
            }
            const auto& words = argument.value == "COMMAND" ? names : argument.choices;
            if (!words.empty()) {
                out += "complete -c colock -n " + in_single_quotes(condition) + " -a " +
                       in_single_quotes(joined(words, " ")) + '\n';
            }
        }
    }
    return out;
}

} // namespace colock::cli
