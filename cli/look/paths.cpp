// `colock paths`: what a path may go on with, for the completion of shells.
#include <colock/client.hpp>
#include <colock/log.hpp>

#include "connect/awaiting.hpp"
#include "connect/run_client.hpp"
#include "names/lock_kind.hpp"
#include "names/node_path.hpp"
#include "program/exit_status.hpp"
#include "program/program.hpp"
#include "program/settings.hpp"

#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::cli {

namespace {

namespace asio = boost::asio;

// Somebody waits at a prompt: to connect, and to be answered, may take this long each.
constexpr std::chrono::milliseconds for_a_prompt{700};

// A shell puts the path into a command line: what it would not take for itself is not offered.
bool is_plain(std::string_view name)
{
    return printable(name) == name && std::ranges::all_of(name, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      std::string_view{"._-+:@%,="}.find(c) != std::string_view::npos ||
                      static_cast<unsigned char>(c) >= 0x80;
           });
}

asio::awaitable<void> offer(client& zk, std::string word)
{
    constexpr std::size_t most = 200;
    const auto directory = parent_of(word);
    const auto beginning = last_name(word);
    auto [ec, found] = co_await zk.async_children(directory, no_throw);
    std::erase_if(found.names, [&](const std::string& name) {
        return !name.starts_with(beginning) || !is_plain(name) || is_contender_name(name) ||
               (directory == "/" && name == "zookeeper"); // the servers' own
    });
    std::ranges::sort(found.names);
    found.names.resize(std::min(most, found.names.size()));
    for (const auto& name : found.names) {
        const auto path = child_of(directory, name);
        const auto [failed, below] = co_await zk.async_children(path, no_throw);
        const bool goes_on = !failed && !below.names.empty() && kinds_among(below.names).empty();
        std::cout << path << (goes_on ? "/\n" : "\n");
    }
}

asio::awaitable<int> offer_for_a_moment(client& zk, std::string word)
{
    co_await first_of(offer(zk, std::move(word)), pause(for_a_prompt));
    co_return success;
}

// The options that the line has so far, and the settings as it reads them: with --config, nothing of other files, whose
// identity is for other servers. It may be unfinished; then nothing is known.
std::optional<server_options> read_typed(std::vector<std::string> words)
{
    server_options into;
    CLI::App line;
    line.set_help_flag();
    line.allow_extras();
    add_server_options(line, into);
    std::ranges::reverse(words); // as CLI11 wants them
    try {
        line.parse(words);
    } catch (const CLI::ParseError&) {
        return std::nullopt;
    }
    apply_settings(line);
    return into;
}

} // namespace

void add_paths(program& p)
{
    auto& c = p.add(
        {.name = "paths",
         .synopsis = "WORD [-- LINE...]",
         .summary = "print what a path may go on with, for completion",
         .description =
             "Prints the paths of nodes that begin with WORD, one level further, each in a line; "
             "those with other nodes below, which are no contenders, with a slash at the end. The "
             "completions of shells ask it, and pass on the line that was typed, for options such "
             "as `--servers`. It says nothing when the servers do not answer in time, which is "
             "less than a second, and leaves out names with characters that mean something to a "
             "shell.",
         .examples = {{"colock paths /locks/ba", "The paths that begin so."}},
         .statuses = {{"0", "Always, whatever was found."}, {"121", {}}, {"122", {}}}});
    const auto word = std::make_shared<std::string>();
    c.options->add_option("WORD", *word, "how the path begins")->required();
    c.run = [&p, word] {
        if (!word->starts_with('/')) {
            return success;
        }
        try {
            const auto servers = read_typed(p.words());
            if (!servers) {
                return success;
            }
            auto options = to_client_options(*servers, [](const std::string&) {});
            options.connect_timeout = for_a_prompt;
            options.close_timeout = for_a_prompt;
            run_client(options, [&](client& zk) { return offer_for_a_moment(zk, *word); });
        } catch (const std::exception&) { // nobody can read it within a command line
        }
        return success;
    };
}

} // namespace colock::cli
