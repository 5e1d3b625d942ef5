#include "journal.hpp"

#include <cstdio>
#include <iomanip>
#include <ostream>

namespace world::check {

std::string_view name(deed what) noexcept
{
    switch (what) {
    case deed::started: return "started";
    case deed::killed: return "killed";
    case deed::stopped: return "stopped";
    case deed::resumed: return "resumed";
    case deed::paused: return "paused";
    case deed::trouble: return "trouble";
    case deed::calm: return "calm";
    case deed::session_opened: return "session opened";
    case deed::session_closed: return "session closed";
    case deed::session_expired: return "session expired";
    case deed::node_created: return "created";
    case deed::node_deleted: return "deleted";
    case deed::node_changed: return "changed";
    case deed::by_hand: return "by hand";
    case deed::connected: return "connected";
    case deed::closed: return "closed";
    case deed::destroyed: return "destroyed";
    case deed::waiting: return "waits";
    case deed::refused: return "refused";
    case deed::granted: return "granted";
    case deed::lost: return "lost";
    case deed::let_go: return "lets go";
    case deed::wrote: return "wrote";
    case deed::remark: return "-";
    case deed::violation: return "VIOLATION";
    }
    return "?";
}

journal::actor journal::add_actor(std::string name)
{
    const auto number = static_cast<actor>(actors_.size());
    actors_.push_back({std::move(name), number});
    return number;
}

journal::actor journal::add_actor(std::string name, actor lane)
{
    const auto number = static_cast<actor>(actors_.size());
    actors_.push_back({std::move(name), lane});
    return number;
}

void journal::print(std::ostream& out) const
{
    for (const auto& e : entries_) {
        out << std::setw(14) << text_of(e.when) << "  " << std::left << std::setw(10)
            << name_of(e.who) << ' ' << std::setw(16) << name(e.what) << std::right;
        if (e.subject != 0) {
            out << " #" << e.subject;
        }
        if (!e.text.empty()) {
            out << ' ' << e.text;
        }
        out << '\n';
    }
}

std::string text_of(instant when)
{
    const auto seconds = std::chrono::floor<std::chrono::seconds>(when);
    const auto rest = when - seconds;
    char text[40];
    std::snprintf(text, sizeof text, "%lld.%09lld", static_cast<long long>(seconds.count()),
                  static_cast<long long>(std::chrono::nanoseconds{rest}.count()));
    return text;
}

} // namespace world::check
