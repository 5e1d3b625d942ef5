#include "repetition.hpp"

#include "planted.hpp"

#include <utility>

namespace colock::protocol {

bool repetition::answered(command::kind to, std::string_view name, const error_code& ec)
{
    using kind = command::kind;
    last_answer_failed_ =
        is_retryable(ec) && !outcome_unknown(ec) && !planted("refused, and repeated at once");
    if (to == kind::read_directory) {
        directory_gone_ =
            ec == zookeeper_errc::no_node && !planted("missing directory read at once");
    }
    if (to != kind::watch) {
        return false;
    }
    if (ec == zookeeper_errc::no_node) {
        last_answer_failed_ =
            !has_queue_ || (name == missing_ && !planted("missing node watched at once"));
        missing_ = name;
    }
    return !ec && !has_queue_;
}

bool repetition::is_repetition(command::kind type) noexcept
{
    using kind = command::kind;
    switch (type) {
    case kind::identify_directory:
    case kind::sign_directory:
    case kind::watch_newcomers: return false; // nothing else follows from their answers
    default: break;
    }
    const bool follows = std::exchange(last_answer_failed_, false);
    switch (type) {
    case kind::make_directory: made_directory_ = true; return true;
    case kind::create:
    case kind::create_and_count: {
        const bool again =
            std::exchange(has_created_, true) && has_queue_ && !planted("created again at once");
        return (!std::exchange(made_directory_, false) && again) || follows;
    }
    case kind::read_directory: return std::exchange(directory_gone_, false) || follows;
    default: return follows;
    }
}

} // namespace colock::protocol
