#include "run/variables.hpp"

#include <algorithm>
#include <stdexcept>

namespace colock::cli {

namespace {

// colock sets no others, so a message that names another one is not the supervisor's.
bool is_name(std::string_view name)
{
    return name.starts_with("COLOCK_") &&
           std::ranges::all_of(name, [](char c) { return c == '_' || (c >= 'A' && c <= 'Z'); });
}

} // namespace

std::string packed(const std::vector<variable>& all)
{
    std::string text;
    for (const auto& [name, value] : all) {
        if (!is_name(name) || (value && value->find('\0') != value->npos)) {
            throw std::invalid_argument{"a variable that no environment can have"};
        }
        text += name + (value ? '=' + *value : "") + '\0';
    }
    return text;
}

std::optional<std::vector<variable>> unpacked(std::string_view text)
{
    std::vector<variable> all;
    while (!text.empty()) {
        const auto end = text.find('\0');
        const auto one = text.substr(0, end);
        const auto name = one.substr(0, one.find('='));
        if (end == text.npos || !is_name(name)) {
            return std::nullopt;
        }
        auto& next = all.emplace_back(variable{std::string{name}, std::nullopt});
        if (name.size() != one.size()) {
            next.value = one.substr(name.size() + 1);
        }
        text.remove_prefix(end + 1);
    }
    return all;
}

} // namespace colock::cli
