#include "catalogue.hpp"

#include <support/subprocess.hpp>

#include <filesystem>

namespace bench {

std::vector<std::string> launch_command(const lock_system& s, const std::string& self)
{
    const std::string name{s.program};
    if (s.own) {
        return {self, "--serve", name};
    }
    if (s.server == server_kind::etcd && colock::test::find_program("etcd").empty()) {
        return {};
    }
    // Built beside this program.
    const auto launcher = std::filesystem::path{self}.parent_path() / "peers" / name;
    return std::filesystem::exists(launcher) ? std::vector{launcher.string()}
                                             : std::vector<std::string>{};
}

} // namespace bench
