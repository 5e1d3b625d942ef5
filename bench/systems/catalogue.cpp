#include "catalogue.hpp"

#include <support/subprocess.hpp>

#include <filesystem>
#include <utility>

namespace bench {

std::vector<std::string> launch_command(const lock_system& s, const std::string& self)
{
    const std::string name{s.program};
    if (s.own) {
        return {self, "--serve", name};
    }
    for (const auto& [kind, server] :
         {std::pair{server_kind::etcd, "etcd"}, std::pair{server_kind::redis, "redis-server"}}) {
        if (s.server == kind && colock::test::find_program(server).empty()) {
            return {};
        }
    }
    // Built beside this program.
    const auto launcher = std::filesystem::path{self}.parent_path() / "peers" / name;
    return std::filesystem::exists(launcher) ? std::vector{launcher.string()}
                                             : std::vector<std::string>{};
}

} // namespace bench
