// Sessions over TLS: identities by certificate, resumption, versions, servers with names of their own, new certificates.
#include <support/fake_names.hpp>
#include <support/figures.hpp>
#include <support/sanitizers.hpp>
#include <support/tcp_proxy.hpp>

#include "tls_scene.hpp"

#include <openssl/ssl.h>

using namespace colock::test;

using colock::client_options;
using colock::connection_state;
using colock::error_code;
using colock::zookeeper_errc;

namespace {

std::shared_ptr<tls_context> our_context()
{
    return client_context(*our_authority(), our_client());
}

error_code create(tls_scene& s, const std::string& path, colock::create_options options = {})
{
    const outcome<colock::create_result> o;
    s.zk.async_create(path, "", std::move(options), o.handler());
    return code_of(s.io, o);
}
error_code get(tls_scene& s, const std::string& path)
{
    const outcome<colock::get_result> o;
    s.zk.async_get(path, o.handler());
    return code_of(s.io, o);
}

} // namespace

BOOST_AUTO_TEST_SUITE(tls_sessions)

BOOST_AUTO_TEST_CASE(a_certificate_is_an_identity_for_access_control)
{
    auto options = client_options{.tls = our_context()};
    options.acl = colock::creator_acl();
    tls_scene owner{options};
    BOOST_REQUIRE(owner.connect() == error_code{});
    BOOST_TEST(create(owner, "/owned") == error_code{});
    const auto held = owner.lock("/owned/lock");
    tls_scene other{
        {.tls = client_context(*our_authority(), our_authority()->issue({.name = "other"}))}};
    BOOST_REQUIRE(other.connect() == error_code{});
    BOOST_TEST(get(other, "/owned") == zookeeper_errc::no_auth);
    BOOST_TEST(create(other, "/owned/lock/x") == zookeeper_errc::no_auth);
    tls_scene same{options};
    BOOST_REQUIRE(same.connect() == error_code{});
    BOOST_TEST(get(same, "/owned") == error_code{});
    const outcome<colock::acl_result> listed;
    same.zk.async_get_acl("/owned", listed.handler());
    const auto acl = value_of(same.io, listed).acl;
    BOOST_REQUIRE(acl.size() == 1u);
    BOOST_TEST(acl.front().scheme == "x509");
    BOOST_TEST(acl.front().id == "CN=client");
    same.close();
    other.close();
    owner.close();
}

BOOST_AUTO_TEST_CASE(a_lock_outlives_its_connection)
{
    const proxy_tls way{*our_authority()};
    tcp_proxy proxy{tls_server().secure_connect_string(), way};
    tls_scene s{{.hosts = proxy.connect_string(), .tls = our_context()}};
    BOOST_REQUIRE(s.connect() == error_code{});
    const auto session = s.zk.session_id();
    auto held = s.lock("/outlives");
    for (std::uint64_t i = 2; i != 6; ++i) {
        proxy.cut(i % 2 == 0 ? cut_kind::reset : cut_kind::finish);
        BOOST_TEST(becomes_true(s.io, [&] { return s.zk.stats().connections == i; }));
    }
    BOOST_TEST(static_cast<bool>(held));
    BOOST_TEST(s.zk.session_id() == session);
    BOOST_TEST(s.zk.stats().sessions == 1u);
    s.unlock(held);
    s.close();
}

