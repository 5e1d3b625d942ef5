// TLS with one server, as bytes: handshakes, names, refusals, and records in pieces. The server is OpenSSL, in memory.
#include "zk/tls_session.hpp"

#include <support/certificates.hpp>
#include <support/tls_contexts.hpp>

#include "guard/tls_material.hpp"

#include <boost/test/unit_test.hpp>

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace colock::test;
using colock::zk::tls_session;
using colock::zk::tls_terms;
using progress = tls_session::progress;

namespace {

const certificate_authority& ours()
{
    static const certificate_authority one;
    return one;
}
const certificate_authority& foreign()
{
    static const certificate_authority other;
    return other;
}

// The other side: accepts one connection.
class memory_server {
public:
    explicit memory_server(std::shared_ptr<tls_context> context)
        : context_{std::move(context)}, ssl_{SSL_new(context_->native_handle())},
          in_{BIO_new(BIO_s_mem())}, out_{BIO_new(BIO_s_mem())}
    {
        BIO_set_mem_eof_return(in_, -1);
        SSL_set_bio(ssl_.get(), in_, out_);
        SSL_set_accept_state(ssl_.get());
    }

    void feed(std::string_view bytes)
    {
        BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
    }
    std::string take()
    {
        std::string all(BIO_ctrl_pending(out_), '\0');
        BIO_read(out_, all.data(), static_cast<int>(all.size()));
        return all;
    }
    bool shake_hands() { return SSL_do_handshake(ssl_.get()) == 1; }
    void write(const std::string& text)
    {
        BOOST_REQUIRE(SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())) > 0);
    }
    std::string read()
    {
        std::string all;
        char some[4096];
        for (int n; (n = SSL_read(ssl_.get(), some, sizeof some)) > 0;) {
            all.append(some, static_cast<std::size_t>(n));
        }
        return all;
    }
    void update_key()
    {
        SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_REQUESTED);
        SSL_do_handshake(ssl_.get());
    }
    void send_small_records() { SSL_set_max_send_fragment(ssl_.get(), 512); }
    void say_goodbye() { SSL_shutdown(ssl_.get()); }
    std::string asked_for() const
    {
        const char* name = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
        return name != nullptr ? name : "";
    }

private:
    struct free_ssl {
        void operator()(SSL* s) const { SSL_free(s); }
    };
    std::shared_ptr<tls_context> context_;
    std::unique_ptr<SSL, free_ssl> ssl_;
    BIO* in_;
    BIO* out_;
};

struct sides {
    std::vector<std::string> names = {"localhost"};
    certificate shown = ours().issue({.name = "server",
                                      .dns_names = {"localhost", "*.zk.test"},
                                      .addresses = {"127.0.0.1", "::1"}});
    std::shared_ptr<tls_context> client = client_context(ours(), ours().issue({.name = "client"}));
    int version = 0; // the only one of the server
    bool checks_certificate = true;
    bool checks_name = true;
};

struct scene {
    explicit scene(const sides& s = {}, std::shared_ptr<tls_context> other = nullptr)
        : server{other ? std::move(other) : context_of(s)}, client{{s.client, s.names,
                                                                    s.checks_certificate,
                                                                    s.checks_name}}
    {
    }

    static std::shared_ptr<tls_context> context_of(const sides& s)
    {
        auto context = server_context(ours(), s.shown);
        if (s.version != 0) {
            SSL_CTX_set_min_proto_version(context->native_handle(), s.version);
            SSL_CTX_set_max_proto_version(context->native_handle(), s.version);
        }
        return context;
    }

    void to_server()
    {
        server.feed(client.unsent());
        client.sent(client.unsent().size());
    }

    progress shake_hands()
    {
        auto at = progress::waits;
        for (int i = 0; i != 10 && at == progress::waits; ++i) {
            at = client.shake_hands();
            to_server();
            server.shake_hands();
            client.feed(server.take());
        }
        return at;
    }

    std::string read()
    {
        std::string all;
        char some[1000];
        while (const auto n = client.read(some, sizeof some)) {
            all.append(some, n);
        }
        return all;
    }

    memory_server server;
    tls_session client;
};

std::string fault_of(const sides& s)
{
    scene both{s};
    if (both.shake_hands() == progress::complete) {
        both.read(); // what a server of TLS 1.3 says behind the handshake
    }
    BOOST_TEST(both.client.is_over());
    BOOST_TEST(!both.client.write("text"));
    return both.client.fault();
}

