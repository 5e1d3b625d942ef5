// What shells have to know to complete the command line of colock.
#pragma once

#include <string>

namespace colock::cli {

class program;

// Each is a script, which the shell reads when it starts or when it needs it.
[[nodiscard]] std::string bash_completion(const program& p);
[[nodiscard]] std::string zsh_completion(const program& p);
[[nodiscard]] std::string fish_completion(const program& p);

} // namespace colock::cli
