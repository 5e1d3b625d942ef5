#include "lock/waiting_words.hpp"

#include <colock/queue_view.hpp>

#include "names/path.hpp"
#include "names/shown.hpp"

#include <algorithm>

namespace colock::detail {

std::string counted_words(std::size_t n, const std::string& what)
{
    return std::to_string(n) + ' ' + what + (n == 1 ? "" : "s");
}

std::string owner_words(std::string_view data)
{
    const auto owner = parse_owner(data.substr(0, most_of_owner_data));
    const bool known = owner.host && owner.pid && owner.program;
    const bool quoted = !known && !owner.text.empty();
    auto text = known ? *owner.host + ':' + std::to_string(*owner.pid) + " (" + *owner.program + ')'
                : quoted ? owner.text
                         : std::string{"an owner that does not say who it is"};
    text = protocol::shown(text);
    std::ranges::replace(text, '"', '?'); // it is to end with the text
    return quoted ? '"' + text + '"' : text;
}

std::string time_words(std::chrono::nanoseconds t)
{
    using namespace std::chrono;
    const auto ms = duration_cast<milliseconds>(t).count();
    return ms < 1000 ? std::to_string(ms) + " ms"
                     : std::to_string(ms / 1000) + '.' + std::to_string(ms % 1000 / 100) + " s";
}

std::string name_words(std::string_view path, const lock_kind& kind)
{
    return kind.queue_of.empty() ? std::string{path}
                                 : "the queue of " + std::string{kind.queue_of} + ' ' +
                                       std::string{protocol::parent_path(path)};
}

namespace {

std::string age_words(std::chrono::nanoseconds age)
{
    return age < std::chrono::seconds{1} ? "" : ", as of " + time_words(age) + " ago";
}

} // namespace

std::string reason_words(const wait_reasons& why, std::chrono::nanoseconds now)
{
    std::string text;
    const auto add = [&text](const std::string& more) {
        text += (text.empty() ? "" : ", ") + more;
    };
    if (why.held_here) {
        add("held by this client" +
            (why.held_since ? " for " + time_words(now - *why.held_since) : std::string{}));
    } else if (!why.connected) {
        add("without a connection to the servers");
    } else if (why.ahead.stands_by) {
        add("until its queue is empty, because its sequence numbers run out");
    } else {
        const bool listed = why.asked && why.asked->before_own;
        const auto count = listed ? why.asked->before_own : why.ahead.count;
        if (count) {
            add(*count == 0 ? "first in the queue"
                            : (listed || why.ahead.all_watched ? "behind " : "behind at most ") +
                                  counted_words(*count, "contender"));
        }
        if (why.ahead.holder) {
            add("held by " + owner_words(*why.ahead.holder));
        } else if (why.asked && count.value_or(0) != 0) {
            const auto age = now - why.asked->when;
            add("held by " + owner_words(why.asked->data) +
                (why.asked->own ? ", which is this client" : "") + age_words(age));
        }
    }
    if (why.local != 0) {
        add("behind " + counted_words(why.local, "waiter") + " of this client");
    }
    return text;
}

std::string waiting_words(const std::string& name, const std::string& reasons)
{
    const bool goes_on = reasons.starts_with("behind ") || reasons.starts_with("until ");
    return "waiting for " + name +
           (reasons.empty() ? ""
            : goes_on       ? ' ' + reasons
                            : ", " + reasons);
}

std::string still_waiting_words(const std::string& name, std::chrono::nanoseconds time,
                                const std::string& reasons, std::size_t others)
{
    return "still waiting for " + name + " after " + time_words(time) +
           (reasons.empty() ? "" : ", " + reasons) + (others != 0 ? others_words(others) : "");
}

std::string others_words(std::size_t others)
{
    return "; " + counted_words(others, "other waiter") + " of this client";
}

std::string permits_words(const std::string& taken, std::int64_t limit,
                          const std::optional<asked_holder>& one, std::chrono::nanoseconds now)
{
    auto text = taken + " of " + std::to_string(limit) + " are taken";
    if (one) {
        const auto age = now - one->when;
        text += ", the first by " + owner_words(one->data) +
                (one->own ? ", which is this client" : "") + age_words(age);
    }
    return text;
}

std::string suspicion_words(const std::string& path, const lock_kind& kind,
                            std::chrono::nanoseconds held_for)
{
    return path + " is held by this client itself, for " + time_words(held_for) +
           "; if the coroutine that waits for it is the one that holds it, it waits for itself: "
           "release the guard first" +
           std::string{kind.advice};
}

} // namespace colock::detail
