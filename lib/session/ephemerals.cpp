#include "session/ephemerals.hpp"

#include "names/contender_name.hpp"
#include "names/path.hpp"
#include "names/standing.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace colock::protocol {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t length_size = 4; // stands before each text
constexpr std::size_t most_open = 100;
constexpr std::size_t most_candidates =
    1'000; // for the nodes of one create: there may be many of others
constexpr std::chrono::seconds shortest_pause = 5s, longest_pause = 60s;

// The path without the number that a server has appended.
std::optional<std::string_view> without_number(std::string_view path) noexcept
{
    if (path.size() < number_digits ||
        !detail::number_in(path.substr(path.size() - number_digits))) {
        return std::nullopt;
    }
    return path.substr(0, path.size() - number_digits);
}

} // namespace

std::size_t ephemerals::size_of(std::string_view path, bool sequential) const noexcept
{
    return length_size + chroot_ + path.size() + (sequential ? number_digits : 0);
}

std::size_t ephemerals::counted_size_of(std::string_view path) const
{
    if (const auto at = nodes_.find(path); at != nodes_.end()) {
        return size_of(path, false) + at->second;
    }
    if (const auto at = heard_.find(hash{}(path)); at != heard_.end()) {
        return at->second;
    }
    const auto prefix = lost_prefix_of(path);
    return prefix ? lost_.find(*prefix)->second.size : 0;
}

void ephemerals::made(std::string_view path, std::size_t later, bool heard)
{
    if (is_counted(path)) {
        gone(path);
    }
    const auto size = size_of(path, false) + later;
    const bool is_new = heard ? heard_.emplace(hash{}(path), size).second
                              : nodes_.emplace(std::string{path}, later).second;
    counted_ += is_new ? size : 0;
}

void ephemerals::perhaps_made(std::string_view path, bool sequential, std::size_t later,
                              bool unique)
{
    if (!sequential) {
        made(path, later);
        return;
    }
    auto& creates = lost_[std::string{path}];
    if (creates.count++ == 0) {
        creates.size = size_of(path, true) + later;
        creates.later = later;
    }
    creates.unique &= unique;
    counted_ += creates.size;
}

void ephemerals::gone(std::string_view path)
{
    if (const auto at = nodes_.find(path); at != nodes_.end()) {
        counted_ -= size_of(path, false) + at->second;
        nodes_.erase(at);
    } else if (const auto heard = heard_.find(hash{}(path)); heard != heard_.end()) {
        counted_ -= heard->second;
        heard_.erase(heard);
    } else if (const auto prefix = lost_prefix_of(path)) {
        forget(lost_.find(*prefix), 1);
    }
}

// Nodes of the same name may be other sessions'. Only a census tells.
std::optional<std::string_view> ephemerals::lost_prefix_of(std::string_view path) const
{
    const auto prefix = lost_.empty() ? std::nullopt : without_number(path);
    const auto at = prefix ? lost_.find(*prefix) : lost_.end();
    return at != lost_.end() && at->second.unique ? prefix : std::nullopt;
}

void ephemerals::forget(by_path<lost_creates>::iterator at, std::size_t count)
{
    auto& creates = at->second;
    counted_ -= count * creates.size;
    creates.count -= count;
    if (creates.count == 0) {
        lost_.erase(at);
    }
}

void ephemerals::session_over() noexcept
{
    nodes_.clear();
    heard_.clear();
    lost_.clear();
    counted_ = 0;
    questions_.clear();
    next_ = time_point::min();
    in_vain_ = false;
}

// ---- the census

void ephemerals::ask(time_point now, const std::function<bool(const std::string&)>& hears)
{
    for (const auto& [path, later] : nodes_) {
        if (!hears(path)) {
            questions_.push_back({path});
        }
    }
    for (auto& [prefix, creates] : lost_) {
        creates.candidates = 0;
        creates.all_answered = true;
        questions_.push_back({std::string{parent_path(prefix)}, true, prefix});
    }
    const bool again_in_vain = in_vain_ && now <= next_ + longest_pause;
    pause_ = again_in_vain ? std::min(2 * pause_, longest_pause) : shortest_pause;
    in_vain_ = true;
    next_ = now + pause_;
}

std::optional<ephemerals::question> ephemerals::next_question()
{
    if (questions_.empty() || open_ >= most_open || interrupted_) {
        return std::nullopt;
    }
    ++open_;
    auto next = std::move(questions_.back());
    questions_.pop_back();
    return next;
}

void ephemerals::answered(const question& q, const error_code& ec, bool own,
                          const std::vector<std::string>& children)
{
    --open_;
    const auto before = counted_;
    if (q.lists) {
        listed(q, ec, children);
    } else if (!q.prefix.empty()) {
        looked_at(q, ec, own);
    } else if (ec == zookeeper_errc::no_node || (!ec && !own)) {
        gone(q.path);
    }
    in_vain_ = in_vain_ && counted_ >= before;
}

// The servers have no word for whose child it is: each that the create may have made is looked at.
void ephemerals::listed(const question& q, const error_code& ec,
                        const std::vector<std::string>& children)
{
    const auto at = lost_.find(q.prefix);
    if (at == lost_.end() || (ec && ec != zookeeper_errc::no_node)) {
        return;
    }
    std::vector<question> candidates;
    const auto name = last_name(q.prefix);
    for (const auto& child : children) {
        if (without_number(child) == name) {
            auto path = join_path(q.path, child);
            if (!is_counted(path)) {
                candidates.push_back({std::move(path), false, q.prefix});
            }
        }
    }
    if (candidates.empty()) {
        forget(at, at->second.count);
    } else if (candidates.size() <= most_candidates) {
        at->second.candidates = candidates.size();
        std::ranges::move(candidates, std::back_inserter(questions_));
    }
}

void ephemerals::looked_at(const question& q, const error_code& ec, bool own)
{
    const auto at = lost_.find(q.prefix);
    if (at == lost_.end()) {
        return;
    }
    auto& creates = at->second;
    creates.all_answered &= !ec || ec == zookeeper_errc::no_node;
    const bool all_known = --creates.candidates == 0 && creates.all_answered;
    const bool is_one = !ec && own && !is_counted(q.path);
    if (is_one) {
        made(q.path, creates.later);
    }
    if (const std::size_t known = all_known ? creates.count : is_one ? 1 : 0; known != 0) {
        forget(at, known);
    }
}

void ephemerals::unanswered() noexcept
{
    --open_;
    interrupted_ = true;
}

void ephemerals::connected() noexcept
{
    questions_.clear();
    interrupted_ = false;
    next_ = time_point::min();
}

} // namespace colock::protocol
