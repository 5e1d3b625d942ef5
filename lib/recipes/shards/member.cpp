#include "recipes/shards/member.hpp"

#include <algorithm>
#include <utility>

namespace colock::protocol {

shard_member::shard_member(std::string name, std::size_t shards, bool prepares)
    : name_{std::move(name)}, prepares_{prepares}, shards_(shards)
{
}

void shard_member::assigned(const shard_owners& owners, bool confirmed, commands& out)
{
    for (std::size_t i = 0; i != shards_.size() && !stopped_; ++i) {
        auto& s = shards_[i];
        const auto at = static_cast<shard_index>(i);
        s.mine = owners[i] == name_;
        if (s.mine) {
            want(at, out);
        } else {
            leave(at, !owners[i].empty(), confirmed, out);
        }
    }
    if (confirmed) {
        confirming_ = false;
    }
    confirm_next(out);
}

void shard_member::want(shard_index at, commands& out)
{
    auto& is = shards_[at].is;
    switch (is) {
    case state::absent:
        is = state::looking;
        out.push_back({command::kind::look, at});
        break;
    case state::yielding:
        is = state::running;
        out.push_back({command::kind::unwatch, at});
        break;
    case state::contended:
    case state::confirming: is = state::running; break;
    case state::looking:
    case state::preparing:
    case state::stopping: // prepared() looks again
    case state::queued:
    case state::running:
    case state::ending: break; // ended() looks again
    }
}

// Without another member that shall have it the shard ends at once: nobody would ever wait for its lock.
void shard_member::leave(shard_index at, bool to_somebody, bool confirmed, commands& out)
{
    auto& is = shards_[at].is;
    switch (is) {
    case state::looking: is = state::absent; break;
    case state::preparing:
    case state::stopping: // it may pause since it has thrown
        is = state::stopping;
        out.push_back({command::kind::stop_preparing, at});
        break;
    case state::queued: end(at, out); break;
    case state::running:
        if (to_somebody) {
            is = state::yielding;
            out.push_back({command::kind::watch, at});
        } else {
            end(at, out);
        }
        break;
    case state::yielding:
        if (!to_somebody) {
            out.push_back({command::kind::unwatch, at});
            end(at, out);
        }
        break;
    case state::contended:
        if (!to_somebody) {
            end(at, out);
        }
        break;
    case state::confirming:
        if (confirmed || !to_somebody) {
            end(at, out);
        }
        break;
    case state::absent:
    case state::ending: break;
    }
}

void shard_member::end(shard_index at, commands& out)
{
    shards_[at].is = state::ending;
    out.push_back({command::kind::end, at});
}

// One at a time: what is read must have been asked for after somebody was seen to wait.
void shard_member::confirm_next(commands& out)
{
    if (confirming_ || stopped_) {
        return;
    }
    for (auto& s : shards_) {
        if (s.is == state::contended) {
            s.is = state::confirming;
            confirming_ = true;
        }
    }
    if (confirming_) {
        out.push_back({command::kind::confirm});
    }
}

void shard_member::looked(shard_index at, bool is_free, commands& out)
{
    auto& [is, mine] = shards_[at];
    if (is != state::looking) {
        return;
    }
    if (!mine) {
        is = state::absent; // it is refused since
    } else if (prepares_ && !is_free) {
        is = state::preparing;
        out.push_back({command::kind::prepare, at});
    } else {
        is = state::queued;
        out.push_back({prepares_ ? command::kind::lock_first : command::kind::lock, at});
    }
}

void shard_member::prepared(shard_index at, commands& out)
{
    auto& s = shards_[at];
    if (s.is == state::preparing) {
        s.is = state::queued;
        out.push_back({command::kind::lock, at});
    } else if (s.is == state::stopping) {
        s.is = state::absent;
        if (s.mine && !stopped_) {
            want(at, out);
        }
    }
}

void shard_member::began(shard_index at)
{
    if (shards_[at].is == state::queued) {
        shards_[at].is = state::running;
    }
}

void shard_member::contended(shard_index at, commands& out)
{
    if (shards_[at].is == state::yielding) {
        shards_[at].is = state::contended;
        confirm_next(out);
    }
}

void shard_member::ended(shard_index at, commands& out)
{
    auto& s = shards_[at];
    if (s.is == state::yielding) {
        out.push_back({command::kind::unwatch, at});
    }
    s.is = state::absent;
    if (s.mine && !stopped_) {
        want(at, out);
    }
}

void shard_member::stop(commands& out)
{
    stopped_ = true;
    for (std::size_t i = 0; i != shards_.size(); ++i) {
        shards_[i].mine = false;
        leave(static_cast<shard_index>(i), false, false, out);
    }
}

bool shard_member::is_idle() const noexcept
{
    return std::ranges::all_of(shards_, [](const shard& s) { return s.is == state::absent; });
}

bool shard_member::is_settled() const noexcept
{
    return std::ranges::all_of(
        shards_, [](const shard& s) { return s.is == (s.mine ? state::running : state::absent); });
}

std::string shard_member::fingerprint() const
{
    std::string text{stopped_ ? '1' : '0', confirming_ ? '1' : '0'};
    for (const auto& s : shards_) {
        text += static_cast<char>('a' + static_cast<int>(s.is));
        text += s.mine ? '1' : '0';
    }
    return text;
}

} // namespace colock::protocol
