#include "program/program.hpp"

#include <colock/log.hpp>
#include <colock/version.hpp>

#include "program/exit_status.hpp"
#include "program/failure.hpp"
#include "program/help.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <exception>
#include <iostream>

namespace colock::cli {

program::program() : app_{"Distributed locks on ZooKeeper, for the shell", "colock"}
{
    app_.require_subcommand(1);
    app_.set_help_flag("-h,--help", "say this");
    app_.set_version_flag("--version", "colock " COLOCK_VERSION_STRING,
                          "say which version this is");
}

command& program::add(command_text text)
{
    auto& c = commands_.emplace_back();
    c.text = std::move(text);
    c.options = app_.add_subcommand(std::string{c.text.name}, std::string{c.text.summary});
    return c;
}

const command& program::find(std::string_view name) const
{
    for (const auto& c : commands_) {
        if (c.text.name == name) {
            return c;
        }
    }
    throw failure{usage,
                  "there is no command \"" + printable(name) + "\"; `colock help` lists them"};
}

int program::run(int argc, char** argv)
{
    // CLI11 would take what stands behind "--" for arguments of colock.
    std::vector<std::string> own{argv + 1, argv + argc};
    const auto divider = std::ranges::find(own, "--");
    has_words_ = divider != own.end();
    if (has_words_) {
        words_.assign(divider + 1, own.end());
        own.erase(divider, own.end());
    }
    const auto first = own.empty() ? std::string{} : own.front();
    std::ranges::reverse(own); // as CLI11 wants them, which takes them away, too

    std::string said_by = "colock";
    const auto chosen = [&]() -> command* {
        const auto at =
            std::ranges::find_if(commands_, [](auto& c) { return c.options->parsed(); });
        return at == commands_.end() ? nullptr : &*at;
    };
    const auto say = [&](const std::string& line, int status) {
        constexpr std::size_t longest = 16'384;
        std::cerr << said_by << ": " << printable(line, longest) << '\n'; // CLI11 repeats words
        return status;
    };
    try {
        app_.parse(own);
        auto* const c = chosen();
        said_by += ' ' + std::string{c->text.name};
        const int status = c->run();
        if (!std::cout.flush()) {
            throw failure{usage, "what it has to say cannot be written to the standard output"};
        }
        return status;
    } catch (const CLI::CallForHelp&) {
        auto* const c = chosen();
        std::cout << (c ? help_of(*c) : help_of(*this));
        return success;
    } catch (const CLI::CallForVersion& e) {
        std::cout << e.what() << '\n';
        return success;
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
        return say(std::string{e.what()} + "; `" + said_by + " --help` tells what there is", usage);
    } catch (const failure& e) {
        return say(e.what(), e.status());
    } catch (const boost::system::system_error& e) {
        const auto f = failure_of(e.code(), e.what());
        return say(f.what(), f.status());
    } catch (const std::exception& e) {
        return say(e.what(), usage);
    }
}

} // namespace colock::cli
