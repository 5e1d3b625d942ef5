// What this machine knows of a process that wrote a node: whether it is there, stopped, or another one by now.
#pragma once

#include <colock/queue_view.hpp>

#include <chrono>
#include <string>

namespace colock::cli {

enum class process_state {
    // The data name no process, or one of another machine; or /proc hides it; or it began after the node, by this clock.
    unknown,
    running,
    stopped,    // by SIGSTOP, Ctrl-Z, or a debugger
    gone,       // there is no process of this number
    ended,      // it has ended, but its parent has not asked for its status
    another_one // a process of this number runs that is another program
};

struct process_fact {
    process_state state = process_state::unknown;
    std::string words; // "process 4711 on this host is stopped"; empty when nothing is known
};

// `since` is when the process wrote the node, by the servers' clock. Of a process that began later nothing is known.
[[nodiscard]] process_fact look_at_process(const owner_info& owner,
                                           std::chrono::system_clock::time_point since);

// The name of this machine, as in the data of nodes.
[[nodiscard]] std::string this_host();

} // namespace colock::cli
