#include "names/lock_kind.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace colock::cli {

namespace {

struct kind_text {
    kind what;
    std::string_view word;
    std::string_view words;
};
constexpr std::array texts{
    kind_text{kind::none, "none", "no lock"},
    kind_text{kind::mutex, "mutex", "mutex"},
    kind_text{kind::shared_mutex, "shared_mutex", "reader/writer lock"},
    kind_text{kind::election, "election", "election"},
    kind_text{kind::semaphore, "semaphore", "semaphore"},
    kind_text{kind::kazoo, "kazoo", "lock of kazoo"},
    kind_text{kind::recipe, "recipe", "lock of ZooKeeper's recipe"},
    kind_text{kind::named, "named", "named lock"},
    kind_text{kind::single_node, "single_node", "lock of a single node"},
};

const kind_text& text_of(kind k)
{
    return *std::ranges::find(texts, k, &kind_text::what);
}

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

} // namespace

std::string_view words_for(kind k)
{
    return text_of(k).words;
}

std::string_view word_for(kind k)
{
    return text_of(k).word;
}

std::optional<kind> kind_from(std::string_view word)
{
    const auto at = std::ranges::find(texts, word, &kind_text::word);
    return at == texts.end() ? std::nullopt : std::optional{at->what};
}

std::vector<std::string> all_kind_words()
{
    std::vector<std::string> all;
    for (const auto& t : texts) {
        if (t.what != kind::none) {
            all.emplace_back(t.word);
        }
    }
    return all;
}

layout lease_layout()
{
    return {.prefix = "_c_", .marker = "lease-"};
}

std::optional<queue_kind> kind_of(std::string_view name)
{
    const auto stem = before_number(name);
    queue_kind found{.count = 1, .example = std::string{name}};
    if (stem.ends_with("__lock__") || stem.ends_with("__rlock__")) {
        found.what = kind::kazoo;
        found.names = kazoo_layout();
    } else if (stem.ends_with("__WRIT__") || stem.ends_with("__READ__")) {
        found.what = kind::shared_mutex;
        found.names = curator_shared_layout();
    } else if (stem.ends_with("latch-")) {
        found.what = kind::election;
        found.names = curator_latch_layout();
    } else if (stem.ends_with("lock-")) {
        found.what = kind::mutex;
        found.names = curator_layout();
    } else if (stem.starts_with("x-") && stem.size() > 3 && stem.ends_with('-')) {
        found.what = kind::recipe;
        found.names = zookeeper_recipe_layout();
    } else if (constexpr std::size_t guid = 36, mark = 6;
               stem.ends_with("_lock_") && stem.size() > guid + 1 + mark && stem[guid] == '-') {
        found.what = kind::named;
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
    static constexpr std::array markers{"lock-",    "lease-",   "latch-",    "__WRIT__",
                                        "__READ__", "__lock__", "__rlock__", "_lock_",
                                        "READ-",    "WRITE-",   "read-",     "write-"};
    return begins.starts_with("x-") || std::ranges::any_of(markers, [&](const char* marker) {
               return begins.ends_with(marker);
           });
}

std::vector<queue_kind> kinds_among(const std::vector<std::string>& names)
{
    std::vector<queue_kind> all;
    bool locks = false, leases = false;
    for (const auto& name : names) {
        locks = locks || name == "locks";
        leases = leases || name == "leases";
        auto one = kind_of(name);
        if (!one) {
            continue;
        }
        const auto same = std::ranges::find_if(all, [&](const queue_kind& k) {
            return k.what == one->what && k.names.marker == one->names.marker;
        });
        if (same == all.end()) {
            all.push_back(std::move(*one));
        } else {
            ++same->count;
            same->example = std::min(same->example, one->example);
        }
    }
    std::ranges::stable_sort(all, [](const queue_kind& a, const queue_kind& b) {
        return std::pair{b.count, a.what} < std::pair{a.count, b.what};
    });
    if (locks && leases) {
        all.push_back({.what = kind::semaphore, .names = lease_layout(), .example = "leases"});
    }
    return all;
}

} // namespace colock::cli
