// A server that does what those of the other tests, which are older, do not.
#ifndef COLOCK_TEST_CLI_SERVED_SCENE_HPP
#define COLOCK_TEST_CLI_SERVED_SCENE_HPP

#include <support/subprocess.hpp>
#include <support/wait_until.hpp>

#include <string>

namespace colock::test {

/// `colock serve`, which lets nobody ask whether a node exists without READ, as ZooKeeper does from 3.8.4 and 3.9.2 on.
struct served_scene {
    subprocess server{{COLOCK_PROGRAM, "serve", "--port", "0", "--quiet"},
                      {.capture_output = true}};
    std::string address = server.read_line(long_enough).value_or("");
};

} // namespace colock::test

#endif