bool begins(const std::string& text, const std::string& with)
{
    BOOST_TEST_CONTEXT(text)
    {
        BOOST_TEST(text.starts_with(with));
    }
    return text.starts_with(with);
}

} // namespace

BOOST_AUTO_TEST_SUITE(tls_session_bytes)

BOOST_AUTO_TEST_CASE(both_versions_shake_hands_and_carry_text_both_ways)
{
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        scene s{{.version = version}};
        BOOST_REQUIRE(s.shake_hands() == progress::complete);
        BOOST_TEST(s.server.asked_for() == "localhost");
        BOOST_TEST(s.client.write("a request"));
        BOOST_TEST(s.client.unsent().find("request") == std::string_view::npos);
        s.to_server();
        BOOST_TEST(s.server.read() == "a request");
        s.server.write("an answer");
        s.client.feed(s.server.take());
        BOOST_TEST(s.read() == "an answer");
        BOOST_TEST(!s.client.is_over());
        s.server.say_goodbye();
        s.client.feed(s.server.take());
        BOOST_TEST(s.read() == "");
        BOOST_TEST(s.client.is_over());
        BOOST_TEST(s.client.fault() == "");
    }
}

BOOST_AUTO_TEST_CASE(bytes_may_come_one_by_one_and_nothing_spins_on_a_part_of_a_record)
{
    scene s;
    auto at = progress::waits;
    for (int i = 0; i != 10 && at == progress::waits; ++i) {
        at = s.client.shake_hands();
        s.to_server();
        s.server.shake_hands();
        for (const char each : s.server.take()) {
            s.client.feed({&each, 1});
            if (at == progress::waits) {
                at = s.client.shake_hands();
            }
        }
    }
    BOOST_REQUIRE(at == progress::complete);
    s.to_server();
    BOOST_REQUIRE(s.server.shake_hands());
    s.client.feed(s.server.take());
    s.read();
    const std::string text(40'000, 'x');
    s.server.write(text);
    std::string read;
    for (const char each : s.server.take()) {
        s.client.feed({&each, 1});
        read += s.read();
        BOOST_REQUIRE(!s.client.has_unread());
    }
    BOOST_TEST((read == text));
}

BOOST_AUTO_TEST_CASE(what_is_left_of_a_record_is_known_to_be_unread)
{
    scene s;
    BOOST_REQUIRE(s.shake_hands() == progress::complete);
    s.read();
    s.server.write("one");
    s.server.write("two");
    s.client.feed(s.server.take());
    char some[2];
    BOOST_TEST(s.client.read(some, sizeof some) == 2u);
    BOOST_TEST(s.client.has_unread()); // of the first record
    BOOST_TEST(s.client.read(some, sizeof some) == 1u);
    BOOST_TEST(s.client.has_unread()); // the second
    BOOST_TEST(s.read() == "two");
    BOOST_TEST(!s.client.has_unread());
}

BOOST_AUTO_TEST_CASE(a_megabyte_leaves_in_pieces)
{
    scene s;
    BOOST_REQUIRE(s.shake_hands() == progress::complete);
    const std::string text(1 << 20, 'y');
    BOOST_TEST(s.client.write(text));
    std::string got;
    while (!s.client.unsent().empty()) {
        const auto some = s.client.unsent().substr(0, 10'007);
        s.server.feed(some);
        s.client.sent(some.size());
        got += s.server.read();
    }
    BOOST_TEST((got == text));
}

BOOST_AUTO_TEST_CASE(a_certificate_is_for_the_name_or_the_address_that_was_asked_for)
{
    for (const std::vector<std::string>& names : {std::vector<std::string>{"localhost"},
                                                  {"127.0.0.1"},
                                                  {"::1"},
                                                  {"a.zk.test"},
                                                  {"LOCALHOST"},
                                                  {"other.test", "localhost"}}) {
        scene s{{.names = names}};
        BOOST_TEST_CONTEXT(names.front())
        {
            BOOST_TEST((s.shake_hands() == progress::complete));
        }
    }
    for (const std::string name : {"127.0.0.2", "::2", "zk.test", "a.b.zk.test", "server", ""}) {
        BOOST_TEST(
            fault_of({.names = {name}}) ==
            "the server's certificate is for localhost, *.zk.test, 127.0.0.1, ::1, not for " +
                name);
    }
    scene address{{.names = {"127.0.0.1"}}};
    BOOST_TEST((address.shake_hands() == progress::complete));
    BOOST_TEST(address.server.asked_for() == ""); // SNI knows names only
}

BOOST_AUTO_TEST_CASE(the_dot_at_the_end_of_a_host_is_no_part_of_its_name)
{
    const auto terms = colock::zk::terms_of(client_context(ours()), {"localhost."}, "",
                                            colock::tls_verification::full);
    scene s{{.names = terms.names}};
    BOOST_TEST((s.shake_hands() == progress::complete));
    BOOST_TEST(s.server.asked_for() == "localhost");
}

BOOST_AUTO_TEST_CASE(a_common_name_is_no_name)
{
    BOOST_TEST(fault_of({.names = {"server"}, .shown = ours().issue({.name = "server"})}) ==
               "the server's certificate is for no name at all, not for server");
}

BOOST_AUTO_TEST_CASE(a_certificate_of_somebody_else_is_refused_with_the_reason)
{
    const std::string refused = "the server's certificate is refused: ";
    const certificate_subject server{.name = "server", .dns_names = {"localhost"}};
    auto expired = server;
    expired.expired = true;
    begins(fault_of({.shown = ours().issue(expired)}), refused + "certificate has expired");
    begins(fault_of({.shown = foreign().issue(server)}), refused);
    begins(fault_of({.shown = ours().self_signed(server)}), refused + "self-signed certificate");
    begins(fault_of({.client = std::make_shared<tls_context>(tls_context::tls_client)}), refused);
}

// A session guard gets the context of its client as text.
BOOST_AUTO_TEST_CASE(a_session_guard_refuses_whom_its_client_refuses)
{
    const auto copy_of = [](const std::shared_ptr<tls_context>& context) {
        return colock::guard::context_of_material(colock::guard::material_of(*context).text);
    };
    const auto context = client_context(ours(), ours().issue({.name = "client"}));
    const auto no_limit = SSL_CTX_get_verify_depth(context->native_handle());
    auto copy = copy_of(context);
    scene both{{.client = copy}};
    BOOST_TEST((both.shake_hands() == progress::complete));
    BOOST_TEST(SSL_CTX_get_verify_depth(copy->native_handle()) == no_limit);

    context->set_verify_depth(3);
    X509_STORE_set_flags(SSL_CTX_get_cert_store(context->native_handle()), X509_V_FLAG_CRL_CHECK);
    copy = copy_of(context);
    for (const auto& each : {context, copy}) {
        begins(fault_of({.client = each}),
               "the server's certificate is refused: unable to get certificate CRL");
        BOOST_TEST(SSL_CTX_get_verify_depth(each->native_handle()) == 3);
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_to_be_checked_is_not)
{
    const auto server = foreign().issue({.name = "server"});
    begins(fault_of({.shown = server, .checks_name = false}),
           "the server's certificate is refused");
    scene any_name{{.names = {"other.test"}, .checks_name = false}};
    BOOST_TEST((any_name.shake_hands() == progress::complete));
    scene anybody{{.names = {"other.test"}, .shown = server, .checks_certificate = false}};
    BOOST_TEST((anybody.shake_hands() == progress::complete));
}

BOOST_AUTO_TEST_CASE(a_server_that_refuses_the_client_is_told_apart)
{
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        begins(fault_of({.client = client_context(ours()), .version = version}),
               "the server asks for a client certificate, and the context has none (");
        begins(fault_of({.client = client_context(ours(), foreign().issue({.name = "client"})),
                         .version = version}),
               "the server refuses the client's certificate (");
    }
    auto old = client_context(ours());
    SSL_CTX_set_max_proto_version(old->native_handle(), TLS1_2_VERSION);
    begins(fault_of({.client = old, .version = TLS1_3_VERSION}), "the server ends TLS (");
}

BOOST_AUTO_TEST_CASE(what_is_no_tls_is_named_so)
{
    const tls_terms terms{client_context(ours()), {"localhost"}};
    for (const auto& answer : {std::string{"HTTP/1.1 400 Bad Request\r\n\r\n"},
                               std::string{"220 mail.test ESMTP\r\n"}, std::string(64, '\0')}) {
        tls_session s{terms};
        BOOST_TEST((s.shake_hands() == progress::waits));
        s.feed(answer);
        BOOST_TEST((s.shake_hands() == progress::failed));
        begins(s.fault(), "the server does not speak TLS at this port (");
    }
}

BOOST_AUTO_TEST_CASE(a_changed_record_ends_the_connection)
{
    scene s;
    BOOST_REQUIRE(s.shake_hands() == progress::complete);
    s.read();
    s.server.write("an answer");
    auto record = s.server.take();
    record.back() = static_cast<char>(record.back() ^ 1);
    s.client.feed(record);
    BOOST_TEST(s.read() == "");
    BOOST_TEST(s.client.is_over());
    BOOST_TEST(s.client.fault() != "");
    BOOST_TEST(!s.client.write("a request"));
}

BOOST_AUTO_TEST_CASE(messages_without_text_do_not_go_on_for_ever)
{
    scene s{{.version = TLS1_3_VERSION}};
    BOOST_REQUIRE(s.shake_hands() == progress::complete);
    s.read();
    for (int i = 0; i != 1000 && !s.client.is_over(); ++i) {
        s.server.update_key();
        s.client.feed(s.server.take());
        s.read();
    }
    BOOST_TEST(s.client.is_over());
    BOOST_TEST(s.client.fault() == "the server sends messages of TLS without end");
    BOOST_TEST(s.client.unsent().size() < 10'000u);
    // A server that renews its keys now and then sends text in between.
    scene honest{{.version = TLS1_3_VERSION}};
    BOOST_REQUIRE(honest.shake_hands() == progress::complete);
    for (int i = 0; i != 200; ++i) {
        honest.server.update_key();
        honest.server.write(std::string(4096, 'x'));
        honest.client.feed(honest.server.take());
        BOOST_REQUIRE(honest.read().size() == 4096u);
        BOOST_REQUIRE(honest.client.write("a request"));
        honest.to_server();
        BOOST_REQUIRE(honest.server.read() == "a request");
    }
}

BOOST_AUTO_TEST_CASE(modes_of_the_context_do_no_harm)
{
    sides s;
    SSL_CTX_set_read_ahead(s.client->native_handle(), 1);
    SSL_CTX_set_mode(s.client->native_handle(), SSL_MODE_ENABLE_PARTIAL_WRITE);
    scene both{s};
    BOOST_REQUIRE(both.shake_hands() == progress::complete);
    both.read();
    BOOST_TEST(both.client.write(std::string(20'000, 'y')));
    both.to_server();
    BOOST_TEST(both.server.read().size() == 20'000u);
    both.server.write("one");
    both.server.write("two");
    both.client.feed(both.server.take());
    char some[3];
    BOOST_TEST(both.client.read(some, sizeof some) == 3u);
    BOOST_TEST(both.client.has_unread());
}

BOOST_AUTO_TEST_CASE(a_server_without_a_certificate_is_nobody)
{
    sides s{.version = TLS1_2_VERSION, .checks_name = false};
    SSL_CTX_set_cipher_list(s.client->native_handle(), "ALL:@SECLEVEL=0");
    auto anonymous = std::make_shared<tls_context>(tls_context::tls_server);
    SSL_CTX_set_max_proto_version(anonymous->native_handle(), TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(anonymous->native_handle(), "aNULL:@SECLEVEL=0");
    scene both{s, anonymous};
    BOOST_TEST((both.shake_hands() == progress::failed));
    BOOST_TEST(both.client.fault() == "the server has no certificate");
}

BOOST_AUTO_TEST_CASE(text_waits_for_the_end_of_a_message_that_came_in_part)
{
    scene s{{.version = TLS1_3_VERSION}};
    auto at = progress::waits;
    while (at == progress::waits) {
        at = s.client.shake_hands();
        s.to_server();
        if (at == progress::waits) {
            s.server.shake_hands();
            s.client.feed(s.server.take());
        }
    }
    BOOST_REQUIRE(at == progress::complete);
    s.server.send_small_records();
    BOOST_REQUIRE(s.server.shake_hands()); // and sends tickets, in pieces
    const auto tickets = s.server.take();
    s.client.feed(std::string_view{tickets}.substr(0, 600));
    BOOST_TEST(s.read() == "");
    BOOST_TEST(s.client.write("a request"));
    s.client.feed(std::string_view{tickets}.substr(600));
    BOOST_TEST(s.read() == "");
    BOOST_TEST(s.client.write(""));
    s.to_server();
    BOOST_TEST(s.server.read() == "a request");
}

BOOST_AUTO_TEST_CASE(a_name_with_a_dot_in_front_is_not_all_names_behind_it)
{
    const auto shown = ours().issue({.name = "server", .dns_names = {"a.zk.test"}});
    begins(fault_of({.names = {".zk.test"}, .shown = shown}),
           "the server's certificate is for a.zk.test");
}

BOOST_AUTO_TEST_CASE(names_of_strangers_are_printed_without_their_controls)
{
    const auto evil =
        ours().issue({.name = "evil\x1b[31m", .dns_names = {"zk.test"}, .expired = true});
    const auto fault = fault_of({.shown = evil});
    BOOST_TEST(fault.find('\x1b') == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
