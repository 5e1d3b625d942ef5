// What the program says of itself: help, pages of the manual, completions. No server.
#include <support/matches.hpp>

#include "colock_process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <regex>
#include <set>

namespace colock::test::program_help_test {

namespace {

using word_set = std::set<std::string>;

// What an expression has in its parentheses, wherever it fits.
word_set found_in(const std::string& text, const std::string& expression)
{
    const auto all = matches(text, std::regex{expression, std::regex::multiline});
    return {all.begin(), all.end()};
}

// Those that `colock help` lists.
const std::vector<std::string>& commands()
{
    static const auto all = [] {
        std::vector<std::string> names;
        bool listed = false;
        for (const auto& line : lines_of(run_colock({}, {"help"}).out)) {
            if (listed && line.empty()) {
                break;
            }
            if (listed) {
                names.push_back(line.substr(2, line.find(' ', 2) - 2));
            }
            listed = listed || line == "Commands:";
        }
        return names;
    }();
    return all;
}

std::string said_by(std::vector<std::string> arguments, const std::string& directory,
                    std::vector<std::string> environment = {})
{
    const auto file = directory + "/said";
    std::filesystem::remove(file);
    subprocess p{std::move(arguments),
                 {.environment = std::move(environment), .output_file = file}};
    const auto ended = p.wait();
    return (ended.success() ? "" : "failed: ") + file_text(file);
}

bool there(const char* program)
{
    if (!find_program(program).empty()) {
        return true;
    }
    BOOST_TEST_MESSAGE("skipped: there is no " << program);
    return false;
}

} // namespace

BOOST_AUTO_TEST_SUITE(program_help)

BOOST_AUTO_TEST_CASE(every_command_says_what_it_does_in_80_columns)
{
    BOOST_TEST(commands().size() >= 5);
    auto pages = commands();
    pages.push_back("");
    for (const auto& name : pages) {
        std::vector<std::string> asked{name, "--help"};
        std::vector<std::string> helped{"help", name};
        if (name.empty()) {
            asked = {"--help"};
            helped = {"help"};
        }
        const auto r = run_colock({}, asked);
        BOOST_TEST(r.status == 0);
        BOOST_TEST(r.err.empty());
        BOOST_TEST(r.out == run_colock({}, helped).out);
        for (const auto& line : lines_of(r.out)) {
            const bool is_example = line.starts_with("  $ ");
            BOOST_TEST((line.size() <= 80 || is_example), name << ": " << line);
            BOOST_TEST(!line.ends_with(' '), name << ": " << line);
        }
        BOOST_TEST(r.out.find("usage: colock") != r.out.npos);
        BOOST_TEST(r.out.find("Examples:") != r.out.npos, name);
    }
}

// "The same" is what the option before says.
BOOST_AUTO_TEST_CASE(json_stands_behind_events)
{
    for (const auto* const command : {"run", "elect"}) {
        const auto help = run_colock({}, {"help", command}).out;
        const auto at = [&](const std::string& option) {
            return help.find("\n      " + option + ' ');
        };
        BOOST_TEST((at("--events") < at("--json") && at("--json") < at("--metrics")), help);
    }
}

BOOST_AUTO_TEST_CASE(what_there_is_not_is_said_in_one_line)
{
    const std::vector<std::vector<std::string>> bad{{"doctr"},
                                                    {"help", "doctr"},
                                                    {"man", "doctr"},
                                                    {"man", "run", "--into", "/tmp"},
                                                    {"man", "--into", "/does/not/exist"},
                                                    {"completion"},
                                                    {"completion", "tcsh"},
                                                    {"--nonsense"},
                                                    {"doctor", "--nonsense"},
                                                    {"doctor", "locks"},
                                                    {"doctor", "--old", "never"},
                                                    {"doctor", "--auth", "/does/not/exist"},
                                                    {"bench", "--seconds", "0"},
                                                    {"bench", "--seconds", "many"},
                                                    {"bench", "a"}};
    for (const auto& arguments : bad) {
        const auto r = run_colock({}, arguments);
        BOOST_TEST(r.status == 125, arguments.front() << ": " << r.status);
        BOOST_TEST(is_one_line(r.err), r.err);
        BOOST_TEST(r.err.starts_with("colock"), r.err);
        BOOST_TEST(r.out.empty(), r.out);
    }
}

BOOST_AUTO_TEST_CASE(man_and_groff_find_no_fault_in_the_manual)
{
    const temporary_directory directory;
    BOOST_TEST(run_colock({}, {"man", "--into", directory.path()}).status == 0);
    for (const auto& name : commands()) {
        const auto file = directory.path() + "/colock-" + name + ".1";
        BOOST_TEST(file_text(file) == run_colock({}, {"man", name}).out);
    }
    BOOST_TEST(file_text(directory.path() + "/colock.1") == run_colock({}, {"man"}).out);
    for (const auto& entry : std::filesystem::directory_iterator{directory.path()}) {
        if (entry.path().extension() != ".1") {
            continue;
        }
        const auto text = file_text(entry.path());
        for (const auto* heading : {".SH NAME", ".SH SYNOPSIS", ".SH \"EXIT STATUS\""}) {
            BOOST_TEST(text.find(heading) != text.npos, entry.path() << heading);
        }
        if (there("groff")) {
            const auto said =
                said_by({"groff", "-man", "-Tascii", "-ww", "-z", entry.path()}, directory.path());
            BOOST_TEST(said.empty(), said);
        }
        if (there("man")) {
            const auto said = said_by(
                {"sh", "-c", "man --warnings -l \"$1\" 2>&1 >/dev/null", "sh", entry.path()},
                directory.path(), {"MANWIDTH=80", "LC_ALL=C"});
            BOOST_TEST(said.empty(), said);
        }
    }
}

BOOST_AUTO_TEST_CASE(bash_completes)
{
    // The words of the line; the last one is completed. Prints what bash would offer.
    static constexpr auto complete = R"(
        source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _colock
        printf '%s\n' "${COMPREPLY[@]}")";
    const temporary_directory directory;
    const auto script = directory.path() + "/colock.bash";
    std::ofstream{script} << run_colock({}, {"completion", "bash"}).out;
    std::ofstream{directory.path() + "/a file"} << '\n';
    const auto completed = [&](std::vector<std::string> words) {
        std::vector<std::string> all{"bash", "--norc", "-c", complete, "bash", script, "colock"};
        all.insert(all.end(), words.begin(), words.end());
        return lines_of(said_by(all, directory.path()));
    };
    using words = std::vector<std::string>;
    BOOST_TEST(completed({"doc"}) == words{"doctor"}, boost::test_tools::per_element());
    BOOST_TEST(completed({"doctor", "--js"}) == words{"--json"}, boost::test_tools::per_element());
    const words how{"full", "any-name", "off"};
    BOOST_TEST(completed({"run", "--tls-verify", ""}) == how, boost::test_tools::per_element());
    BOOST_TEST(completed({"run", "--tls-verify", "=", "o"}) == words{"off"},
               boost::test_tools::per_element());
    BOOST_TEST(completed({"completion", "z"}) == words{"zsh"}, boost::test_tools::per_element());
    BOOST_TEST(completed({"help", "benc"}) == words{"bench"}, boost::test_tools::per_element());
    const words file{directory.path() + "/a file"};
    BOOST_TEST(completed({"run", "--auth", directory.path() + "/a"}) == file,
               boost::test_tools::per_element());
    BOOST_TEST(completed({"run", "/a", "--", "cat", directory.path() + "/a"}) == file,
               boost::test_tools::per_element());
    const auto programs = completed({"run", "/a", "--", "bas"});
    BOOST_TEST((std::ranges::find(programs, "bash") != programs.end()));
    BOOST_TEST(completed({"run", "--timeout", ""}) == words{""}, boost::test_tools::per_element());
    // Each command is offered, and with it each of its options.
    const auto offered = completed({""});
    for (const auto& name : commands()) {
        BOOST_TEST((std::ranges::find(offered, name) != offered.end()), name);
        const auto options = completed({name, "--hel"});
        BOOST_TEST(options == words{"--help"}, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(help_manual_completions_and_pages_agree)
{
    const temporary_directory directory;
    const std::vector<std::string> shells{"bash", "zsh", "fish"};
    for (const auto& shell : shells) {
        std::ofstream{directory.path() + '/' + shell} << run_colock({}, {"completion", shell}).out;
    }
    const auto zsh = file_text(directory.path() + "/zsh");
    std::string pages;
    for (const auto& page : std::filesystem::directory_iterator{COLOCK_PAGES}) {
        pages += page.path().extension() == ".md" ? file_text(page.path()) : "";
    }
    std::size_t on_pages = 0;
    for (const auto& name : commands()) {
        BOOST_TEST_CONTEXT(name)
        {
            const auto options =
                found_in(run_colock({}, {"help", name}).out, "^  (?:-., |    )(--[a-z-]+)");
            BOOST_TEST(options.contains("--help"));
            const auto manual =
                std::regex_replace(run_colock({}, {"man", name}).out, std::regex{R"(\\-)"}, "-");
            BOOST_TEST(found_in(manual, R"(^\\fB(?:-.\\fP, \\fB)?(--[a-z-]+)\\fP)") == options,
                       boost::test_tools::per_element());

            const auto offered = said_by({"bash", "--norc", "-c",
                                          "source \"$1\"; COMP_WORDS=(colock \"$2\" --); "
                                          "COMP_CWORD=2; _colock; printf '%s\\n' "
                                          "\"${COMPREPLY[@]}\"",
                                          "bash", directory.path() + "/bash", name},
                                         directory.path());
            BOOST_TEST(found_in(offered, "^(--[a-z-]+)$") == options,
                       boost::test_tools::per_element());
            const auto begin = zsh.find("\n        " + name + ")\n");
            BOOST_REQUIRE(begin != zsh.npos);
            BOOST_TEST(found_in(zsh.substr(begin, zsh.find("\n            ;;", begin) - begin),
                                R"((--[a-z-]+)=?\[)") == options,
                       boost::test_tools::per_element());
            if (there("fish")) {
                const auto of_fish =
                    said_by({"fish", "--no-config", "-c",
                             "source " + directory.path() + "/fish; complete -C 'colock " + name +
                                 " --' | string replace -r '\\t.*' ''; true"},
                            directory.path(), {"HOME=" + directory.path()});
                BOOST_TEST(found_in(of_fish, "^(--[a-z-]+)$") == options,
                           boost::test_tools::per_element());
            }

            // Its command, up to where another one begins.
            for (const auto& line :
                 found_in(pages, "colock " + name + R"(((?: (?!-- )[^\s`|&;#']+)+))")) {
                for (const auto& option : found_in(line, " (--[a-z-]+)")) {
                    BOOST_TEST(options.contains(option), line);
                    ++on_pages;
                }
            }
        }
    }
    BOOST_TEST(on_pages > 50U);
}

BOOST_AUTO_TEST_CASE(an_output_that_is_full_is_told)
{
    const temporary_directory directory;
    for (const std::string command :
         {"help", "--help", "run --help", "--version", "man", "man run", "completion bash"}) {
        subprocess p{{"/bin/sh", "-c", "exec \"$0\" " + command + " >/dev/full 2>\"$1\"",
                      COLOCK_PROGRAM, directory.path() + "/err"}};
        BOOST_TEST(p.wait().code == 125, command);
        const auto said = file_text(directory.path() + "/err");
        BOOST_TEST(is_one_line(said), said);
        BOOST_TEST(said.find("cannot be written") != said.npos, said);
    }
}

BOOST_AUTO_TEST_CASE(errors_repeat_no_escape_sequences)
{
    for (const auto& arguments : {std::vector<std::string>{"\x1b[31m"},
                                  {"ls", "--\x1b[31m", "/x"},
                                  {"ls", "/x", "/\x1b[31m"},
                                  {"revoke", "--wait", "\x1b[31m", "/x"},
                                  {"ls", "--auth", "/\x1b[31m", "/x"},
                                  {"bench", "--seconds", "\x1b[31m"}}) {
        const auto r = run_colock({}, arguments);
        BOOST_TEST(r.status == 125);
        BOOST_TEST(r.err.find('\x1b') == r.err.npos, r.err);
        // CLI11 before 2.4 complains of the option, later ones of what comes behind it.
        BOOST_TEST((r.err.find("\\x1b[31m") != r.err.npos || r.err.find(": /x;") != r.err.npos),
                   r.err);
    }
}

BOOST_AUTO_TEST_CASE(zsh_and_fish_complete)
{
    const temporary_directory directory;
    const auto zsh = directory.path() + "/_colock";
    std::ofstream{zsh} << run_colock({}, {"completion", "zsh"}).out;
    if (there("zsh")) {
        const auto said = said_by({"zsh", "-n", zsh}, directory.path());
        BOOST_TEST(said.empty(), said);
        const auto loaded = said_by({"zsh", "-f", "-c",
                                     "autoload -U compinit && compinit -u -D && source \"$1\" && "
                                     "print ${_comps[colock]}",
                                     "zsh", zsh},
                                    directory.path());
        BOOST_TEST(loaded == "_colock\n");
    }
    const auto fish = directory.path() + "/colock.fish";
    std::ofstream{fish} << run_colock({}, {"completion", "fish"}).out;
    if (there("fish")) {
        const auto said = said_by({"fish", "-n", fish}, directory.path());
        BOOST_TEST(said.empty(), said);
        const auto completed = [&](const std::string& line) {
            // Without the description behind a tab.
            return said_by({"fish", "--no-config", "-c",
                            "source " + fish + "; complete -C '" + line +
                                "' | string replace -r '\\t.*' ''; true"},
                           directory.path(), {"HOME=" + directory.path()});
        };
        BOOST_TEST(completed("colock doct") == "doctor\n");
        BOOST_TEST(completed("colock doctor --js") == "--json\n");
        BOOST_TEST(completed("colock run --tls-verify of") == "off\n");
        BOOST_TEST(completed("colock completion z") == "zsh\n");
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::program_help_test
