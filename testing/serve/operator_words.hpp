// The words of four letters by which operators ask a ZooKeeper server what it does.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace colock::testing {

class memory_server;

// Nothing: it is no such word.
[[nodiscard]] std::optional<std::string> answer_to(std::string_view word,
                                                   const memory_server& server);

} // namespace colock::testing
