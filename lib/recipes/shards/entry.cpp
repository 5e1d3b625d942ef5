#include "recipes/shards/entry.hpp"

namespace colock::protocol {

shard_entry::command shard_entry::begin()
{
    is_ = state::sharing;
    return command::share;
}

shard_entry::command shard_entry::granted(bool is_held)
{
    if (!is_held) {
        return begin();
    }
    return is_ == state::replacing ? command::replace : command::read;
}

shard_entry::command shard_entry::found(definition d)
{
    switch (d) {
    case definition::none: return command::create;
    case definition::own: is_ = state::inside; return command::enter;
    case definition::another: break;
    }
    if (!replaces_) {
        return command::refuse;
    }
    is_ = state::replacing;
    return command::alone;
}

shard_entry::command shard_entry::written()
{
    return is_ == state::replacing ? begin() : command::read;
}

std::optional<shard_entry::command> shard_entry::lost() const
{
    return is_ == state::inside ? std::optional{command::leave} : std::nullopt;
}

shard_entry::command shard_entry::left()
{
    return begin();
}

std::string shard_entry::fingerprint() const
{
    return {static_cast<char>('a' + static_cast<int>(is_))};
}

} // namespace colock::protocol
