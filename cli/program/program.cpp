#include "program/program.hpp"

#include <colock/log.hpp>
#include <colock/version.hpp>

#include "program/background_writer.hpp"
#include "program/exit_status.hpp"
#include "program/failure.hpp"
#include "program/help.hpp"
#include "program/page.hpp"
#include "program/settings.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <iterator>
#include <system_error>
#include <utility>

namespace colock::cli {

namespace {

// The words, which the kernel puts one after the other. Others may have made them elsewhere.
std::span<char> in_one_piece(int count, char** words)
{
    std::size_t size = 0;
    for (int i = 0; i < count && words[i] == words[0] + size; ++i) {
        size += std::strlen(words[i]) + 1;
    }
    return {words[0], size};
}

// What would be opened next would get the number of a standard file that is closed: a line on the standard error could go to a
// server. Writing to these fails, as it does to a closed file, and the command of `colock run` finds them closed.
void occupy_closed_standard_files()
{
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(file, F_GETFD) < 0) {
            [[maybe_unused]] const int opened = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        }
    }
}

// Then SIGPIPE, which run_until_signal() hears, was to end this process.
bool nobody_reads_output()
{
    struct sigaction now {};
    ::pollfd out{STDOUT_FILENO, 0, 0};
    return ::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler != SIG_IGN &&
           ::poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0 &&
           ::isatty(STDOUT_FILENO) == 0;
}

// A pipe that nobody reads keeps no program from its end.
void say_last(std::string line)
{
    try {
        background_writer out{STDERR_FILENO, [](std::size_t) { return std::string{}; }};
        out.write(std::move(line));
        out.flush(std::chrono::seconds{1});
    } catch (const std::system_error&) { // there may be no more threads
        std::cerr << line;
    }
}

} // namespace

program::program() : app_{"Distributed locks on ZooKeeper, for the shell", "colock"}
{
    app_.require_subcommand(1);
    app_.set_help_flag("-h,--help", "say this");
    app_.set_version_flag("-V,-v,--version", "colock " COLOCK_VERSION_STRING,
                          "say which version this is");
}

subcommand& program::add(subcommand_text text)
{
    auto& c = commands_.emplace_back();
    c.text = std::move(text);
    c.options = app_.add_subcommand(std::string{c.text.name}, std::string{c.text.summary});
    return c;
}

const subcommand& program::find(std::string_view name) const
{
    for (const auto& c : commands_) {
        if (c.text.name == name) {
            return c;
        }
    }
    throw failure{usage,
                  "there is no command \"" + printable(name) + "\"; `colock help` lists them"};
}

namespace {

void replace_option(std::string& text, const std::string& name, const std::string& by)
{
    for (auto at = text.find(name); at != text.npos; at = text.find(name, at + by.size())) {
        const auto behind = at + name.size();
        const bool is_whole = behind == text.size() ||
                              (text[behind] != '-' && (text[behind] < 'a' || text[behind] > 'z'));
        if (is_whole) {
            text.replace(at, name.size(), by);
        }
    }
}

// Where a variable or a setting stands in for an option, that is at fault.
std::string with_sources(std::string text, const CLI::App& options,
                         const std::vector<std::string>& given,
                         const std::vector<applied_setting>& settings)
{
    for (const auto* option : options.get_options()) {
        const auto name = option->get_name();
        const auto variable = option->get_envname();
        const bool is_given = std::ranges::any_of(
            given, [&](const std::string& word) { return word.substr(0, word.find('=')) == name; });
        const auto applied = std::ranges::find(settings, name, &applied_setting::option);
        if (applied != settings.end()) {
            replace_option(text, name, name.substr(2) + " (" + applied->place + ')');
        } else if (!variable.empty() && !is_given && std::getenv(variable.c_str())) {
            replace_option(text, name, variable);
        }
    }
    return text;
}

// The command of the user, which CLI11 takes for arguments of ours.
std::string forgotten_divider(const subcommand& c)
{
    auto rest = c.options->remaining();
    for (const auto* option : c.options->get_options()) {
        const auto& taken = option->results(); // where PATH may be given more than once
        const auto no_path = [](const auto& text) { return !text.starts_with('/'); };
        if (option->get_positional() && taken.size() > 1) {
            const auto first = std::find_if(std::next(taken.begin()), taken.end(), no_path);
            rest.insert(rest.begin(), first, taken.end());
        }
    }
    const auto word =
        std::ranges::find_if(rest, [](const auto& text) { return !text.starts_with('-'); });
    if (word == rest.end()) {
        return {};
    }
    return "put -- before the command \"" + *word + "\": colock " + std::string{c.text.name} + ' ' +
           std::string{c.text.synopsis};
}

// CLI11 never sees what stands behind "--". A command that does not ask for it would drop a path or an option.
bool drops_words(const subcommand& c)
{
    return c.text.synopsis.find("-- ") == c.text.synopsis.npos;
}

constexpr auto no_words = "takes nothing behind --; leave the -- out";

// What a script gives when its variable is not set. To take that for an option that is not given would, say, run a command
// without its switch.
failure is_empty(const std::string& option)
{
    return {usage, option + " is empty; give it a value, or leave it out"};
}

// CLI11 would take the next word for the value of "--name=": another option, or the path of a lock.
void refuse_empty(const std::vector<std::string>& words)
{
    for (const auto& word : words) {
        if (word.starts_with("--") && word.find('=') == word.size() - 1) {
            throw is_empty(word.substr(0, word.size() - 1));
        }
    }
}

void refuse_empty(const CLI::App& options)
{
    for (const auto* const option : options.get_options()) {
        const auto& values = option->results();
        if (!option->get_positional() && std::ranges::find(values, "") != values.end()) {
            throw is_empty(option->get_name());
        }
    }
}

// Of a command that connects, when nothing has named its servers.
void note_default_servers(const CLI::App& options)
{
    const auto* const servers = options.get_option_no_throw("--servers");
    if (!servers || servers->count() != 0) {
        return;
    }
    // Other servers than those that were meant would grant a lock that excludes nobody.
    if (std::getenv(servers->get_envname().c_str())) {
        throw failure{usage, servers->get_envname() + " is empty; write the servers there, such "
                                                      "as zk1:2181,zk2:2181, or unset it"};
    }
    advise_on_default_servers();
}

} // namespace

