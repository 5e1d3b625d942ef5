// What the cases about TLS have in common: an authority, a server that trusts it, and clients.
#ifndef COLOCK_TEST_TLS_SCENE_HPP
#define COLOCK_TEST_TLS_SCENE_HPP

#include <colock/colock.hpp>
#include <support/certificates.hpp>
#include <support/outcome.hpp>
#include <support/print.hpp>
#include <support/pulse.hpp>
#include <support/tls_contexts.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

using namespace std::chrono_literals;

inline const std::shared_ptr<const certificate_authority>& our_authority()
{
    static const auto one = std::make_shared<const certificate_authority>();
    return one;
}
inline const certificate& our_client()
{
    static const auto one = our_authority()->issue({.name = "client"});
    return one;
}

/// One server for all cases of a program; a case that stops one starts its own.
inline zookeeper_server& tls_server()
{
    static zookeeper_server one{{.tls = our_authority()}};
    return one;
}

/// Of this process.
inline std::size_t open_descriptors()
{
    using iterator = std::filesystem::directory_iterator;
    return static_cast<std::size_t>(std::distance(iterator{"/proc/self/fd"}, iterator{}));
}

/// A client, and what it says to its log.
struct tls_scene {
    explicit tls_scene(client_options options = {}) : zk{io, completed(std::move(options))} {}

    error_code connect()
    {
        const outcome<> o;
        zk.async_connect(colock::bind_diagnostics(diagnostics, o.handler()));
        return code_of(io, o);
    }
    void close()
    {
        const outcome<> o;
        zk.async_close(o.handler());
        BOOST_TEST(code_of(io, o) == error_code{});
    }
    unique_lock lock(const std::string& path)
    {
        const outcome<unique_lock> o;
        mutex{zk, path}.async_lock(o.handler());
        return value_of(io, o);
    }
    void unlock(unique_lock& held)
    {
        const outcome<> o;
        held.async_unlock(o.handler());
        BOOST_TEST(code_of(io, o) == error_code{});
    }
    [[nodiscard]] bool logged(const std::string& part) const
    {
        return std::ranges::any_of(
            log, [&](const auto& line) { return line.find(part) != std::string::npos; });
    }

    asio::io_context io;
    std::vector<std::string> log;
    colock::diagnostics diagnostics;
    client zk;

private:
    client_options completed(client_options options)
    {
        if (options.hosts.empty()) {
            options.hosts = tls_server().secure_connect_string();
        }
        options.log = [this](log_level, std::string_view line) { log.emplace_back(line); };
        return options;
    }
};

} // namespace colock::test

#endif
