// A server that keeps data, on a port of the loopback; without rights, also where this process is root.
#ifndef COLOCK_TEST_FENCE_STORE_SERVER_HPP
#define COLOCK_TEST_FENCE_STORE_SERVER_HPP

#include <support/loopback_port.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>

#include "fence_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <list>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

class store_server {
public:
    store_server()
    {
        if (::geteuid() == 0) {
            const auto* nobody = ::getpwnam("nobody");
            BOOST_REQUIRE(nobody != nullptr);
            BOOST_REQUIRE(::chown(directory().c_str(), nobody->pw_uid, nobody->pw_gid) == 0);
        }
    }
    store_server(const store_server&) = delete;
    store_server& operator=(const store_server&) = delete;
    ~store_server()
    {
        while (!processes_.empty()) {
            auto& last = processes_.back();
            last.process.send_signal(last.end);
            last.process.wait_for(30s);
            processes_.pop_back();
        }
    }

    const std::string& directory() const { return directory_.path(); }
    std::string port() const { return std::to_string(port_.number()); }
    bool listens() const { return port_.occupied(); }

    // Runs a program that prepares something.
    void run(std::vector<std::string> command) const
    {
        subprocess program{without_rights(std::move(command)), options()};
        BOOST_REQUIRE(program.wait().success());
    }

    // The server itself, after what it needs; that signal asks it to end.
    void start(std::vector<std::string> command, int end)
    {
        processes_.emplace_back(without_rights(std::move(command)), options(), end);
    }

private:
    struct running {
        running(std::vector<std::string> command, subprocess_options options, int signal)
            : process{std::move(command), std::move(options)}, end{signal}
        {
        }

        subprocess process;
        int end;
    };

    // As changing the user clears the signal that ends it together with this process, it is set once more.
    static std::vector<std::string> without_rights(std::vector<std::string> command)
    {
        if (::geteuid() == 0) {
            const std::vector<std::string> first{"setpriv",          "--reuid=nobody",
                                                 "--regid=nogroup",  "--clear-groups",
                                                 "--pdeathsig=KILL", "--"};
            command.insert(command.begin(), first.begin(), first.end());
        }
        return command;
    }
    subprocess_options options() const
    {
        return {.output_file = directory() + "/log", .working_directory = directory()};
    }

    temporary_directory directory_;
    loopback_port port_;
    std::list<running> processes_;
};

// For each of them the least that it takes. In turn: the machine is not equally busy all the time.
template <class Measure>
std::vector<double> least_of(const std::vector<std::string>& each, Measure&& measure)
{
    std::vector<double> best(each.size(), std::numeric_limits<double>::max());
    for (int round = 0; round != 5; ++round) {
        for (std::size_t i = 0; i != each.size(); ++i) {
            best[i] = std::min(best[i], measure(each[i]));
        }
    }
    return best;
}

} // namespace colock::test

#endif
