// A client that makes roots for its locks, and a stranger who does not want it to be alone there.
#ifndef COLOCK_TEST_SECURITY_ROOT_SCENE_HPP
#define COLOCK_TEST_SECURITY_ROOT_SCENE_HPP

#include <colock/diagnostics.hpp>
#include <colock/lock_root.hpp>
#include <support/client_scene.hpp>
#include <support/refused.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

using namespace std::chrono_literals;

inline const std::string secret = "orders:secret";

inline client_options protecting()
{
    return {.session_timeout = 8s,
            .tick = 500ms,
            .credentials = {{"digest", secret}},
            .acl = creator_acl()};
}

struct root_scene : client_scene {
    explicit root_scene(client_options options = protecting(),
                        zookeeper_server& on = one_server::get())
        : client_scene{std::move(options), on}
    {
        stranger.add_auth("digest", "stranger:secret");
    }

    outcome<> start(const std::string& path, std::optional<access_control_list> acl = {})
    {
        outcome<> o;
        if (acl) {
            async_ensure_lock_root(zk, path, *acl, bind_diagnostics(why, o.handler()));
        } else {
            async_ensure_lock_root(zk, path, bind_diagnostics(why, o.handler()));
        }
        return o;
    }
    error_code ensure(const std::string& path, std::optional<access_control_list> acl = {})
    {
        return code_of(io, start(path, std::move(acl)));
    }

    /// Nobody but the client may change or delete it.
    void check_protected(const std::string& path)
    {
        constexpr int no_auth = -102, not_empty = -111;
        BOOST_TEST(refused([&] { stranger.create(path + "/x"); }) == no_auth);
        BOOST_TEST(refused([&] { stranger.set(path, "x"); }) == no_auth);
        BOOST_TEST(refused([&] { stranger.set_acl(path, admin_session::open_to_all()); }) ==
                   no_auth);
        BOOST_TEST(refused([&] { stranger.remove(path + "/.keep"); }) == no_auth);
        // A client that may write to the parent may delete an empty node.
        const auto code = refused([&] { stranger.remove(path); });
        BOOST_TEST((code == not_empty || code == no_auth));
        admin_session owner{server.connect_string()};
        owner.add_auth("digest", secret);
        BOOST_TEST(owner.children(path) == std::vector<std::string>{".keep"},
                   boost::test_tools::per_element());
    }

    bool says(const std::string& words) const
    {
        return why.message().find(words) != std::string::npos;
    }

    admin_session stranger{server.connect_string()};
    diagnostics why;
};

} // namespace colock::test

#endif
