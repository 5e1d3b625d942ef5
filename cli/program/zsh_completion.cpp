#include "program/completion.hpp"
#include "program/page.hpp"
#include "program/program.hpp"
#include "program/text.hpp"

namespace colock::cli {

namespace {

// Within single quotes, within the brackets of a specification of _arguments.
std::string escaped(std::string_view text)
{
    std::string out;
    for (const auto c : text) {
        if (c == '\'') {
            out += "'\\''";
        } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c != '`') { // which would run something in other places
            out += c;
        }
    }
    return out;
}

std::string action_of(const shown_option& option, const program& all)
{
    if (option.is_file) {
        return option.value == "DIRECTORY" ? "_files -/" : "_files";
    }
    if (option.is_path()) {
        return "_colock_paths";
    }
    auto words = joined(option.choices, " ");
    if (option.is_argument() && option.value == "COMMAND") {
        for (const auto& c : all.commands()) {
            words += (words.empty() ? "" : " ") + std::string{c.text.name};
        }
    }
    return words.empty() ? " " : '(' + words + ')';
}

std::string specifications(const page& p, const program& all)
{
    std::string out;
    for (const auto& option : p.options) {
        const auto others = joined(option.names, " ");
        const bool may_have_value = option.value.starts_with('[');
        for (const auto& name : option.names) {
            const bool is_long = name.starts_with("--");
            out += " \\\n                '(" + others + ')' + name;
            if (!option.value.empty()) {
                out += may_have_value ? (is_long ? "=-" : "-") : (is_long ? "=" : "+");
            }
            out += '[' + escaped(option.text) + ']';
            if (!option.value.empty()) {
                out += (may_have_value ? "::" : ":") +
                       escaped(may_have_value ? "N" : option.value) + ':' + action_of(option, all);
            }
            out += '\'';
        }
    }
    std::size_t number = 0;
    for (const auto& argument : p.arguments) {
        const bool has_more = p.synopsis.find(argument.value + "...") != p.synopsis.npos;
        out += " \\\n                '" + (has_more ? "*" : std::to_string(++number)) + ':' +
               escaped(argument.value) + ':' + action_of(argument, all) + '\'';
    }
    return out;
}

} // namespace

std::string zsh_completion(const program& p)
{
    std::string out = "#compdef colock\n# Completes the command line of colock in zsh.\n\n"
                      "_colock_paths()\n{\n"
                      "    local -a found=(${(f)\"$(command colock paths \"$PREFIX\" -- "
                      "\"${(@)words[1,CURRENT-1]}\" 2>/dev/null)\"})\n"
                      "    compadd -Q -S '' -- ${(M)found:#*/}\n"
                      "    compadd -Q -- ${found:#*/}\n}\n\n_colock()\n{\n"
                      "    local curcontext=$curcontext state line\n    local -A opt_args\n"
                      "    local -a commands=(\n";
    for (const auto& c : p.commands()) {
        out += "        '" + std::string{c.text.name} + ':' + escaped(c.text.summary) + "'\n";
    }
    out += "    )\n    _arguments -C '1:command:->command' '*::argument:->argument'" +
           specifications(page_of(p), p) +
           "\n    case $state in\n    command) _describe command commands ;;\n    argument)\n"
           "        case $words[1] in\n";
    for (const auto& c : p.commands()) {
        out += "        " + std::string{c.text.name} + ")\n            _arguments -S" +
               specifications(page_of(c), p) +
               (starts_a_command(c) ? " \\\n                '*::command: _normal'" : "") +
               "\n            ;;\n";
    }
    // The file is read as the body of _colock by autoload, or by `source`.
    return out + "        esac\n        ;;\n    esac\n}\n\n"
                 "if [[ $funcstack[1] == _colock ]]; then\n    _colock \"$@\"\n"
                 "else\n    compdef _colock colock\nfi\n";
}

} // namespace colock::cli
