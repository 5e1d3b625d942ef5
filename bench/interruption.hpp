// Ctrl-C: the servers' data go before the program does.
#pragma once

namespace bench {

// Past all who take a failed measurement for a remark.
struct interrupted {
    int signal;
};

// From now on SIGINT, SIGTERM and SIGHUP are remembered, unless they are ignored. A second one of a kind ends the
// program at once.
void remember_signals();

// Throws `interrupted` if there was one. Called before whatever may take long. Nobody else catches it: a thread
// must.
void check_interruption();

} // namespace bench
