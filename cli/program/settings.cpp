#include "program/settings.hpp"

#include <colock/log.hpp>

#include "program/failure.hpp"
#include "program/text.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace colock::cli {

namespace {

struct settable {
    std::string_view name; // of the option, without its dashes
    bool is_file = false;
    const char* variable = nullptr; // besides that of the option
};
constexpr settable settables[] = {{"servers"},
                                  {"auth", true, "COLOCK_AUTH"},
                                  {"sasl"},
                                  {"acl"},
                                  {"tls"},
                                  {"tls-ca", true},
                                  {"tls-cert", true},
                                  {"tls-key", true},
                                  {"tls-server-name"},
                                  {"tls-verify"},
                                  {"session-timeout"},
                                  {"connect-timeout"},
                                  {"tick"},
                                  {"grace"},
                                  {"safety-margin"},
                                  {"release-timeout"}};

struct given_setting {
    std::string value;
    std::string place;
};
using settings_by_name = std::map<std::string, given_setting, std::less<>>; // by name

std::string_view trimmed(std::string_view text)
{
    constexpr std::string_view blanks = " \t\r";
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

std::string_view without_quotes(std::string_view value)
{
    const bool is_quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
    return is_quoted ? value.substr(1, value.size() - 2) : value;
}

// Whether it is said by a variable that the option does not know.
bool is_in_variable(std::string_view name)
{
    const auto* const variable = std::ranges::find(settables, name, &settable::name)->variable;
    const char* const value = variable ? std::getenv(variable) : nullptr;
    return value && *value;
}

// What a file of settings says of files is beside it, unless it is elsewhere.
std::string beside(const std::string& file, std::string_view value)
{
    if (value.starts_with("~/")) {
        const char* const home = std::getenv("HOME");
        return (home ? home : "") + std::string{value.substr(1)};
    }
    if (value.empty() || value.starts_with('/')) {
        return std::string{value};
    }
    return file.substr(0, file.rfind('/') + 1) + std::string{value};
}

[[noreturn]] void refuse(const std::string& place, std::string_view name)
{
    if (name.find("password") != name.npos || name == "identity") {
        throw failure{usage, place + ": a secret does not stand here; write it into a file of its "
                                     "own, which only its owner can read, and name that: auth = "
                                     "FILE"};
    }
    throw failure{usage, place + ": there is no setting \"" + printable(name, 64) +
                             "\"; there are " +
                             joined(settables, ", ", [](const auto& each) { return each.name; })};
}

given_setting read_line(const std::string& file, const std::string& place, std::string_view line,
                        std::string& name)
{
    const auto equals = line.find('=');
    if (equals == line.npos || line.starts_with('[')) {
        throw failure{usage, place + ": write NAME = VALUE, such as servers = zk1:2181,zk2:2181; a "
                                     "comment begins with #"};
    }
    name = trimmed(line.substr(0, equals));
    name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
    const auto* const at = std::ranges::find(settables, name, &settable::name);
    if (at == std::end(settables)) {
        refuse(place, name);
    }
    const auto value = without_quotes(trimmed(line.substr(equals + 1)));
    return {at->is_file ? beside(file, value) : std::string{value}, place};
}

void read_file(const std::string& file, bool is_required, settings_by_name& into)
{
    std::ifstream in{file};
    const auto why = [](int error) {
        return std::string{error == 0 ? "it is no file" : std::strerror(error)};
    };
    if (!in) {
        if (is_required || (errno != ENOENT && errno != ENOTDIR)) {
            const int error = errno;
            throw failure{usage,
                          "cannot read " + file + ": " + why(error) +
                              (error == EACCES ? "; it holds no secrets, so all may read it" : "") +
                              "; --config FILE takes another one (/dev/null: none)"};
        }
        return;
    }
    settings_by_name here;
    std::string line;
    errno = 0;
    for (int number = 1; std::getline(in, line); ++number) {
        constexpr std::string_view mark = "\xef\xbb\xbf"; // that some editors put before UTF-8
        if (number == 1 && line.starts_with(mark)) {
            line.erase(0, mark.size());
        }
        const auto text = trimmed(line);
        if (text.empty() || text.starts_with('#')) {
            continue;
        }
        const auto place = file + ':' + std::to_string(number);
        std::string name;
        auto s = read_line(file, place, text, name);
        const auto [earlier, is_first] = here.try_emplace(name, std::move(s));
        if (!is_first) {
            throw failure{usage, place + ": " + name + " stands twice, first at " +
                                     earlier->second.place + "; delete one of them"};
        }
    }
    if (in.bad()) { // such as a directory
        throw failure{usage, "cannot read " + file + ": " + why(errno)};
    }
    for (auto& [name, s] : here) {
        into.insert_or_assign(name, std::move(s));
    }
}

} // namespace

std::vector<std::string> settings_files(const std::string& named)
{
    if (!named.empty()) {
        return {named};
    }
    std::vector<std::string> all{"/etc/colock.conf"};
    const char* const configuration = std::getenv("XDG_CONFIG_HOME");
    const char* const home = std::getenv("HOME");
    if (configuration && *configuration == '/') {
        all.push_back(std::string{configuration} + "/colock.conf");
    } else if (home && *home == '/') {
        all.push_back(std::string{home} + "/.config/colock.conf");
    }
    return all;
}

std::vector<std::string> setting_names()
{
    std::vector<std::string> all;
    for (const auto& each : settables) {
        all.emplace_back(each.name);
    }
    return all;
}

std::vector<applied_setting> apply_settings(CLI::App& to)
{
    std::vector<applied_setting> applied;
    const auto* const config = to.get_option_no_throw("--config");
    if (!config) {
        return applied;
    }
    const auto named = config->count() == 0 ? std::string{} : config->as<std::string>();
    settings_by_name all;
    for (const auto& file : settings_files(named)) {
        read_file(file, !named.empty(), all);
    }
    for (const auto& [name, s] : all) {
        const auto dashed = "--" + name;
        auto* const option = to.get_option_no_throw(dashed);
        // The command line or a variable is stronger; or the strongest file takes back what others say.
        if (!option || option->count() != 0 || s.value.empty() || is_in_variable(name)) {
            continue;
        }
        try {
            option->add_result(s.value);
            option->run_callback();
        } catch (const CLI::ParseError& e) {
            std::string text = e.what();
            if (text.starts_with(dashed)) {
                text.erase(0, 2);
            }
            throw failure{usage, s.place + ": " + text};
        }
        applied.push_back({dashed, s.place});
    }
    return applied;
}

} // namespace colock::cli
