// Locks in trouble: holders that are processes of their own, and what `colock` says of them.
#ifndef COLOCK_TEST_CLI_LOOK_SCENE_HPP
#define COLOCK_TEST_CLI_LOOK_SCENE_HPP

#include <support/admin_session.hpp>
#include <support/run.hpp>
#include <support/subprocess.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include "colock_process.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test {

using namespace std::chrono_literals;

/// One server for all cases: a tick of 100 ms, so that short sessions end soon, and long ones for nodes that nobody tends.
inline zookeeper_server& look_server()
{
    static zookeeper_server server = [] {
        zookeeper_options o;
        o.tick_time = 100ms;
        o.max_session_timeout = 120s;
        return zookeeper_server{o};
    }();
    return server;
}

/// A process that takes locks. It is killed with this object.
class holder_process {
public:
    holder_process(const std::string& kind, std::vector<std::string> paths,
                   std::chrono::milliseconds timeout = 20s, const std::string& owner = "-",
                   const std::string& servers = look_server().connect_string())
        : process_{words(servers, kind, std::move(paths), timeout, owner),
                   {.capture_output = true, .open_input = true}}
    {
        wait_until_held();
    }

    void wait_until_held()
    {
        if (process_.read_line(long_enough) != "held") {
            throw std::runtime_error("the holder does not get its lock");
        }
    }
    /// Takes the next lock, or waits for it.
    void go_on() { process_.write_input("\n"); }

    subprocess& process() { return process_; }

private:
    static std::vector<std::string> words(const std::string& servers, const std::string& kind,
                                          std::vector<std::string> paths,
                                          std::chrono::milliseconds timeout,
                                          const std::string& owner)
    {
        std::vector<std::string> all{COLOCK_LOOK_HOLDER, servers, std::to_string(timeout.count()),
                                     owner, kind};
        all.insert(all.end(), paths.begin(), paths.end());
        return all;
    }

    subprocess process_;
};

/// A directory for each case, and an operator.
struct look_scene {
    look_scene()
    {
        static int number = 0;
        root = "/look" + std::to_string(++number);
        admin.create(root);
    }
    look_scene(const look_scene&) = delete;
    look_scene& operator=(const look_scene&) = delete;

    std::string fresh_path() { return root + "/l" + std::to_string(++numbers); }

    static admin_session::options patient() { return {.session_timeout = 120s}; }

    /// "_c_<uuid>-lock-": what Curator and colock write before the number.
    std::string contender_name(std::string_view marker = "lock-")
    {
        char text[64];
        std::snprintf(text, sizeof text, "_c_%08x-0000-4000-8000-000000000000-", ++guids);
        return text + std::string{marker};
    }
    std::string kazoo_name()
    {
        char text[64];
        std::snprintf(text, sizeof text, "%032x__lock__", ++guids);
        return text;
    }

    /// A node of a contender of the crowd, or of the operator while there is none.
    std::string
    enter(const std::string& directory, const std::string& name,
          const std::string& data = "host=elsewhere pid=7 program=worker",
          const std::vector<admin_session::acl_entry>& acl = admin_session::open_to_all())
    {
        return (crowd ? *crowd : admin)
            .create(directory + '/' + name, data, admin_session::mode::ephemeral_sequential, acl);
    }

    std::size_t children(const std::string& path)
    {
        try {
            return admin.children(path).size();
        } catch (const admin_error&) {
            return 0;
        }
    }
    void wait_for_children(const std::string& path, std::size_t count)
    {
        if (!wait_until([&] { return children(path) >= count; }, long_enough)) {
            throw std::runtime_error(path + " does not get its nodes");
        }
    }
    std::string first_node(const std::string& path)
    {
        std::string best;
        for (const auto& name : admin.children(path)) {
            const auto number = [](const std::string& n) { return n.substr(n.size() - 10); };
            if (best.empty() || number(name) < number(best)) {
                best = name;
            }
        }
        return path + '/' + best;
    }

    static colock_result colock(std::vector<std::string> arguments,
                                std::vector<std::string> environment = {})
    {
        environment.emplace_back("COLOCK_TICK=100ms");
        environment.emplace_back("COLOCK_AUTH=");
        return run_colock(look_server().connect_string(), std::move(arguments),
                          std::move(environment));
    }

    /// Of a `pseudo_terminal`.
    static std::vector<std::string> words(std::vector<std::string> arguments)
    {
        arguments.insert(arguments.begin(), COLOCK_PROGRAM);
        return arguments;
    }
    static std::vector<std::string> environment()
    {
        return {"COLOCK_SERVERS=" + look_server().connect_string(), "COLOCK_TICK=100ms",
                "COLOCK_AUTH=", "TERM=xterm"};
    }

    admin_session admin{look_server().connect_string(), patient()};
    std::unique_ptr<admin_session> crowd;
    std::string root;
    int numbers = 0;
    unsigned guids = 0;
};

/// The value of a key in a JSON document of ours, the first one; without its quotes.
inline std::string json_value(const std::string& document, const std::string& key)
{
    const auto at = document.find('"' + key + "\":");
    if (at == document.npos) {
        return {};
    }
    auto begin = at + key.size() + 3;
    const bool text = document[begin] == '"';
    begin += text ? 1 : 0;
    return document.substr(begin, document.find_first_of(text ? "\"" : ",}]", begin) - begin);
}

} // namespace colock::test

#endif
