// Files of settings: which one is stronger, and what is said of those that are wrong.
#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

namespace colock::test::cli_settings_test {

namespace {

struct settings_scene : scene {
    std::string file = files.path() + "/colock.conf";

    void write(const std::string& text) const { write(file, text); }
    static void write(const std::string& to, const std::string& text)
    {
        std::ofstream{to} << text;
        ::chmod(to.c_str(), 0644);
    }
    // Without COLOCK_SERVERS. `environment` may name a file.
    colock_result ls(std::vector<std::string> options, std::vector<std::string> environment = {})
    {
        options.insert(options.begin(), "ls");
        options.insert(options.end(), {"--connect-timeout", "4s", path});
        return run_colock("", std::move(options), std::move(environment));
    }
};

constexpr auto nobody = "127.0.0.1:1";
constexpr int there_is_no_lock = 1, no_server = 121, bad_usage = 125;

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_settings, settings_scene, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(an_option_is_stronger_than_a_variable_and_that_than_a_file)
{
    write("# The servers of this test.\n\n  servers = \"" + servers + "\"  \r\ngrace=1s\n");
    BOOST_TEST(ls({"--config", file}).status == there_is_no_lock);
    BOOST_TEST(ls({}, {"COLOCK_CONFIG=" + file}).status == there_is_no_lock);
    BOOST_TEST(ls({"--config", file}, {"COLOCK_SERVERS=" + std::string{nobody}}).status ==
               no_server);
    BOOST_TEST(ls({"--config", file, "--servers", nobody}).status == no_server);
    write("servers = " + std::string{nobody} + "\nservers-of-others = x\n");
    BOOST_TEST(ls({"--config", file}).status == bad_usage);
    write("servers = " + std::string{nobody} + '\n');
    BOOST_TEST(ls({"--config", file}).status == no_server);
    BOOST_TEST(ls({"--config", file}, {"COLOCK_SERVERS=" + servers}).status == there_is_no_lock);
}

BOOST_AUTO_TEST_CASE(a_command_runs_with_what_the_file_says)
{
    write("servers = " + servers + "\nsession-timeout = 9138ms\ngrace = 3s\n");
    const auto r = run_colock(
        "", {"run", "-v", "--config", file, path + '/', "--", "sh", "-c", "echo $COLOCK_PATH"});
    BOOST_TEST(r.status == 0);
    BOOST_TEST(r.out == path + '\n');
    BOOST_TEST(has(r.err, "nothing for 9.1 s"), r.err);
    write("servers = " + servers + "\ngrace = 9s\nsafety-margin = 1s\n");
    const auto too_short = run_colock("", {"run", "--config", file, path, "--", "true"});
    BOOST_TEST(too_short.status == bad_usage);
    BOOST_TEST(has(too_short.err, "safety-margin (" + file + ":3) is 1.0 s"), too_short.err);
    BOOST_TEST(has(too_short.err, "grace (" + file + ":2) 9.0 s"), too_short.err);
}

BOOST_AUTO_TEST_CASE(the_file_of_the_user_is_stronger_than_that_of_the_system)
{
    subprocess possible{{"unshare", "--map-root-user", "--mount", "true"}};
    if (!possible.wait().success()) {
        BOOST_TEST_MESSAGE("no mount namespaces here");
        return;
    }
    // For this process and its children, /etc is another directory.
    const auto status = [&](const std::string& of_system, const std::string& of_user) {
        write(file, of_system);
        write(files.path() + "/user.conf", of_user);
        const auto home = files.path() + "/home";
        subprocess p{{"unshare", "--map-root-user", "--mount", "sh", "-c",
                      "mount -t tmpfs none /etc && cp \"$1/colock.conf\" /etc/colock.conf && "
                      "mkdir -p \"$HOME/.config\" && "
                      "cp \"$1/user.conf\" \"$HOME/.config/colock.conf\" && shift && exec \"$@\"",
                      "sh", files.path(), COLOCK_PROGRAM, "ls", "--connect-timeout", "2s", path},
                     {.environment = {"HOME=" + home, "XDG_CONFIG_HOME="},
                      .output_file = files.path() + "/said"}};
        return p.wait().code;
    };
    const auto here = "servers = " + servers + '\n';
    const auto elsewhere = "servers = " + std::string{nobody} + '\n';
    BOOST_TEST(status(here, "") == there_is_no_lock);
    BOOST_TEST(status(elsewhere, here) == there_is_no_lock);
    BOOST_TEST(status(here, elsewhere) == no_server);
}

BOOST_AUTO_TEST_CASE(the_directory_of_configurations_is_that_of_the_user)
{
    write("servers = " + servers + '\n');
    BOOST_TEST(ls({}, {"XDG_CONFIG_HOME=" + files.path()}).status == there_is_no_lock);
    BOOST_TEST(
        ls({"--config", "/dev/null", "--servers", nobody}, {"XDG_CONFIG_HOME=" + files.path()})
            .status == no_server);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_has_its_file_and_line)
{
    const std::pair<std::string, std::string> all[] = {
        {"servers\n", ":1: write NAME = VALUE"},
        {"[servers]\n", ":1: write NAME = VALUE"},
        {"\nserver = a\n", ":2: there is no setting \"server\"; there are servers, auth, "},
        {"# c\ntick = soon\n", ":2: tick: \"soon\" is not a time"},
        {"tls = perhaps\n", ":1: "},
        {"servers = a\nservers = b\n", ":2: servers stands twice, first at "},
        {"tls-key-password = secret\n", ":1: a secret does not stand here"},
        {"auth = none.auth\n", ":1)"},
        {"servers = zk://a\n", "servers ("},
        {"servers = a:1 # comment\n", "servers ("},
        {"\xef\xbb\xbf# comment\ntick = soon\n", ":2: tick: "},
        {"\xef\xbb\xbftick = soon\n", ":1: tick: "},
        {"tls-verify = no\n", "tls-verify ("}};
    for (const auto& [text, said] : all) {
        write(text);
        const auto r = ls({"--config", file});
        BOOST_TEST_CONTEXT(text << r.err)
        {
            BOOST_TEST(r.status == bad_usage);
            BOOST_TEST(is_one_line(r.err));
            BOOST_TEST(has(r.err, file + ':') == true);
            BOOST_TEST(has(r.err, said));
            BOOST_TEST(!has(r.err, "is secret"));
        }
    }
    for (const auto& missing : {files.path() + "/none", files.path()}) {
        const auto r = ls({"--config", missing});
        BOOST_TEST(r.status == bad_usage);
        BOOST_TEST(has(r.err, "cannot read " + missing), r.err);
        BOOST_TEST(!has(r.err, "secrets"), r.err);
    }
}

BOOST_AUTO_TEST_CASE(an_empty_value_is_none)
{
    write("servers = " + servers + "\ngrace =\nsession-timeout =\ntls =\nacl = \"\"\n");
    const auto r = run_colock("", {"run", "--config", file, path, "--", "true"});
    BOOST_TEST(r.status == 0, r.err);
}

// A server that nobody has named would grant a lock that excludes nobody.
BOOST_AUTO_TEST_CASE(an_empty_variable_names_no_servers)
{
    const auto r = ls({"--config", "/dev/null"}, {"COLOCK_SERVERS="});
    BOOST_TEST(r.status == bad_usage);
    BOOST_TEST(is_one_line(r.err), r.err);
    BOOST_TEST(has(r.err, "COLOCK_SERVERS is empty"), r.err);
    write("servers = " + servers + '\n');
    BOOST_TEST(ls({"--config", file}, {"COLOCK_SERVERS="}).status == there_is_no_lock);
}

BOOST_AUTO_TEST_CASE(servers_that_nobody_has_named_are_called_the_default)
{
    const std::vector<std::string> without_network{"unshare", "--map-root-user", "--net"};
    auto words = without_network;
    words.emplace_back("true");
    subprocess possible{words};
    if (!possible.wait().success()) {
        BOOST_TEST_MESSAGE("no network namespaces here");
        return;
    }
    const auto is_called_so = [&](const std::vector<std::string>& more) {
        words = without_network;
        words.insert(words.end(),
                     {COLOCK_PROGRAM, "ls", "--config", "/dev/null", "--connect-timeout", "1s"});
        words.insert(words.end(), more.begin(), more.end());
        const auto said = files.path() + "/said" + std::to_string(more.size());
        subprocess p{words, {.output_file = said}};
        BOOST_TEST(p.wait().code == no_server);
        return has(file_text(said), "the default, localhost:2181");
    };
    BOOST_TEST(is_called_so({}));
    BOOST_TEST(!is_called_so({"--servers", nobody}));
}

BOOST_AUTO_TEST_CASE(an_identity_stands_in_a_file_beside_and_is_warned_of_when_others_can_read_it)
{
    const auto auth = files.path() + "/orders.auth";
    write(auth, "digest orders:secret\n");
    write("servers = " + servers + "\nauth = orders.auth\nacl = creator\n");
    const auto r = run_colock("", {"run", "--config", file, path, "--", "true"});
    BOOST_TEST(r.status == 0);
    BOOST_TEST(has(r.err, "others on this machine can read or change " + auth), r.err);
    ::chmod(auth.c_str(), 0600);
    BOOST_TEST(run_colock("", {"run", "--config", file, path, "--", "true"}).err.empty());
    // Whoever can change it chooses the servers that see the identity.
    ::chmod(file.c_str(), 0666);
    const auto open = run_colock("", {"run", "--json", "--config", file, path, "--", "true"});
    BOOST_TEST(has(open.err, "\"event\":\"warning\""), open.err);
    BOOST_TEST(has(open.err, "others on this machine can change " + file), open.err);
    BOOST_TEST(has(open.err, "chmod o-w"), open.err);
}

BOOST_AUTO_TEST_CASE(a_variable_with_an_identity_is_stronger_than_the_file_of_one)
{
    write("servers = " + servers + "\nauth = none.auth\n");
    BOOST_TEST(ls({"--config", file}, {"COLOCK_AUTH=digest orders:secret"}).status ==
               there_is_no_lock);
    BOOST_TEST(ls({"--config", file}, {"COLOCK_AUTH="}).status == bad_usage);
    BOOST_TEST(ls({"--config", file, "--auth", files.path() + "/none.auth"},
                  {"COLOCK_AUTH=digest orders:secret"})
                   .status == bad_usage);
}

BOOST_AUTO_TEST_CASE(a_program_with_the_multi_threaded_client_is_refused)
{
    const auto r = ls({"--servers", servers}, {"LD_PRELOAD=" COLOCK_THREADED_CLIENT});
    BOOST_TEST(r.status == bad_usage);
    BOOST_TEST(has(r.err, "libzookeeper_mt is in this program"), r.err);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_settings_test
