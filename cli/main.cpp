// colock: locks for the shell.
#include "program/program.hpp"

int main(int argc, char** argv)
{
    colock::cli::program p;
    add_run(p);
    add_elect(p);
    add_ls(p);
    add_top(p);
    add_why(p);
    add_revoke(p);
    add_break(p);
    return p.run(argc, argv);
}
