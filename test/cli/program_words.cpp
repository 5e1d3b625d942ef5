// What the program says when something is wrong: its own names for it, the reason, and what to do, once.
#include <colock/error.hpp>
#include <support/admin_session.hpp>
#include <support/certificates.hpp>

#include "program/failure.hpp"
#include "run_scene.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <functional>
#include <sstream>

namespace colock::test::program_words_test {

namespace {

// Names of the library, which nobody can type here.
bool has_names_of_the_library(const std::string& text)
{
    for (const auto* name : {"client_options", "async_", "safety_margin", "session_timeout",
                             "single_node_mutex", "the context", "::"}) {
        if (has(text, name)) {
            return true;
        }
    }
    return false;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(program_words, scene, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(no_text_of_the_library_shows_its_names)
{
    for (int code = 1; code != 60; ++code) {
        const auto e = static_cast<colock::errc>(code);
        const colock::error_code ec{e};
        if (ec.message() == "unknown colock error" || e == colock::errc::path_twice ||
            e == colock::errc::several_clients || e == colock::errc::nothing_to_lock ||
            e == colock::errc::cannot_guard || e == colock::errc::held_too_long) {
            continue; // those of a multi_lock, of guarded() and of bodies, which the program does not use
        }
        const std::string text = colock::cli::failure_of(ec).what();
        BOOST_TEST(!has_names_of_the_library(text), text);
        BOOST_TEST(!has(text, "; ; "), text);
    }
    for (const int code : {-4, -5, -6, -101, -102, -110, -114, -115, -118, -125, -127}) {
        const colock::error_code ec{static_cast<colock::zookeeper_errc>(code)};
        const std::string text = colock::cli::failure_of(ec).what();
        BOOST_TEST(!has_names_of_the_library(text), text);
    }
    using colock::cli::in_own_words;
    BOOST_TEST(in_own_words("set client_options::acl to creator_acl(), or not") ==
               "give --acl creator, or not");
    BOOST_TEST(in_own_words("lock /a/safety_margin: no") == "lock /a/safety_margin: no");
}

BOOST_AUTO_TEST_CASE(a_forgotten_divider_is_asked_for)
{
    for (const auto& arguments : {std::vector<std::string>{"run", path, "./backup.sh"},
                                  {"run", path, "ls", "-l", "/"},
                                  {"elect", path, "sh", "-c", "true"},
                                  {"run", "--timeout", "1s", path, "true"}}) {
        const auto r = run_colock(servers, arguments);
        BOOST_TEST(r.status == 125);
        BOOST_TEST(is_one_line(r.err), r.err);
        BOOST_TEST(has(r.err, "put -- before the command"), r.err);
        BOOST_TEST(has(r.err, arguments.front() + " [options] PATH"), r.err);
    }
    BOOST_TEST(has(run_colock(servers, {"run", "--nonsense", path}).err, "--nonsense"));
}

// Left out, they would let `break` delete the holder's node.
BOOST_AUTO_TEST_CASE(what_stands_behind_a_divider_is_refused_by_who_does_not_use_it)
{
    for (const auto& arguments : {std::vector<std::string>{"ls"},
                                  {"shards", path},
                                  {"top"},
                                  {"why", path},
                                  {"history"},
                                  {"history", "--from", files.path(), path},
                                  {"revoke", path},
                                  {"break", "--yes", path},
                                  {"root", path},
                                  {"doctor"},
                                  {"bench"},
                                  {"help"},
                                  {"man"},
                                  {"completion"}}) {
        auto words = arguments;
        words.insert(words.end(), {"--", path});
        const auto r = run_colock(servers, words);
        BOOST_TEST(r.status == 125, arguments.front());
        BOOST_TEST(is_one_line(r.err), r.err);
        BOOST_TEST(has(r.err, "colock " + arguments.front() + ": takes nothing behind --"), r.err);
    }
}

// What a script gives whose variable is not set.
BOOST_AUTO_TEST_CASE(what_is_empty_is_refused)
{
    for (const auto* option : {"--events", "--metrics", "--leave", "--name", "--auth"}) {
        for (const auto& given :
             {std::vector<std::string>{option, ""}, {std::string{option} + '='}}) {
            const auto r = run(given, {"true"});
            BOOST_TEST(r.status == 125, option);
            BOOST_TEST(has(r.err, std::string{option} + " is empty"), r.err);
        }
    }
    // The next word, here the path of a lock, is not its value.
    BOOST_TEST(run_colock(servers, {"run", "--name=", path + "-2", path, "--", "true"}).status ==
               125);
    const auto e = run_colock(servers, {"elect", "--enabled-by", "", path, "--", "true"});
    BOOST_TEST(e.status == 125);
    BOOST_TEST(has(e.err, "--enabled-by is empty"), e.err);
    for (const auto* command : {"run", "elect"}) {
        for (const auto* all : {"/", "//"}) {
            const auto r = run_colock(servers, {command, all, "--", "true"});
            BOOST_TEST(r.status == 125);
            BOOST_TEST(has(r.err, "a variable in it may be empty"), r.err);
        }
    }
}

BOOST_AUTO_TEST_CASE(an_option_out_of_place_is_named)
{
    const auto other = run_colock(servers, {"elect", "--once-per", "1h", path, "--", "true"});
    BOOST_TEST(other.status == 125);
    BOOST_TEST(has(other.err, "elect has no option --once-per"), other.err);
    const auto before = run_colock(servers, {"--config", "c1", "ls"});
    BOOST_TEST(before.status == 125);
    BOOST_TEST(has(before.err, "options follow the name of the command"), before.err);
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_wrong_is_named)
{
    const std::pair<std::string, std::string> all[] = {
        {"COLOCK_TICK=soon", "--tick"},
        {"COLOCK_AUTH_FILE=/none", "--auth"},
        {"COLOCK_TLS_VERIFY=perhaps", "--tls-verify"},
        {"COLOCK_ACL=mine", "--acl"}};
    for (const auto& [setting, option] : all) {
        const auto variable = setting.substr(0, setting.find('='));
        const auto r = run({}, {"true"}, {setting});
        BOOST_TEST(r.status == 125);
        BOOST_TEST(is_one_line(r.err), r.err);
        BOOST_TEST(has(r.err, variable), r.err);
        BOOST_TEST(!has(r.err, option + ' '), r.err);
        BOOST_TEST(!has(r.err, option + ':'), r.err);
    }
    const auto both = run({"--tick", "later"}, {"true"}, {"COLOCK_TICK=soon"});
    BOOST_TEST(has(both.err, "--tick"), both.err);
    BOOST_TEST(!has(both.err, "COLOCK_TICK"), both.err);
}

BOOST_AUTO_TEST_CASE(the_version_has_short_names)
{
    for (const auto* option : {"-V", "-v", "--version"}) {
        const auto r = run_colock(servers, {option});
        BOOST_TEST(r.status == 0);
        BOOST_TEST(r.out.starts_with("colock "), r.out);
    }
}

BOOST_AUTO_TEST_CASE(a_path_that_cannot_be_has_its_reason)
{
    const std::string long_name(5'000, 'x');
    const std::pair<std::string, std::string> all[] = {{'/' + long_name, "longer than"},
                                                       {"/a\x01", "control character"},
                                                       {"/a/../b", "\"..\""},
                                                       {"/a\xff", "UTF-8"}};
    for (const auto& [bad, reason] : all) {
        for (const auto& arguments : {std::vector<std::string>{"run", bad, "--", "true"},
                                      {"run", "--permits", "1/2", bad, "--", "true"},
                                      {"elect", bad, "--", "true"},
                                      {"ls", bad},
                                      {"why", bad},
                                      {"top", bad},
                                      {"revoke", bad},
                                      {"break", "--yes", bad},
                                      {"doctor", bad}}) {
            const auto r = run_colock(servers, arguments);
            BOOST_TEST_CONTEXT(arguments.front() << ": " << r.err)
            {
                BOOST_TEST(r.status == 125);
                BOOST_TEST(is_one_line(r.err));
                BOOST_TEST(has(r.err, reason));
            }
        }
    }
    const auto longer = run_colock(servers, {"run", '/' + std::string(30'000, 'x'), "--", "true"});
    BOOST_TEST((is_one_line(longer.err) && has(longer.err, "is longer than 4096 bytes")),
               longer.err);
}

BOOST_AUTO_TEST_CASE(a_missing_permission_is_told_once)
{
    admin_session admin{servers};
    const auto closed = own_node() + "/closed";
    admin.create(closed, "", admin_session::mode::persistent, {{1, "world", "anyone"}});
    const auto r = run_colock(servers, {"run", closed + "/lock", "--", "true"});
    BOOST_TEST(r.status == 122);
    BOOST_TEST(has(r.err, "lacks CREATE on " + closed), r.err);
    const auto list = r.err.find("access control list");
    BOOST_TEST(r.err.find("access control list", list + 1) == r.err.npos, r.err);
    BOOST_TEST(!has_names_of_the_library(r.err), r.err);
}

BOOST_AUTO_TEST_CASE(a_session_that_is_too_short_says_which_one_would_do)
{
    const auto r = run({"--session-timeout", "5s"}, {"true"});
    BOOST_TEST(r.status == 125);
    BOOST_TEST(has(r.err, "ask for a --session-timeout of at least 9138 ms"), r.err);
    BOOST_TEST(!has_names_of_the_library(r.err), r.err);
    BOOST_TEST(run({"--session-timeout", "9138ms"}, {"true"}).status == 0);

    for (const auto& kind : {std::vector<std::string>{"--grace", "40s", "--session-timeout", "80s"},
                             {"--permits", "1/2", "--grace", "40s", "--session-timeout", "80s"}}) {
        const auto cut = run(kind, {"true"});
        BOOST_TEST(cut.status == 125);
        BOOST_TEST(has(cut.err, "(the servers allow no more of the 80 s asked for)"), cut.err);
    }
    const auto weeks = run({"--session-timeout", "300h"}, {"true"});
    BOOST_TEST(weeks.status == 125);
    BOOST_TEST(has(weeks.err, "298 hours"), weeks.err);
}

BOOST_AUTO_TEST_CASE(a_number_that_makes_no_sense_is_refused_in_own_words)
{
    for (const auto& [option, value] :
         {std::pair{"--retry", "-1"}, std::pair{"--release-timeout", "30d"},
          std::pair{"--grace", "30d"}}) {
        const auto r = run({option, value}, {"true"});
        BOOST_TEST(r.status == 125);
        BOOST_TEST((is_one_line(r.err) && r.err.size() < 200), r.err);
        BOOST_TEST(has(r.err, option), r.err);
        BOOST_TEST((!has(r.err, "close_timeout") && !has(r.err, "body_grace")), r.err);
    }
}

#ifdef COLOCK_TEST_TLS
BOOST_AUTO_TEST_CASE(an_encrypted_key_names_its_variable)
{
    const certificate_authority authority;
    const auto own = authority.issue({.name = "client"});
    const auto locked = files.path() + "/locked.key";
    subprocess encrypt{
        {"openssl", "pkcs8", "-topk8", "-in", own.key, "-out", locked, "-passout", "pass:Xq7vaLt"}};
    BOOST_REQUIRE(encrypt.wait().success());
    const std::vector<std::string> ours{
        "--tls-ca", authority.certificate_file(), "--tls-cert", own.file, "--tls-key", locked};
    const auto unset = run(ours, {"true"});
    BOOST_TEST(unset.status == 125);
    BOOST_TEST(has(unset.err, "COLOCK_TLS_KEY_PASSWORD is not set"), unset.err);
    const auto wrong = run(ours, {"true"}, {"COLOCK_TLS_KEY_PASSWORD=another"});
    BOOST_TEST(wrong.status == 125);
    BOOST_TEST(has(wrong.err, "COLOCK_TLS_KEY_PASSWORD is not its password"), wrong.err);
    auto right = ours;
    right.insert(right.end(), {"--connect-timeout", "1s", "--servers", "127.0.0.1:1"});
    BOOST_TEST(run(right, {"true"}, {"COLOCK_TLS_KEY_PASSWORD=Xq7vaLt"}).status == 121);
}
#endif

// docs/command.md names whatever stands in JSON.
BOOST_AUTO_TEST_CASE(the_page_has_all_events_and_fields)
{
    const auto page = file_text(COLOCK_COMMAND_PAGE);
    const std::function<void(const boost::json::value&)> check = [&](const boost::json::value& v) {
        if (v.is_array()) {
            for (const auto& each : v.get_array()) {
                check(each);
            }
        } else if (v.is_object()) {
            for (const auto& [key, value] : v.get_object()) {
                BOOST_TEST(has(page, '`' + std::string{key} + '`'), key);
                check(value);
            }
        }
    };
    const auto check_lines = [&](const std::string& text) {
        std::istringstream lines{text};
        for (std::string line; std::getline(lines, line);) {
            const auto said = boost::json::parse(line);
            check(said);
            const auto event = std::string{said.as_object().at("event").as_string()};
            BOOST_TEST(has(page, '`' + event + '`'), event);
        }
    };
    colock_process holder{servers, with({"--json"}, holding())};
    BOOST_REQUIRE(runs());
    check_lines(run({"--json", "--try"}, {"true"}).err);
    check_lines(run({"--json", "--timeout", "1500ms"}, {"true"}).err);
    const auto listed = run_colock(servers, {"ls", "--json", path});
    BOOST_TEST(listed.status == 0);
    check(boost::json::parse(listed.out));
    check(
        boost::json::parse(run_colock(servers, {"why", "--json", "--admin-port", "0", path}).out));
    check(boost::json::parse(run_colock(servers, {"doctor", "--json", path}).out));
    enough();
    BOOST_TEST(holder.status() == 0);
    check_lines(holder.err());
    check(boost::json::parse(run_colock(servers, {"bench", "--json", "--seconds", "1"}).out));

    const auto none = run_colock(servers, {"ls", "--json", path + "-none"});
    BOOST_TEST(none.status == 1);
    BOOST_TEST(is_one_line(none.err), none.err);
    BOOST_TEST(boost::json::parse(none.out).as_object().at("locks").as_array().empty());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_is_an_error)
{
    admin_session admin{servers};
    admin.create_path(path);
    admin.create(path + "/_c_00000000-0000-0000-0000-000000000000-lock-", "",
                 admin_session::mode::persistent_sequential);
    for (const auto& command :
         std::vector<std::string>{"ls " + path, "ls --json " + path, "ls --json /none",
                                  "why " + path, "why --json " + path, "doctor", "doctor --json",
                                  "top /", "bench --seconds 1", "serve --port 0"}) {
        subprocess p{
            {"/bin/sh", "-c", "exec \"$0\" " + command + " >/dev/full", COLOCK_PROGRAM},
            {.environment = {"COLOCK_SERVERS=" + servers}, .output_file = files.path() + "/said"}};
        BOOST_TEST(p.wait().code == 125, command);
    }
}

BOOST_AUTO_TEST_CASE(an_idle_lock_has_one_status_before_and_after_its_directory_goes)
{
    BOOST_TEST(run({}, {"true"}).status == 0);
    admin_session admin{servers};
    for (const bool is_there : {true, false}) {
        if (!is_there && admin.exists(path)) {
            admin.remove(path);
        }
        const auto r = run_colock(servers, {"why", "--json", "--admin-port", "0", path});
        BOOST_TEST(r.status == 0);
        BOOST_TEST(boost::json::parse(r.out).as_object().at("cause") == "free");
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::program_words_test
