// `colock serve --tls`: colock through it, who may what by a certificate, and bytes that are no TLS.
#include <support/blocking_socket.hpp>
#include <support/sanitizers.hpp>
#include <support/temporary_directory.hpp>
#include <support/tls_question.hpp>

#include "colock_process.hpp"
#include "served_program.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tls/tls_scene.hpp>
#include <vector>

namespace colock::test {

namespace {

namespace fs = std::filesystem;

struct tls_server_process : served {
    explicit tls_server_process(const std::string& directory)
        : served{{"--port", "0", "--quiet", "--tls", directory}}
    {
        BOOST_REQUIRE(!address.empty());
    }

    [[nodiscard]] blocking_socket plain() const
    {
        return {parse_hosts(address).front(), after(long_enough)};
    }
};

// A server with an authority of ours.
struct known {
    [[nodiscard]] client_options as(const std::optional<certificate>& who) const
    {
        return {.hosts = server->address, .tls = client_context(authority, who)};
    }

    temporary_directory directory;
    certificate_authority authority{"ours", directory.path()};
    const std::unique_ptr<tls_server_process> server = [this] {
        issue_to_server(authority);
        return std::make_unique<tls_server_process>(directory.path());
    }();
};

error_code create(tls_scene& s, const std::string& path, const access_control_list& acl)
{
    const outcome<create_result> o;
    const create_options options{.acl = acl};
    s.zk.async_create(path, "", options, o.handler());
    return code_of(s.io, o);
}

error_code get(tls_scene& s, const std::string& path)
{
    const outcome<get_result> o;
    s.zk.async_get(path, o.handler());
    return code_of(s.io, o);
}

// Who the server says that we are: the identity that `creator_acl()` stands for.
std::string identity(const client_options& options, const std::string& path)
{
    tls_scene s{options};
    BOOST_REQUIRE(s.connect() == error_code{});
    BOOST_TEST(create(s, path, creator_acl()) == error_code{});
    const outcome<acl_result> listed;
    s.zk.async_get_acl(path, listed.handler());
    const auto acl = value_of(s.io, listed).acl;
    s.close();
    BOOST_REQUIRE(acl.size() == 1u);
    return acl.front().scheme + ' ' + acl.front().id;
}

// What the client says to its log. Another attempt would follow.
void check_refusal(const client_options& options, const std::string& part)
{
    tls_scene s{options};
    const outcome<> o;
    s.zk.async_connect(o.handler());
    BOOST_REQUIRE(becomes_true(s.io, [&] { return !s.log.empty(); }));
    BOOST_TEST(s.logged(part), s.log.front());
    BOOST_TEST(!o.done());
}

} // namespace

BOOST_AUTO_TEST_SUITE(served_tls)

BOOST_AUTO_TEST_CASE(it_makes_certificates_once_and_they_work)
{
    const temporary_directory parent;
    const auto directory = parent.path() + "/new";
    const auto files = [&] {
        std::map<std::string, std::string> all;
        for (const auto& f : fs::directory_iterator{directory}) {
            all[f.path().filename()] = file_text(f.path());
        }
        return all;
    };
    std::map<std::string, std::string> made;
    {
        const tls_server_process s{directory};
        if (!sanitized) {
            BOOST_TEST((s.ready <= 50ms));
        }
        made = files();
        BOOST_TEST(made.size() == 6u);
        for (const auto& [name, text] : made) {
            struct stat about {};
            ::stat((directory + '/' + name).c_str(), &about);
            BOOST_TEST((name.ends_with(".pem") || (about.st_mode & 0777) == 0600), name);
        }
    }
    const tls_server_process s{directory};
    BOOST_TEST((files() == made));
    const std::string ca = directory + "/ca.pem";
    const certificate client{directory + "/client.pem", directory + "/client.key", {}};
    for (const auto* host : {"127.0.0.1:", "localhost:"}) {
        BOOST_TEST(identity({.hosts = host + s.port(), .tls = client_context(ca, client)},
                            std::string{"/"} + host) == "x509 CN=client");
    }
    const auto r =
        run_colock(s.address, {"run", "--tls-ca", ca, "--tls-cert", client.file, "--tls-key",
                               client.key, "--acl", "creator", "/locks/r", "--", "true"});
    BOOST_TEST(r.status == 0, r.err);
    const auto d = run_colock(s.address, {"doctor", "--tls-ca", ca});
    BOOST_TEST(d.status == 0);
    BOOST_TEST(has(d.out, "is `colock serve`"), d.out);
    check_what_run_says(s.address,
                        {"--tls-ca", ca, "--tls-cert", client.file, "--tls-key", client.key});
}

BOOST_AUTO_TEST_CASE(a_directory_that_lacks_something_is_refused)
{
    const temporary_directory directory;
    const certificate_authority authority{"ours", directory.path()};
    const auto refusal = [&](const std::string& of) {
        const auto r = run_colock("", {"serve", "--port", "0", "--tls", of});
        BOOST_TEST(r.status == 125);
        BOOST_TEST(is_one_line(r.err), r.err);
        return r.err;
    };
    BOOST_TEST(has(refusal(directory.path()), "/server.pem, and the directory is not empty"));
    issue_to_server(authority);
    write_file(directory.path() + "/server.key", "no key");
    BOOST_TEST(has(refusal(directory.path()), "/server.key"));
    BOOST_TEST(has(refusal(directory.path() + "/ca.pem"), "/ca.pem"));
    BOOST_TEST(has(refusal("/proc/new"), "/proc/new"));
}

BOOST_FIXTURE_TEST_CASE(a_mutex_is_handed_over_with_and_without_a_certificate, known)
{
    tls_scene one{as(authority.issue({.name = "client"}))};
    tls_scene other{as(std::nullopt)};
    BOOST_REQUIRE(one.connect() == error_code{});
    BOOST_REQUIRE(other.connect() == error_code{});
    auto held = one.lock("/locks/m");
    const auto token = held.token();
    const outcome<unique_lock> waiting;
    mutex second{other.zk, "/locks/m"};
    second.async_lock(waiting.handler());
    BOOST_TEST(becomes_true(one.io, [&] {
        other.io.poll();
        const outcome<children_result> o;
        one.zk.async_children("/locks/m", o.handler());
        return value_of(one.io, o).names.size() == 2;
    }));
    one.unlock(held);
    auto next = value_of(other.io, waiting);
    BOOST_TEST((next.token() > token));
    other.unlock(next);
    // Larger than a record of TLS, and than what is read at once.
    const std::string large(900'000, 'x');
    const outcome<create_result> made;
    one.zk.async_create("/large", large, made.handler());
    BOOST_TEST(code_of(one.io, made) == error_code{});
    const outcome<get_result> read;
    other.zk.async_get("/large", read.handler());
    BOOST_TEST((value_of(other.io, read).data == large));
    one.close();
    other.close();
}

BOOST_FIXTURE_TEST_CASE(a_certificate_is_an_identity_of_access_control_lists, known)
{
    tls_scene owner{as(authority.issue({.name = "owner", .more = "/O=shop"}))};
    tls_scene same{as(authority.issue({.name = "owner", .more = "/O=shop"}))};
    tls_scene other{as(authority.issue({.name = "other"}))};
    tls_scene nobody{as(std::nullopt)};
    for (auto* s : {&owner, &same, &other, &nobody}) {
        BOOST_REQUIRE(s->connect() == error_code{});
    }
    BOOST_TEST(create(owner, "/owned", creator_acl()) == error_code{});
    const auto held = owner.lock("/owned/lock");
    BOOST_TEST(get(same, "/owned") == error_code{});
    for (auto* s : {&other, &nobody}) {
        BOOST_TEST(get(*s, "/owned") == zookeeper_errc::no_auth);
        BOOST_TEST(create(*s, "/owned/x", open_acl()) == zookeeper_errc::no_auth);
    }
    const auto of = [](const char* name) {
        return access_control_list{{permission_all, "x509", name}};
    };
    BOOST_TEST(create(owner, "/for-other", of("CN=other")) == error_code{});
    BOOST_TEST(get(owner, "/for-other") == zookeeper_errc::no_auth);
    BOOST_TEST(get(other, "/for-other") == error_code{});
    BOOST_TEST(create(owner, "/nonsense", of("other")) == zookeeper_errc::invalid_acl);
    BOOST_TEST(create(nobody, "/mine", creator_acl()) == zookeeper_errc::invalid_acl);
    for (auto* s : {&owner, &same, &other, &nobody}) {
        s->close();
    }
    // Where there is no TLS there is no such scheme.
    const served plain;
    tls_scene at_plain{{.hosts = plain.address}};
    BOOST_REQUIRE(at_plain.connect() == error_code{});
    BOOST_TEST(create(at_plain, "/x", of("CN=other")) == zookeeper_errc::invalid_acl);
    at_plain.close();
}

BOOST_AUTO_TEST_CASE(names_are_written_as_a_real_server_writes_them)
{
    const temporary_directory directory;
    const auto ours =
        std::make_shared<const certificate_authority>("ours", std::string{directory.path()});
    const auto own = issue_to_server(*ours);
    const tls_server_process served{directory.path()};
    const zookeeper_server real{{.tls = ours, .tls_certificate = own}};
    int number = 0;
    for (const auto& subject :
         {certificate_subject{.name = "client"},
          certificate_subject{.name = R"(a, b+c="d" <e> #f; g\h)"},
          certificate_subject{.name = " two  blanks "}, certificate_subject{.name = "#first"},
          certificate_subject{.name = "Zo\u00eb \u6771\u4eac"},
          certificate_subject{.name = "orders", .more = "/O=shop, Ltd/OU=x+DC=y/C=DE/ST=s/L=l"},
          certificate_subject{.name = "all",
          .more = "/emailAddress=a@b.example/serialNumber=5/UID=u/street=s/"
                  "title=t"}}) {
        const auto context = client_context(*ours, ours->issue(subject));
        const auto path = "/name" + std::to_string(++number);
        const auto there = identity({.hosts = real.secure_connect_string(), .tls = context}, path);
        BOOST_TEST_MESSAGE(there);
        BOOST_TEST(identity({.hosts = served.address, .tls = context}, path) == there);
    }
}

BOOST_FIXTURE_TEST_CASE(who_does_not_trust_the_other_is_told, known)
{
    const certificate_authority foreign;
    const std::string& at = server->address;
    check_refusal({.hosts = at, .tls = client_context(foreign)},
                  "the server's certificate is refused");
    const auto unknown = client_context(authority, foreign.issue({.name = "client"}));
    check_refusal({.hosts = at, .tls = unknown}, "the server refuses the client's certificate");
}

BOOST_FIXTURE_TEST_CASE(words_of_operators_are_answered, known)
{
    const tls_questioner question{authority};
    const auto at = parse_hosts(server->address).front();
    BOOST_TEST(question.ask(at, "ruok", after(long_enough)) == "imok");
    BOOST_TEST(has(question.ask(at, "srvr", after(long_enough)), "-colock-serve"));
}

BOOST_FIXTURE_TEST_CASE(plain_bytes_are_not_waited_for_and_disturb_nobody, known)
{
    tls_scene good{as(std::nullopt)};
    BOOST_REQUIRE(good.connect() == error_code{});
    auto held = good.lock("/locks/good");
    // A handshake that never goes on, in its first record; and one that has not begun.
    auto halted = server->plain();
    halted.send(std::string{"\x16\x03\x01\x02\x00\x01", 6}, after(long_enough));
    const auto silent = server->plain();
    const std::string nonsense{"\x16\x03\x01\x00\x05hello", 10};
    for (const auto& bytes : {std::string{"ruok"}, std::string{"GET / HTTP/1.0\r\n\r\n"}, nonsense,
                              std::string(45, '\0')}) {
        auto s = server->plain();
        s.send(bytes, after(long_enough));
        try {
            BOOST_TEST(s.receive_all(after(long_enough)).size() < 10u); // nothing, or an alert
        } catch (const std::runtime_error& e) {
            BOOST_TEST(has(e.what(), "reset"), e.what());
        }
        BOOST_TEST(get(good, "/locks/good") == error_code{});
    }
    tls_scene next{as(std::nullopt)};
    BOOST_TEST(next.connect() == error_code{});
    BOOST_TEST(!halted.ended());
    BOOST_TEST(!silent.ended());
    next.close();
    good.unlock(held);
    good.close();
}

BOOST_FIXTURE_TEST_CASE(a_client_at_the_wrong_port_is_told, known)
{
    check_refusal({.hosts = server->address}, "or its port is for TLS");
    const served without;
    check_refusal({.hosts = without.address, .tls = client_context(authority)},
                  "does it speak TLS at this port?");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test
