// How clients reach servers: over plain TCP or, with COLOCK_TEST_OVER_TLS=1 in the environment, over TLS.
//
// A test that says with these functions what its servers, proxies and clients are runs either way. Nothing else in a
// test knows which: operators (admin_session, kill_session, four-letter words) stay at the server's plain port.
#ifndef COLOCK_TEST_SUPPORT_LINK_HPP
#define COLOCK_TEST_SUPPORT_LINK_HPP

#include <colock/client_options.hpp>
#include <support/certificates.hpp>
#include <support/tcp_proxy.hpp>
#include <support/zookeeper_server.hpp>

#ifdef COLOCK_TEST_TLS
#include <support/tls_contexts.hpp>
#endif

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test {

namespace asio = boost::asio;

/// Whether this program's clients speak TLS.
inline bool over_tls()
{
#ifdef COLOCK_TEST_TLS
    static const auto* const wanted = std::getenv("COLOCK_TEST_OVER_TLS");
    static const bool on = wanted != nullptr && std::string_view{wanted} == "1";
    return on;
#else
    return false;
#endif
}

/// Where a program finds the certificates with which its parent has started the servers.
inline constexpr auto link_files = "COLOCK_TEST_TLS_FILES";

/// Whom all servers, proxies and clients of a program trust, and who the clients are.
struct link_identities {
    std::shared_ptr<const certificate_authority> authority =
        std::make_shared<const certificate_authority>();
    certificate client = authority->issue({.name = "client"});

    static const link_identities& get()
    {
        static const link_identities all;
        return all;
    }
};

inline std::shared_ptr<asio::ssl::context> link_context()
{
#ifdef COLOCK_TEST_TLS
    static const auto context = [] {
        if (const auto* const of_parent = std::getenv(link_files)) {
            const std::string file = std::string{of_parent} + "/client";
            return client_context(std::string{of_parent} + "/ca.pem",
                                  certificate{file + ".pem", file + ".key", {}});
        }
        const auto& all = link_identities::get();
        return client_context(*all.authority, all.client);
    }();
    return context;
#else
    return nullptr;
#endif
}

/// The options of a server.
inline zookeeper_options link_servers(zookeeper_options options = {})
{
    if (over_tls()) {
        options.tls = link_identities::get().authority;
    }
    return options;
}

/// The options of a client. They say how it speaks, not where.
inline client_options link_client(client_options options)
{
    if (over_tls() && !options.tls) {
        options.tls = link_context();
    }
    return options;
}

/// A proxy in front of a server. With TLS, the names are those by which clients call it, besides its address.
inline tcp_proxy link_proxy(const zookeeper_server& server, std::vector<std::string> names = {})
{
    if (!over_tls()) {
        return tcp_proxy{server.connect_string()};
    }
    const auto& authority = *link_identities::get().authority;
    static const proxy_tls common{authority};
    return tcp_proxy{server.secure_connect_string(),
                     names.empty() ? common : proxy_tls{authority, std::move(names)}};
}

/// Where clients reach a server of this program that speaks no TLS itself: a proxy does it.
class link_front {
public:
    explicit link_front(std::string target) : hosts_{std::move(target)}
    {
        if (over_tls()) {
            static const auto tls =
                proxy_tls::before_plain_server(*link_identities::get().authority);
            hosts_ = proxy_.emplace(hosts_, tls).connect_string();
        }
    }

    const std::string& connect_string() const noexcept { return hosts_; }

private:
    std::string hosts_;
    std::optional<tcp_proxy> proxy_;
};

/// What a program that this one starts has to know, if it uses this file.
inline std::vector<std::string> link_environment()
{
    if (!over_tls()) {
        return {};
    }
    return {std::string{link_files} + "=" + link_identities::get().authority->directory()};
}

/// Where clients find a server, or the servers of an ensemble.
template <class Servers>
std::string link_hosts(const Servers& servers)
{
    return over_tls() ? servers.secure_connect_string() : servers.connect_string();
}

inline std::uint16_t link_port(const zookeeper_server& server)
{
    return over_tls() ? server.secure_port() : server.port();
}

} // namespace colock::test

#endif
