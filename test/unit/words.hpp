#ifndef COLOCK_TEST_UNIT_WORDS_HPP
#define COLOCK_TEST_UNIT_WORDS_HPP

#include "queue/contender.hpp"

#include <string>

namespace colock::test {

/// What a contender wants done, in words.
inline std::string word_for(protocol::command::kind type)
{
    using kind = protocol::command::kind;
    switch (type) {
    case kind::make_directory: return "make directory";
    case kind::create: return "create";
    case kind::list: return "list";
    case kind::list_again: return "list again";
    case kind::list_and_watch: return "list and watch";
    case kind::watch_newcomers: return "watch newcomers";
    case kind::watch: return "watch";
    case kind::read_directory: return "read directory";
    case kind::remove: return "remove";
    case kind::step_down: return "step down";
    case kind::look: return "look";
    case kind::remove_directory: return "remove directory";
    case kind::unwatch: return "unwatch";
    case kind::prove: return "prove";
    case kind::granted: return "granted";
    case kind::busy: return "busy";
    case kind::shared: return "shared";
    case kind::lost: return "lost";
    case kind::failed: return "failed";
    case kind::gone: return "gone";
    }
    return "?";
}

} // namespace colock::test

#endif
