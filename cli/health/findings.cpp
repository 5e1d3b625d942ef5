#include "health/findings.hpp"

#include <colock/log.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <string_view>

namespace colock::cli {

namespace json = boost::json;

const char* name_of(severity v)
{
    switch (v) {
    case severity::ok: return "ok";
    case severity::warning: return "warning";
    case severity::error: return "error";
    case severity::unknown: break;
    }
    return "unknown";
}

std::string shell_word(const std::string& word)
{
    if (printable(word, word.size()) != word) {
        return {};
    }
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789/._-+:@%,=";
    if (!word.empty() && word.find_first_not_of(plain) == word.npos) {
        return word;
    }
    std::string quoted{'\''};
    for (const auto c : word) {
        // fish knows backslashes between quotes, too, other shells do not.
        quoted += c == '\'' || c == '\\' ? std::string{"'\\"} + c + '\'' : std::string{c};
    }
    return quoted + '\'';
}

void findings::add(severity is, std::string subject, const std::string& text, std::string command)
{
    all_.push_back({is, std::move(subject), printable(text), std::move(command)});
    if (at_once_) {
        const auto& f = all_.back();
        std::string line = name_of(f.is);
        line.resize(9, ' ');
        line += f.subject;
        line.resize(std::max<std::size_t>(21, line.size() + 1), ' ');
        std::cout << line << f.text << std::endl;
        for (std::istringstream lines{f.command}; std::getline(lines, line);) {
            std::cout << std::string(21, ' ') << line << std::endl;
        }
    }
}

std::size_t findings::count(severity is) const
{
    return static_cast<std::size_t>(std::ranges::count(all_, is, &finding::is));
}

std::string findings::summary() const
{
    const auto counted = [this](severity v, const std::string& what) {
        const auto n = count(v);
        return (n ? std::to_string(n) : "no") + ' ' + what + (n == 1 ? "" : "s");
    };
    return counted(severity::error, "error") + ", " + counted(severity::warning, "warning") + "; " +
           std::to_string(requests) + " requests in " + std::to_string(sessions) + " sessions";
}

std::string findings::json() const
{
    json::array list;
    for (const auto& f : all_) {
        json::object one;
        one["severity"] = name_of(f.is);
        one["subject"] = f.subject;
        one["text"] = f.text;
        if (!f.command.empty()) {
            one["command"] = f.command;
        }
        list.push_back(std::move(one));
    }
    json::object whole;
    whole["findings"] = std::move(list);
    whole["errors"] = count(severity::error);
    whole["warnings"] = count(severity::warning);
    whole["unknown"] = count(severity::unknown);
    whole["requests"] = requests;
    whole["sessions"] = sessions;
    return json::serialize(whole);
}

} // namespace colock::cli
