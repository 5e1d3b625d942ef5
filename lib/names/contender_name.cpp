#include "names/contender_name.hpp"

#include "names/kinds.hpp"
#include "names/path_text.hpp"
#include "names/standing.hpp"

#include <algorithm>
#include <utility>

namespace colock::protocol {

node_name name_prefix(const layout& l, const guid& g, bool shared)
{
    const auto& marker = shared ? l.shared_marker : l.marker;
    const auto size =
        l.prefix.size() + guid_length(l.dashed_guid) + l.separator.size() + marker.size();
    return node_name::written(size, [&](char* to) {
        to = std::ranges::copy(l.prefix, to).out;
        to = write(to, g, l.dashed_guid);
        to = std::ranges::copy(l.separator, to).out;
        std::ranges::copy(marker, to);
    });
}

std::size_t longer_name_of_reader(const layout& l) noexcept
{
    return std::max(l.marker.size(), l.shared_marker.size()) - l.marker.size();
}

std::optional<std::int64_t> number_of(const layout& l, std::string_view name) noexcept
{
    const auto found = detail::standing_of(l, name);
    return found ? std::optional{found->number} : std::nullopt;
}

bool is_shared(const layout& l, std::string_view name) noexcept
{
    const auto found = detail::standing_of(l, name);
    return found && found->shared;
}

std::string layout_fault(const layout& l)
{
    for (const auto* text :
         {&l.prefix, &l.separator, &l.marker, &l.shared_marker, &l.required_prefix}) {
        if (text->find('/') != std::string::npos) {
            return "has a '/' in \"" + *text + '"';
        }
        if (const char* const fault = detail::text_fault(*text)) {
            return std::string{"has a part of its names that "} + fault;
        }
    }
    if (l.marker.empty()) {
        return "has no marker";
    }
    for (const auto* marker : {&l.marker, &l.shared_marker}) {
        if (!marker->empty() && marker->back() >= '0' && marker->back() <= '9') {
            return "has a marker that ends in a digit: \"" + *marker + '"';
        }
    }
    if (!l.shared_marker.empty() &&
        (l.marker.ends_with(l.shared_marker) || l.shared_marker.ends_with(l.marker))) {
        return "has markers of which one ends in the other";
    }
    if (!l.prefix.starts_with(l.required_prefix)) {
        return "writes names that do not begin with what it requires";
    }
    for (const bool shared : {false, true}) {
        if (shared && l.shared_marker.empty()) {
            break;
        }
        std::string name{name_prefix(l, {}, shared)}; // to which the server appends a number
        const auto length = name.size();
        for (const auto& [digits, number] :
             {std::pair{"0000000000", std::int64_t{0}},
              {"2147483647", 0x7fff'ffff},
              {"-2147483648", -std::int64_t{0x8000'0000}}}) { // run over
            name.replace(length, name.npos, digits);
            if (number_of(l, name) != number || is_shared(l, name) != shared) {
                return "cannot read back the names that it writes, such as \"" + name + '"';
            }
        }
    }
    return {};
}

entries contenders(const layout& l, const std::vector<std::string>& children)
{
    entries all;
    all.reserve(children.size());
    for (const auto& name : children) {
        if (const auto found = detail::standing_of(l, name)) {
            all.push_back({found->number, name, found->shared});
        }
    }
    // A reader that was a writer has its number. It comes after the writer while both are there.
    std::ranges::sort(all, {}, [](const entry& e) { return std::pair{e.number, e.shared}; });
    return all;
}

namespace {

using detail::lock_kind;
namespace kinds = detail::kinds;

// Of a contender whose kind is known, and another one than `except`. Names of a layout that is no kind's are nobody's: there may
// be several locks in one directory on purpose (named_layout).
std::optional<std::int64_t> known_number(std::string_view name, const lock_kind* except) noexcept
{
    for (const auto* kind : kinds::seen) {
        for (const auto marker : {kind->marker, kind->shared_marker}) {
            const auto number = kind != except && !marker.empty() && name.starts_with(kind->prefix)
                                    ? detail::number_behind(marker, name)
                                    : std::nullopt;
            if (number) {
                return number;
            }
        }
    }
    return std::nullopt;
}

} // namespace

bool is_of_another_kind(const layout& l, const std::vector<std::string>& children,
                        std::int64_t before)
{
    const auto* const own = std::ranges::find_if(kinds::seen, [&](const lock_kind* kind) {
        return (l.marker == kind->marker || l.marker == kind->shared_marker) &&
               (!kind->requires_prefix || l.required_prefix == kind->prefix);
    });
    if (own == kinds::seen.end()) {
        return false;
    }
    return std::ranges::any_of(children, [&](const std::string& name) {
        const auto number = number_of(l, name) ? std::nullopt : known_number(name, *own);
        // A semaphore's "locks" may have been deleted while nobody waited.
        return name == kinds::semaphore.child || (number && *number < before);
    });
}

bool has_contenders(const std::vector<std::string>& children)
{
    return std::ranges::any_of(children, [](const std::string& name) {
        return known_number(name, nullptr) || number_of(curator_layout(), name) ||
               number_of(curator_shared_layout(), name);
    });
}

} // namespace colock::protocol