int program::run(int argc, char** argv)
{
    shown_ = in_one_piece(argc, argv);
    occupy_closed_standard_files();
    // CLI11 would take what stands behind "--" for arguments of colock.
    std::vector<std::string> own{argv + 1, argv + argc};
    const auto divider = std::ranges::find(own, "--");
    has_words_ = divider != own.end();
    if (has_words_) {
        words_.assign(divider + 1, own.end());
        own.erase(divider, own.end());
    }
    const auto given = own;
    const auto first = own.empty() ? std::string{} : own.front();
    std::ranges::reverse(own); // as CLI11 wants them, which takes them away, too

    std::string said_by = "colock";
    std::vector<applied_setting> settings;
    const auto chosen = [&]() -> subcommand* {
        const auto at =
            std::ranges::find_if(commands_, [](auto& c) { return c.options->parsed(); });
        return at == commands_.end() ? nullptr : &*at;
    };
    const auto say = [&](std::string line, int status) {
        if (const auto* const c = chosen(); c && status == usage) {
            line = with_sources(std::move(line), *c->options, given, settings);
        }
        say_last(said_by + ": " + printable(line, longest_line) + '\n'); // CLI11 repeats words
        return status;
    };
    // A user must not take an output that a full disk has cut off for the whole.
    const auto written = [&](int status) {
        if (std::cout.flush()) {
            return status;
        }
        return nobody_reads_output()
                   ? signalled + SIGPIPE
                   : say("what it has to say cannot be written to the standard output", usage);
    };
    try {
        if (own.size() > 1 && first.starts_with("--") && !app_.get_option_no_throw(first)) {
            throw failure{usage, "options follow the name of the command, as in colock ls " +
                                     printable(first)};
        }
        refuse_empty(given);
        app_.parse(own);
        auto* const c = chosen();
        said_by += ' ' + std::string{c->text.name};
        if (has_words_ && drops_words(*c)) {
            throw failure{usage, no_words};
        }
        refuse_empty(*c->options);
        settings = apply_settings(*c->options);
        note_default_servers(*c->options);
        return written(c->run());
    } catch (const CLI::CallForHelp&) {
        auto* const c = chosen();
        std::cout << (c ? help_of(*c) : help_of(*this));
        return written(success);
    } catch (const CLI::CallForVersion& e) {
        std::cout << e.what() << '\n';
        return written(success);
    } catch (const CLI::ParseError& e) {
        if (argc <= 1) {
            std::cerr << help_of(*this);
            return usage;
        }
        auto* const c = chosen();
        if (c) {
            said_by += ' ' + std::string{c->text.name};
        } else if (!first.empty() && !first.starts_with('-')) {
            return say("there is no command \"" + printable(first) + "\"; `colock help` lists them",
                       usage);
        }
        if (c && has_words_ && drops_words(*c)) {
            return say(no_words, usage);
        }
        if (c && !has_words_ && starts_a_command(*c) && dynamic_cast<const CLI::ExtrasError*>(&e)) {
            if (const auto line = forgotten_divider(*c); !line.empty()) {
                return say(line, usage);
            }
        }
        if (c && dynamic_cast<const CLI::ExtrasError*>(&e)) {
            const auto rest = c->options->remaining();
            const auto option =
                std::ranges::find_if(rest, [](const auto& word) { return word.starts_with('-'); });
            if (option != rest.end()) {
                return say(std::string{c->text.name} + " has no option " + *option + "; `" +
                               said_by + " --help` tells what there is",
                           usage);
            }
        }
        return say(std::string{e.what()} + "; `" + said_by + " --help` tells what there is", usage);
    } catch (...) {
        const auto f = failure_of(std::current_exception());
        return written(say(f.what(), f.status()));
    }
}

} // namespace colock::cli
