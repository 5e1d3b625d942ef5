#include "names/lock_kind.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace colock::cli {

namespace {

// What stands before the number that the server has appended; empty when there is none. Behind 2^31 the number is negative.
std::string_view before_number(std::string_view name)
{
    constexpr std::size_t digits = 10;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (name.size() <= digits ||
        !std::ranges::all_of(name.substr(name.size() - digits), is_digit)) {
        return {};
    }
    auto stem = name.substr(0, name.size() - digits);
    if (stem.ends_with("--") || stem.ends_with("__-")) {
        stem.remove_suffix(1);
    }
    return stem;
}

bool ends_in_marker_of(seen_kind k, std::string_view stem)
{
    return std::ranges::any_of(std::array{k->marker, k->shared_marker},
                               [&](std::string_view m) { return !m.empty() && stem.ends_with(m); });
}

} // namespace

std::string_view words_for(seen_kind k)
{
    return k != nullptr ? k->words : "no lock";
}

std::string with_article(std::string_view words)
{
    const bool has_vowel = std::string_view{"aeiou"}.find(words.front()) != words.npos;
    return (has_vowel ? "an " : "a ") + std::string{words};
}

std::string_view word_for(seen_kind k)
{
    return k != nullptr ? k->word : "none";
}

std::optional<seen_kind> kind_from(std::string_view word)
{
    const auto* const at = std::ranges::find(kinds::seen, word, &colock::detail::lock_kind::word);
    return at == kinds::seen.end() ? std::nullopt : std::optional{*at};
}

std::vector<std::string> all_kind_words()
{
    std::vector<std::string> all;
    for (const auto* each : kinds::seen) {
        all.emplace_back(each->word);
    }
    return all;
}

std::string_view words_before_age(std::string_view name)
{
    return name.find("-lease-") != name.npos ? "for " : "in the queue for ";
}

std::optional<queue_kind> kind_of(std::string_view name)
{
    const auto stem = before_number(name);
    const auto is_of = [&](seen_kind k) {
        return ends_in_marker_of(k, stem) &&
               (!k->requires_prefix ||
                (stem.starts_with(k->prefix) && stem.size() > k->prefix.size() + k->marker.size()));
    };
    queue_kind found{.count = 1, .example = std::string{name}};
    if (const auto* const at = std::ranges::find_if(kinds::seen, is_of); at != kinds::seen.end()) {
        found.what = *at;
        found.names = found.what->names();
    } else if (constexpr std::size_t guid = 36, mark = 6;
               stem.ends_with("_lock_") && stem.size() > guid + 1 + mark && stem[guid] == '-') {
        found.what = &kinds::named;
        found.names = named_layout(stem.substr(guid + 1, stem.size() - guid - 1 - mark));
    } else {
        return std::nullopt;
    }
    return found;
}

bool is_contender_name(std::string_view name)
{
    constexpr std::size_t digits = 10;
    if (name.size() <= digits) {
        return false;
    }
    const auto number = name.substr(name.size() - digits);
    if (!std::ranges::all_of(number, [](char c) { return (c >= '0' && c <= '9') || c == '-'; })) {
        return false;
    }
    const auto begins = name.substr(0, name.size() - digits);
    static constexpr std::array others{"lease-", "_lock_", "READ-", "WRITE-", "read-", "write-"};
    return begins.starts_with(kinds::recipe.prefix) ||
           std::ranges::any_of(
               kinds::seen,
               [&](seen_kind k) { return !k->requires_prefix && ends_in_marker_of(k, begins); }) ||
           std::ranges::any_of(others,
                               [&](const char* marker) { return begins.ends_with(marker); });
}

std::vector<queue_kind> kinds_among(const std::vector<std::string>& names)
{
    std::vector<queue_kind> all;
    std::map<std::pair<seen_kind, std::string>, std::size_t> places; // strangers may use many names
    bool leases = false;
    for (const auto& name : names) {
        leases = leases || name == kinds::semaphore.child;
        auto one = kind_of(name);
        if (!one) {
            continue;
        }
        const auto [at, is_new] =
            places.try_emplace(std::pair{one->what, one->names.marker}, all.size());
        if (is_new) {
            all.push_back(std::move(*one));
        } else {
            auto& same = all[at->second];
            ++same.count;
            same.example = std::min(same.example, one->example);
        }
    }
    const auto row = [](const queue_kind& k) { return std::ranges::find(kinds::seen, k.what); };
    std::ranges::stable_sort(all, [&](const queue_kind& a, const queue_kind& b) {
        return std::pair{b.count, row(a)} < std::pair{a.count, row(b)};
    });
    if (leases) { // "locks" goes while nobody waits
        all.push_back({.what = &kinds::semaphore,
                       .names = lease_layout(),
                       .example = std::string{kinds::semaphore.child}});
    }
    return all;
}

} // namespace colock::cli
