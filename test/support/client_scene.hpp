#ifndef COLOCK_TEST_SUPPORT_CLIENT_SCENE_HPP
#define COLOCK_TEST_SUPPORT_CLIENT_SCENE_HPP

#include <colock/client.hpp>
#include <support/admin_session.hpp>
#include <support/link.hpp>
#include <support/one_server.hpp>
#include <support/outcome.hpp>
#include <support/password_of.hpp>
#include <support/print.hpp>
#include <support/run.hpp>
#include <support/session_killer.hpp>
#include <support/tcp_proxy.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>

namespace colock::test {

/// What the cases about one client have in common: a server, the client, which reaches it through a proxy, and
/// an operator, who goes past the proxy. The client acts only while the context is run.
struct client_scene {
    explicit client_scene(client_options options = {}, zookeeper_server& s = one_server::get())
        : server{s}, zk{io, through_proxy(std::move(options))}
    {
    }

    void connect()
    {
        const outcome<> o;
        zk.async_connect(o.handler());
        value_of(io, o);
    }

    /// Closes the client, and checks that nothing of it holds work.
    void close()
    {
        const outcome<> o;
        zk.async_close(o.handler());
        value_of(io, o);
        BOOST_TEST(run_to_the_end(io));
    }

    bool wait_for(connection_state state, std::chrono::milliseconds limit = long_enough)
    {
        return becomes_true(
            io, [&] { return zk.state() == state; }, limit);
    }

    /// Cuts the connection, and keeps it cut.
    void disconnect(cut_kind how = cut_kind::reset)
    {
        proxy.refuse(true);
        proxy.cut(how);
        if (!wait_for(connection_state::suspended)) {
            throw std::runtime_error("the client does not notice that its connection is cut");
        }
    }

    void reconnect()
    {
        proxy.refuse(false);
        connect();
    }

    /// Another client ends the session.
    void end_session()
    {
        if (const auto refused =
                kill_session(server.connect_string(), zk.session_id(), password_of(zk))) {
            throw std::runtime_error(*refused);
        }
    }

    /// Whether the server has a watch of this client on the path.
    bool watched(const std::string& path) const
    {
        const auto all = server.watches();
        const auto at = all.find(path);
        return at != all.end() && at->second.contains(zk.session_id());
    }

    error_code create(const std::string& path, create_mode mode = create_mode::persistent)
    {
        const outcome<create_result> o;
        zk.async_create(path, "", mode, o.handler());
        return code_of(io, o);
    }

    error_code get(const std::string& path)
    {
        const outcome<get_result> o;
        zk.async_get(path, o.handler());
        return code_of(io, o);
    }

    /// Everything that was started before has been answered.
    void sync()
    {
        const outcome<> o;
        zk.async_sync("/", o.handler());
        value_of(io, o);
    }

    zookeeper_server& server;
    tcp_proxy proxy = link_proxy(server);
    admin_session admin{server.connect_string()};
    const std::string root = own_node(server);
    asio::io_context io;
    client zk;

private:
    client_options through_proxy(client_options options) const
    {
        if (options.hosts.empty()) {
            options.hosts = proxy.connect_string();
        }
        return link_client(std::move(options));
    }
};

} // namespace colock::test

#endif
