#include "program/completion.hpp"
#include "program/page.hpp"
#include "program/program.hpp"
#include "program/text.hpp"

#include <algorithm>

namespace colock::cli {

namespace {

std::string names_of_commands(const program& p)
{
    return joined(p.commands(), " ", [](const auto& c) { return c.text.name; });
}

std::string names_of_options(const page& p)
{
    return joined(p.options, " ", [](const auto& option) { return joined(option.names, " "); });
}

// What stands behind an option that takes a value.
std::string values_of(const page& p)
{
    std::string out;
    std::string others;
    for (const auto& option : p.options) {
        if (option.value.empty() || option.value.starts_with('[')) {
            continue;
        }
        const auto names = joined(option.names, "|");
        if (option.is_file) {
            out += "                " + names + ") files=1 ;;\n";
        } else if (!option.choices.empty()) {
            out +=
                "                " + names + ") words='" + joined(option.choices, " ") + "' ;;\n";
        } else {
            others += (others.empty() ? "" : "|") + names;
        }
    }
    if (!others.empty()) {
        out += "                " + others + ") return ;;\n";
    }
    return out;
}

std::string words_of_arguments(const page& p, const program& all)
{
    std::string out;
    for (const auto& argument : p.arguments) {
        if (!argument.choices.empty()) {
            out += ' ' + joined(argument.choices, " ");
        } else if (argument.value == "COMMAND") {
            out += ' ' + names_of_commands(all);
        }
    }
    return out;
}

constexpr std::string_view script_beginning = R"(# Completes the command line of colock in bash.
_colock()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local command= words= files= paths= i
    COMPREPLY=()
    # Bash divides --option=value at the "=".
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; ++i)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then # from here on it is another command's line
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            elif ((COMP_CWORD == i + 1)); then
                COMPREPLY=($(compgen -c -- "$cur"))
            else
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            fi
            return
        elif [[ -z $command && ${COMP_WORDS[i]} != -* ]]; then
            command=${COMP_WORDS[i]}
        fi
    done
    case $command in
)";

constexpr std::string_view script_end = R"(    esac
    if [[ $files ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    elif [[ $paths && $cur == /* ]]; then
        local -a typed
        read -ra typed <<<"${COMP_LINE:0:COMP_POINT}"
        mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" paths "$cur" -- "${typed[@]:1}" 2>/dev/null)
        if [[ ${COMPREPLY[0]-} == */ ]]; then
            compopt -o nospace 2>/dev/null
        fi
    elif [[ $words ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    fi
}
complete -F _colock colock
)";

} // namespace

std::string bash_completion(const program& p)
{
    std::string out{script_beginning};
    out += "        '') words='" + names_of_commands(p) + ' ' + names_of_options(page_of(p)) +
           "' ;;\n";
    for (const auto& c : p.commands()) {
        const auto text = page_of(c);
        out += "        " + std::string{c.text.name} + ")\n            case $prev in\n" +
               values_of(text) + "                *) words='" + names_of_options(text) +
               words_of_arguments(text, p) + (starts_a_command(c) ? " --'" : "'") +
               (std::ranges::any_of(text.arguments, &shown_option::is_path) ? " paths=1" : "") +
               " ;;\n            esac\n            ;;\n";
    }
    out += script_end;
    return out;
}

} // namespace colock::cli
