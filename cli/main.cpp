// colock: locks for the shell.
#include "program/detached_thread.hpp"
#include "program/program.hpp"

#include <string_view>

int main(int argc, char** argv)
{
    colock::cli::program p;
    if (argc > 1 && std::string_view{argv[1]} == "run") {
        add_run(p); // to describe all commands takes longer than many a run
        colock::cli::leave(p.run(argc, argv));
    }
    add_run(p);
    add_elect(p);
    add_ls(p);
    add_shards(p);
    add_top(p);
    add_why(p);
    add_history(p);
    add_revoke(p);
    add_break(p);
    add_root(p);
    add_doctor(p);
    add_bench(p);
    add_serve(p);
    add_help(p);
    add_man(p);
    add_completion(p);
    add_paths(p);
    colock::cli::leave(p.run(argc, argv));
}