BOOST_AUTO_TEST_CASE(both_versions_of_tls_and_their_certificates_are_spoken)
{
    // By default a server speaks TLS 1.2 alone, and has the ciphers of that only; of 3.9.3, both versions.
    zookeeper_server newer{
        {.tls = our_authority(),
         .config_lines = {"ssl.protocol=TLSv1.3", "ssl.enabledProtocols=TLSv1.3,TLSv1.2",
                          "ssl.ciphersuites=TLS_AES_128_GCM_SHA256,"
                          "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}}};
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        const auto only = [version](std::shared_ptr<tls_context> context) {
            SSL_CTX_set_min_proto_version(context->native_handle(), version);
            SSL_CTX_set_max_proto_version(context->native_handle(), version);
            return context;
        };
        tls_scene s{{.hosts = newer.secure_connect_string(), .tls = only(our_context())}};
        BOOST_REQUIRE_MESSAGE(s.connect() == error_code{}, s.diagnostics.message());
        auto held = s.lock("/version");
        s.unlock(held);
        s.close();
        // A server of TLS 1.3 refuses a client behind the handshake.
        client_options options{.hosts = newer.secure_connect_string(),
                               .connect_timeout = 2s,
                               .tls = only(client_context(*our_authority()))};
        tls_scene nobody{options};
        BOOST_TEST(nobody.connect() == colock::errc::tls_failed);
        BOOST_TEST(nobody.diagnostics.message().find("the server asks for a client certificate") !=
                   std::string::npos);
    }
    zookeeper_server older{
        {.tls = our_authority(),
         .config_lines = {"ssl.protocol=TLSv1.2", "ssl.enabledProtocols=TLSv1.2"}}};
    client_options newest{
        .hosts = older.secure_connect_string(), .connect_timeout = 2s, .tls = our_context()};
    SSL_CTX_set_min_proto_version(newest.tls->native_handle(), TLS1_3_VERSION);
    tls_scene too_new{newest};
    BOOST_TEST(too_new.connect() == colock::errc::tls_failed);
    BOOST_TEST(too_new.diagnostics.message().find("the server ends TLS (") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(each_server_is_known_by_the_name_in_the_list)
{
    const auto named = [](const char* name) {
        return our_authority()->issue({.name = "server", .dns_names = {name}});
    };
    zookeeper_server good{{.tls = our_authority(), .tls_certificate = named("good.test")}};
    zookeeper_server other{{.tls = our_authority(), .tls_certificate = named("other.test")}};
    const auto at = [](const char* name, const zookeeper_server& server) {
        return name + (":" + std::to_string(server.secure_port()));
    };
    for (const auto& hosts : {at("good.test", good), at("other.test", other)}) {
        tls_scene s{{.hosts = hosts, .tls = our_context()}};
        BOOST_TEST(s.connect() == error_code{});
        s.close();
    }
    // The one that has another name than the list says is passed over, whenever it comes first.
    bool came_first = false;
    for (int i = 0; !came_first; ++i) {
        BOOST_REQUIRE(i != 50);
        tls_scene s{
            {.hosts = at("good.test", other) + ',' + at("good.test", good), .tls = our_context()}};
        BOOST_TEST(s.connect() == error_code{});
        came_first = s.logged("the server's certificate is for other.test, not for good.test");
        s.close();
    }
    // One name for all.
    tls_scene s{{.hosts = other.secure_connect_string(),
                 .tls = our_context(),
                 .tls_server_name = "other.test"}};
    BOOST_TEST(s.connect() == error_code{});
    s.close();
}

BOOST_AUTO_TEST_CASE(certificates_are_renewed_while_a_lock_is_held)
{
    // The servers' authority is replaced, and so is the client's certificate.
    const proxy_tls before{*our_authority()};
    auto next = std::make_shared<const certificate_authority>("the next authority");
    const proxy_tls behind{*next};
    auto proxy = std::make_unique<tcp_proxy>(tls_server().secure_connect_string(), before);
    tls_scene s{{.hosts = proxy->connect_string(), .tls = our_context()}};
    BOOST_REQUIRE(s.connect() == error_code{});
    auto held = s.lock("/renewed");
    const auto session = s.zk.session_id();
    s.zk.use_tls(client_context(*next, next->issue({.name = "client"})));
    BOOST_TEST(get(s, "/") == error_code{}); // the connection of now goes on
    BOOST_TEST(s.zk.stats().connections == 1u);
    proxy->cut();
    BOOST_TEST(becomes_true(s.io, [&] {
        return s.logged("the server's certificate is refused"); // nobody has told this server
    }));
    BOOST_TEST((s.zk.state() == connection_state::suspended));
    BOOST_TEST(static_cast<bool>(held));
    s.zk.use_tls(our_context());
    BOOST_TEST(becomes_true(s.io, [&] { return s.zk.state() == connection_state::connected; }));
    BOOST_TEST(s.zk.session_id() == session);
    BOOST_TEST(static_cast<bool>(held));
    s.unlock(held);
    s.close();
}

BOOST_AUTO_TEST_CASE(no_handshake_keeps_the_executor_for_long)
{
    const proxy_tls way{*our_authority()};
    tcp_proxy proxy{tls_server().secure_connect_string(), way};
    tls_scene s{{.hosts = proxy.connect_string(), .tls = our_context()}};
    BOOST_REQUIRE(s.connect() == error_code{});
    const std::string megabyte(900'000, 'x');
    std::vector<double> kept;
    for (std::uint64_t i = 2; i != 13; ++i) {
        pulse beats{s.io};
        proxy.cut();
        BOOST_TEST(beats.becomes_true([&] { return s.zk.stats().connections == i; }));
        const auto path = "/large" + std::to_string(i);
        const outcome<colock::create_result> made;
        s.zk.async_create(path, megabyte, made.handler());
        BOOST_TEST(beats.becomes_true([&] { return made.done(); }));
        const outcome<colock::get_result> read;
        s.zk.async_get(path, read.handler());
        BOOST_TEST(beats.becomes_true([&] { return read.done(); }));
        BOOST_TEST((read.value().data == megabyte));
        kept.push_back(milliseconds(beats.longest()));
    }
    // A handshake that blocks does so each time; a machine that halts for a moment does not.
    const auto usual = quantile(kept, 0.5);
    BOOST_TEST_MESSAGE("figure: the executor was kept for "
                       << usual << " ms by a handshake and a megabyte over TLS");
    BOOST_TEST(usual < 10 * slowness);
    s.close();
}

BOOST_AUTO_TEST_CASE(clients_that_go_at_any_point_of_a_handshake_leave_nothing)
{
    tls_server();
    const auto before = open_descriptors();
    for (int turns = 0; turns != 12; ++turns) {
        boost::asio::io_context io;
        {
            colock::client zk{
                io, {.hosts = tls_server().secure_connect_string(), .tls = our_context()}};
            const outcome<> o;
            zk.async_connect(o.handler());
            for (int i = 0; i != turns && !o.done(); ++i) {
                io.run_one_for(1s);
            }
        }
        if (turns % 2 == 0) {
            BOOST_TEST(run_to_the_end(io));
        } // else the context goes first
    }
    BOOST_TEST(open_descriptors() == before);
}

BOOST_AUTO_TEST_SUITE_END()
