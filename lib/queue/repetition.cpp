#include "queue/repetition.hpp"

#include <utility>

namespace colock::protocol {

void repetition::answered(const error_code& ec)
{
    const bool refused = is_retryable(ec) && !outcome_unknown(ec);
    follows_ = refused ? cause::refusal : cause::none;
}

bool repetition::watched(const error_code& ec, std::int64_t czxid)
{
    answered(ec);
    if (ec == zookeeper_errc::no_node) {
        if (!has_queue_ || !one_less()) {
            follows_ =
                has_queue_ ? cause::refusal : cause::event; // without a queue others are quicker
        }
        return false;
    }
    if (ec || has_queue_ || czxid <= youngest_) {
        return false;
    }
    youngest_ = czxid;
    return is_new_ = true;
}

void repetition::fired(bool deleted)
{
    const bool progress = deleted && (has_queue_ ? one_less() : std::exchange(is_new_, false));
    follows_ = progress ? cause::none : cause::event;
}

bool repetition::one_less() noexcept
{
    if (!left_ || *left_ == 0) {
        return false;
    }
    --*left_;
    return true;
}

void repetition::blocked_by(std::size_t count) noexcept
{
    if (!left_ && count != 0) {
        left_ = count;
    }
}

repetition::cause repetition::is_repetition(command::kind type) noexcept
{
    using kind = command::kind;
    switch (type) {
    case kind::read_directory:
    case kind::watch_newcomers: return cause::none; // nothing else follows from their answers
    default: break;
    }
    const auto follows = std::exchange(follows_, cause::none);
    switch (type) {
    case kind::make_directory:
    case kind::list_again:
        made_directory_ = true; // the create that may follow needs no pause of its own
        return cause::refusal;
    case kind::create: {
        left_.reset(); // of another node
        const bool again = std::exchange(has_created_, true) && has_queue_;
        return !std::exchange(made_directory_, false) && again ? cause::refusal : follows;
    }
    default: return follows;
    }
}

} // namespace colock::protocol
