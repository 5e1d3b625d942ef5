// Paths of locks as people type them: completed by shells, with slashes at the end, left out.
#include <support/loopback_port.hpp>

#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace colock::test::cli_paths_test {

using namespace std::chrono_literals;

namespace {

struct paths_scene : scene {
    std::string top = own_node();

    paths_scene()
    {
        admin_session admin{servers};
        for (const auto* name : {"/backup", "/backlog/daily", "/other", "/back $(reboot)"}) {
            if (!admin.exists(top + name)) {
                admin.create_path(top + name);
            }
        }
        script("bash", "colock.bash");
        script("zsh", "_colock");
        script("fish", "colock.fish");
    }
    void script(const std::string& shell, const std::string& name) const
    {
        std::ofstream{files.path() + '/' + name} << run_colock("", {"completion", shell}).out;
    }
    std::string said_by(std::vector<std::string> words, std::vector<std::string> environment = {})
    {
        const auto file = files.path() + "/said";
        std::filesystem::remove(file);
        const std::filesystem::path program{COLOCK_PROGRAM};
        environment.push_back("PATH=" + program.parent_path().string() + ':' + std::getenv("PATH"));
        environment.push_back("HOME=" + files.path());
        subprocess p{std::move(words),
                     {.environment = std::move(environment), .output_file = file}};
        p.wait();
        return file_text(file);
    }
};

using words = std::vector<std::string>;

// `colock paths` gives itself 0.7 s for the servers' answer, which may be too short on a busy machine.
template <class Condition>
bool in_time(Condition is_true)
{
    return wait_until(is_true, patience);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_paths, paths_scene, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(paths_prints_what_a_shell_may_put_into_a_line)
{
    const words both{top + "/backlog/", top + "/backup"};
    admin_session{servers}.create(top + "/ba\u202epu"); // a terminal would turn it around
    const auto paths = [&](const std::string& beginning) {
        const auto r = run_colock(servers, {"paths", top + beginning});
        BOOST_TEST(r.status == 0);
        BOOST_TEST(r.err.empty());
        return lines_of(r.out);
    };
    BOOST_TEST(in_time([&] { return paths("/ba") == both; }));
    BOOST_TEST(in_time([&] { return paths("/backlog/") == words{top + "/backlog/daily"}; }));
    // The contenders of a lock are no paths to type.
    colock_process holder{servers, {"run", top + "/backup", "--", "cat"}};
    BOOST_REQUIRE(wait_until(
        [&] {
            admin_session admin{servers};
            return queue_length(admin, top + "/backup") == 1;
        },
        patience));
    BOOST_TEST(in_time([&] { return paths("/backu") == words{top + "/backup"}; }));
    BOOST_TEST(paths("/backup/").empty());
    // The line that was typed says where to ask.
    BOOST_TEST(in_time([&] {
        return run_colock("127.0.0.1:1", {"paths", top + "/backu", "--", "run", "--timeout", "5s",
                                          "--servers", servers, "--nonsense"})
                   .out == top + "/backup\n";
    }));
}

// The identity of one file of settings is not for the servers of another one.
BOOST_AUTO_TEST_CASE(paths_shows_the_identity_of_the_line_that_was_typed)
{
    const auto auth = files.path() + "/us.auth", other = files.path() + "/other.conf";
    std::ofstream{auth} << "digest us:secret\n";
    ::chmod(auth.c_str(), 0600);
    std::ofstream{files.path() + "/colock.conf"} << "servers = 127.0.0.1:1\nauth = us.auth\n";
    std::ofstream{other} << "servers = " << servers << '\n';
    admin_session us{servers};
    us.add_auth("digest", "us:secret");
    const std::vector<admin_session::acl_entry> only_us{{31, "auth", ""}};
    us.create(top + "/ours", {}, admin_session::mode::persistent, only_us);
    us.create(top + "/ours/lock");
    const auto offered = [&](std::vector<std::string> line) {
        line.insert(line.begin(), {"paths", top + "/ours/", "--", "ls"});
        return run_colock("", line, {"XDG_CONFIG_HOME=" + files.path()}).out;
    };
    BOOST_TEST(offered({"--config", other}).empty());
    BOOST_TEST(in_time([&] {
        return offered({"--config", other, "--auth", auth}) == top + "/ours/lock\n";
    }));
    BOOST_TEST(in_time([&] { return offered({"--servers", servers}) == top + "/ours/lock\n"; }));
    us.remove_tree(top + "/ours");
}

BOOST_AUTO_TEST_CASE(servers_that_are_away_or_silent_keep_no_prompt_waiting)
{
    for (const auto& where : {std::string{"127.0.0.1:1"}, std::string{"192.0.2.1:2181"},
                              std::string{"no.such.host.invalid:1"}, std::string{"zk://x"}}) {
        const auto began = std::chrono::steady_clock::now();
        const auto r = run_colock(where, {"paths", "/lo"});
        BOOST_TEST(r.status == 0, where);
        BOOST_TEST(r.out.empty());
        BOOST_TEST(r.err.empty(), r.err);
        BOOST_TEST((std::chrono::steady_clock::now() - began < 5s), where);
    }
}

BOOST_AUTO_TEST_CASE(bash_zsh_and_fish_complete_paths)
{
    const words both{top + "/backlog/", top + "/backup"};
    if (!find_program("bash").empty()) {
        const auto completed = [&](const std::string& line) {
            static constexpr auto complete = R"(
                source "$1"
                COMP_LINE=$2 COMP_POINT=${#2}
                read -ra COMP_WORDS <<<"$2"
                COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                _colock
                printf '%s\n' "${COMPREPLY[@]}")";
            return lines_of(said_by(
                {"bash", "--norc", "-c", complete, "bash", files.path() + "/colock.bash", line}));
        };
        BOOST_TEST(in_time([&] {
            return completed("colock why --servers " + servers + ' ' + top + "/ba") == both;
        }));
        BOOST_TEST(in_time([&] {
            return completed("colock run --servers " + servers + ' ' + top + "/o") ==
                   words{top + "/other"};
        }));
    }
    if (!find_program("fish").empty()) {
        const auto completed = [&](const std::string& line) {
            return lines_of(said_by({"fish", "--no-config", "-c",
                                     "source " + files.path() + "/colock.fish; complete -C '" +
                                         line + "' | string replace -r '\\t.*' ''; true"}));
        };
        BOOST_TEST(in_time([&] {
            return completed("colock why --servers " + servers + ' ' + top + "/ba") == both;
        }));
    }
    if (!find_program("zsh").empty()) {
        // A shell on a terminal, into which somebody types the beginning and a tab.
        const auto typed = said_by(
            {"zsh", "-f", "-c",
             "zmodload zsh/zpty || exit; zpty shell zsh -f -i; "
             "zpty -w shell 'PS1=; autoload -U compinit && compinit -u -D; source \"" +
                 files.path() +
                 "/_colock\"; print rea''dy'; zpty -r shell line '*ready*'; "
                 "zpty -n -w shell \"$1\"$'\\t'; zpty -r shell line \"*$2*\"; print -r -- $line",
             "zsh", "colock why " + top + "/oth", top + "/other"},
            {"COLOCK_SERVERS=" + servers, "TERM=dumb"});
        BOOST_TEST(has(typed, top + "/other"), typed);
    }
}

BOOST_AUTO_TEST_CASE(slashes_at_the_end_mean_nothing)
{
    BOOST_TEST(
        run_colock(servers, {"run", top + "/a//", "--", "sh", "-c", "echo $COLOCK_PATH"}).out ==
        top + "/a\n");
    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    for (const auto* command : {"ls", "why", "top", "doctor"}) {
        const auto r = run_colock(servers, {command, path + '/'});
        BOOST_TEST(r.status == 0, command << r.err);
    }
    enough();
    BOOST_TEST(holder.status() == 0);
}

BOOST_AUTO_TEST_CASE(without_a_path_ls_lists_two_levels)
{
    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    const auto listed = run_colock(servers, {"ls"});
    BOOST_TEST(listed.status == 0);
    BOOST_TEST(has(listed.out, path + "  mutex"), listed.out);
    enough();
    BOOST_TEST(holder.status() == 0);
}

BOOST_AUTO_TEST_CASE(doctor_takes_several_paths_and_says_commands_that_can_be_pasted)
{
    admin_session admin{servers};
    const auto dead = top + "/de'ad";
    admin.create_path(dead);
    const auto node = admin.create(dead + "/_c_00000000-0000-0000-0000-000000000000-lock-", "",
                                   admin_session::mode::persistent_sequential);
    const auto settings = files.path() + "/colock.conf";
    std::ofstream{settings} << "tls = false\n";
    const auto r = run_colock(
        "", {"doctor", "--servers", servers, "--config", settings, top + "/other", dead});
    BOOST_TEST(r.status <= 1, r.err);
    BOOST_TEST(has(r.out, "at " + top + "/other"), r.out);
    const auto line = r.out.find("\n                     colock break");
    BOOST_REQUIRE_MESSAGE(line != r.out.npos, r.out);
    const auto at = r.out.find("colock", line);
    auto command = r.out.substr(at, r.out.find('\n', at) - at);
    BOOST_TEST(has(command, "--servers " + servers), command);
    BOOST_TEST(has(command, "--tls=false"), command);
    command.insert(command.find("break") + 5, " --yes"); // where nobody can be asked
    const auto said = said_by({"bash", "-c", command});
    BOOST_TEST(queue_length(admin, dead) == 0, command << ": " << said);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_paths_test
