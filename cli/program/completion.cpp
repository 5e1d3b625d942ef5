#include "program/completion.hpp"

#include "program/failure.hpp"
#include "program/program.hpp"

#include <iostream>
#include <memory>

namespace colock::cli {

void add_completion(program& p)
{
    auto& c = p.add(
        {.name = "completion",
         .synopsis = "bash|zsh|fish",
         .summary = "print a script that completes command lines",
         .description =
             "Prints a script with which the shell completes commands, options, files and fixed "
             "words; and, after a slash, paths of locks, for which it asks the servers of the line "
             "(`colock paths`). An installed colock has its scripts where the shells look for "
             "them.",
         .examples = {
             {"source <(colock completion bash)",
              "Complete in this bash; or put it into ~/.bashrc."},
             {"colock completion zsh > ~/.zfunc/_colock",
              "For zsh, where `~/.zfunc` is in its `fpath` before `compinit` runs."},
             {"colock completion fish > ~/.config/fish/completions/colock.fish", "For fish."}}});
    const auto shell = std::make_shared<std::string>();
    c.options->add_option("SHELL", *shell, "for which shell")
        ->required()
        ->type_name("bash|zsh|fish");
    c.run = [&p, shell] {
        if (*shell == "bash") {
            std::cout << bash_completion(p);
        } else if (*shell == "zsh") {
            std::cout << zsh_completion(p);
        } else if (*shell == "fish") {
            std::cout << fish_completion(p);
        } else {
            throw failure{usage,
                          "there are scripts for bash, zsh and fish, not for \"" + *shell + '"'};
        }
        return success;
    };
}

} // namespace colock::cli
