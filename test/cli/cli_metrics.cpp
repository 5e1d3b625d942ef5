// Metrics for Prometheus: `colock run --metrics`, `colock ls --prometheus`, and the alerts on both.
#include <support/prometheus_server.hpp>

#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <regex>
#include <sstream>

namespace colock::test::cli_metrics_test {

using namespace std::chrono_literals;

namespace {

struct metrics_scene : scene {
    std::string file = files.path() + "/colock.prom";

    colock_result measured(std::vector<std::string> options, const std::string& line)
    {
        options.insert(options.begin(), {"--metrics", file});
        return run(options, {"sh", "-c", line});
    }
    std::string of_path(const std::string& name, const std::string& more = "")
    {
        return name + "{path=\"" + path + '"' + more + "} ";
    }
    // The number behind the series in the file; -1 when there is none.
    double value(const std::string& series)
    {
        const auto text = '\n' + file_text(file);
        const auto at = text.find('\n' + series);
        return at == text.npos ? -1 : std::stod(text.substr(at + 1 + series.size()));
    }
    double outcomes(const std::string& word)
    {
        return value(of_path("colock_run_outcomes_total", ",outcome=\"" + word + '"'));
    }
    // What promtool says of a text, where there is one.
    std::string faults_in(const std::string& text)
    {
        const auto tool = find_program("promtool");
        if (tool.empty()) {
            BOOST_TEST_MESSAGE("skipped: there is no promtool");
            return "";
        }
        const auto said = files.path() + "/said";
        std::ofstream{files.path() + "/text"} << text;
        subprocess p{{"/bin/sh", "-c", tool + " check metrics <" + files.path() + "/text 2>&1"},
                     {.output_file = said}};
        return p.wait().success() ? "" : file_text(said);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_metrics, metrics_scene, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(what_happens_is_added_to_the_file)
{
    BOOST_TEST(measured({}, "exit 0").status == 0);
    BOOST_TEST(measured({}, "exit 3").status == 3);
    BOOST_TEST(measured({"--once-per", "1000d"}, "exit 0").status == 0);
    BOOST_TEST(measured({"--once-per", "1000d"}, "exit 0").status == 0);
    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    BOOST_TEST(measured({"--try"}, "exit 0").status == 123);
    enough();
    BOOST_TEST(holder.status() == 0);
    const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
    BOOST_TEST(outcomes("succeeded") == 2);
    BOOST_TEST(outcomes("failed") == 1);
    BOOST_TEST(outcomes("has_run") == 1);
    BOOST_TEST(outcomes("busy") == 1);
    BOOST_TEST(outcomes("no_zookeeper") == 0); // so that the first one increases it
    BOOST_TEST(value(of_path("colock_run_losses_total")) == 0);
    BOOST_TEST(value(of_path("colock_run_wait_seconds_count")) == 4);
    BOOST_TEST(value(of_path("colock_run_hold_seconds_count")) == 4);
    BOOST_TEST(value(of_path("colock_run_hold_seconds_sum")) > 0);
    const auto success = value(of_path("colock_run_last_success_timestamp_seconds"));
    BOOST_TEST(success <= value(of_path("colock_run_last_end_timestamp_seconds")));
    BOOST_TEST(success > now.count() - 60);
    BOOST_TEST(success <= now.count());
    BOOST_TEST(faults_in(file_text(file)) == "");
    // Nothing is left beside it.
    const std::filesystem::directory_iterator all{files.path()};
    BOOST_TEST(std::count_if(begin(all), end(all), [](const auto& e) {
                   return e.path().filename().string().starts_with(".");
               }) == 0);
}

// Else a cron with --try would silence the alert on the command that hangs.
BOOST_AUTO_TEST_CASE(the_end_of_a_run_without_the_lock_is_no_end_of_the_hold)
{
    colock_process holder{servers, with({"--metrics", file}, holding())};
    BOOST_REQUIRE(runs());
    BOOST_TEST(measured({"--try"}, "exit 0").status == 123);
    BOOST_TEST(outcomes("busy") == 1);
    BOOST_TEST(value(of_path("colock_run_last_end_timestamp_seconds")) == -1);
    enough();
    BOOST_TEST(holder.status() == 0);
    BOOST_TEST(value(of_path("colock_run_last_end_timestamp_seconds")) >=
               value(of_path("colock_run_last_grant_timestamp_seconds")));
}

BOOST_AUTO_TEST_CASE(a_candidate_that_stands_by_again_holds_no_more)
{
    auto words = with({"--restart", "always", "--metrics", file}, {"true"});
    words.front() = "elect";
    colock_process candidate{servers, words};
    const auto last_end = [&] { return value(of_path("colock_run_last_end_timestamp_seconds")); };
    BOOST_TEST(wait_until([&] { return last_end() != -1; }, patience));
    candidate.process().send_signal(SIGTERM);
    BOOST_TEST(candidate.status() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_command_that_is_not_there_is_counted)
{
    const auto missing = run({"--metrics", file}, {"/no/such/command"});
    BOOST_TEST(missing.status == 127);
    BOOST_TEST(outcomes("not_found") == 1);
    const std::string words = "there is no command";
    const auto at = missing.err.find(words);
    BOOST_TEST(at != std::string::npos, missing.err);
    BOOST_TEST(missing.err.find(words, at + 1) == std::string::npos, missing.err);
}

BOOST_AUTO_TEST_CASE(a_loss_is_counted_once)
{
    auto words = holding();
    colock_process p{servers, with({"--metrics", file}, words)};
    BOOST_REQUIRE(runs());
    BOOST_TEST(
        wait_until([&] { return value(of_path("colock_run_losses_total")) == 0; }, patience));
    admin_session admin{servers};
    for (const auto& each : admin.children(path)) {
        admin.remove(path + '/' + each);
    }
    BOOST_TEST(p.status() == 120);
    BOOST_TEST(value(of_path("colock_run_losses_total")) == 1);
    BOOST_TEST(outcomes("lost") == 1);
    BOOST_TEST(value(of_path("colock_run_hold_seconds_count")) == 1);
}

// All at once, and nothing is missing.
BOOST_AUTO_TEST_CASE(many_processes_share_a_file)
{
    constexpr int number = 8;
    std::vector<std::unique_ptr<colock_process>> all;
    for (int i = 0; i != number; ++i) {
        all.push_back(std::make_unique<colock_process>(
            servers,
            std::vector<std::string>{"run", "--shared", "--metrics", file, path, "--", "true"}));
    }
    for (auto& each : all) {
        BOOST_TEST(each->status() == 0);
        BOOST_TEST(each->err() == "");
    }
    BOOST_TEST(outcomes("succeeded") == number);
}

BOOST_AUTO_TEST_CASE(a_file_of_somebody_else_stays_as_it_is)
{
    for (const std::string text : {"127.0.0.1 localhost\n", "node_other{a=\"b\"} 5\n",
                                   "colock_lock_waiting{path=\"/a\"} 5\n"}) {
        std::ofstream{file} << text;
        const auto r = measured({}, "exit 4");
        BOOST_TEST(r.status == 4);
        BOOST_TEST(has(r.err, "give it a file of its own"), r.err);
        BOOST_TEST(file_text(file) == text);
    }
    file = files.path() + "/hosts";
    const auto r = measured({}, "exit 4");
    BOOST_TEST(r.status == 125);
    BOOST_TEST(has(r.err, "ends in .prom"), r.err);
    BOOST_TEST(::access(file.c_str(), F_OK) == -1);
}

BOOST_AUTO_TEST_CASE(other_paths_stay_and_what_is_no_metric_goes)
{
    std::ofstream{file} << "colock_run_losses_total{path=\"/other \\\"lock\\\"\"} 7\n"
                           "colock_run_losses_total{path=\"/bad\"} many\n";
    ::chmod(file.c_str(), 0640);
    BOOST_TEST(measured({}, "exit 0").status == 0);
    const auto text = file_text(file);
    BOOST_TEST(has(text, "colock_run_losses_total{path=\"/other \\\"lock\\\"\"} 7\n"), text);
    BOOST_TEST(!has(text, "/bad"));
    struct stat about {};
    BOOST_REQUIRE(::stat(file.c_str(), &about) == 0);
    BOOST_TEST((about.st_mode & 0777) == 0640u);
    BOOST_TEST(faults_in(text) == "");
}

BOOST_AUTO_TEST_CASE(a_file_that_root_adds_to_stays_its_owners)
{
    if (::geteuid() != 0) {
        BOOST_TEST_MESSAGE("skipped: needs root");
        return;
    }
    constexpr ::uid_t nobody = 65534;
    std::ofstream{file} << "";
    BOOST_REQUIRE(::chown(file.c_str(), nobody, nobody) == 0);
    BOOST_TEST(measured({}, "exit 0").status == 0);
    struct stat about {};
    BOOST_REQUIRE(::stat(file.c_str(), &about) == 0);
    BOOST_TEST(about.st_uid == nobody);
    BOOST_TEST(about.st_gid == nobody);
    BOOST_TEST(outcomes("succeeded") == 1);
}

BOOST_AUTO_TEST_CASE(a_path_with_odd_characters_is_a_label)
{
    path = own_node() + "/a \"b\\c{d}";
    BOOST_TEST(measured({}, "exit 0").status == 0);
    const auto text = file_text(file);
    BOOST_TEST(has(text, "/a \\\"b\\\\c{d}\",outcome=\"succeeded\"} 1\n"), text);
    BOOST_TEST(measured({}, "exit 0").status == 0);
    BOOST_TEST(has(file_text(file), "/a \\\"b\\\\c{d}\",outcome=\"succeeded\"} 2\n"));
    BOOST_TEST(faults_in(text) == "");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_is_said_and_changes_no_status)
{
    const auto directory = files.path() + "/directory.prom";
    BOOST_REQUIRE(::mkdir(directory.c_str(), 0755) == 0);
    for (const auto& bad : {files.path() + "/none/colock.prom", directory}) {
        file = bad;
        const auto r = measured({}, "exit 4");
        BOOST_TEST(r.status == 4);
        BOOST_TEST(has(r.err, bad), r.err);
    }
    file = files.path() + "/link.prom";
    std::filesystem::create_symlink(files.path() + "/there.prom", file);
    const auto link = measured({}, "exit 4");
    BOOST_TEST(link.status == 4);
    BOOST_TEST(has(link.err, file + " is a link; name the file itself"), link.err);
    // Somebody keeps the file.
    file = files.path() + "/kept.prom";
    const int kept = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    BOOST_REQUIRE(::flock(kept, LOCK_EX) == 0);
    const auto r = measured({}, "exit 4");
    BOOST_TEST(r.status == 4);
    BOOST_TEST(has(r.err, file), r.err);
    ::close(kept);
}

BOOST_AUTO_TEST_CASE(what_could_not_be_written_is_said_at_once_and_written_later)
{
    file = files.path() + "/directory.prom";
    BOOST_REQUIRE(::mkdir(file.c_str(), 0755) == 0);
    const auto go = files.path() + "/go";
    colock_process first{servers,
                         with({}, {"sh", "-c", "while [ ! -e " + go + " ]; do sleep 0.01; done"})};
    BOOST_REQUIRE(queue_has(1));
    colock_process next{servers, with({"--metrics", file}, holding())};
    BOOST_REQUIRE(queue_has(2));
    std::ofstream{go}; // NOLINT(bugprone-unused-raii)
    BOOST_REQUIRE(runs());
    const auto said = [&] { return matches(next.err(), std::regex{file}).size(); };
    BOOST_TEST(wait_until([&] { return said() == 1; }, patience), next.err());
    BOOST_REQUIRE(::rmdir(file.c_str()) == 0);
    enough();
    BOOST_TEST(next.status() == 0);
    BOOST_TEST(said() == 1u);
    BOOST_TEST(value(of_path("colock_run_last_grant_timestamp_seconds")) > 0);
    BOOST_TEST(value(of_path("colock_run_wait_seconds_count")) == 1);
    BOOST_TEST(outcomes("succeeded") == 1);
    BOOST_TEST(first.status() == 0);
}

// The bits of a group are a list's mask.
BOOST_AUTO_TEST_CASE(an_access_control_list_stays)
{
    struct entry {
        std::uint16_t tag, may;
        std::uint32_t who;
    };
    constexpr std::uint32_t nobody = 0xffffffff;
    const struct access_list {
        std::uint32_t version = 2;
        entry entries[5] = {
            {1, 6, nobody}, {2, 4, 1234}, {4, 0, nobody}, {0x10, 4, nobody}, {0x20, 0, nobody}};
    } inherited;
    if (::setxattr(files.path().c_str(), "system.posix_acl_default", &inherited, sizeof inherited,
                   0) != 0) {
        BOOST_TEST_MESSAGE("skipped: this file system has no access control lists");
        return;
    }
    BOOST_TEST(measured({}, "exit 0").status == 0);
    BOOST_TEST(measured({}, "exit 0").status == 0);
    access_list now{.version = 0};
    BOOST_TEST(::getxattr(file.c_str(), "system.posix_acl_access", &now, sizeof now) ==
               static_cast<ssize_t>(sizeof now));
    BOOST_TEST(std::memcmp(&now, &inherited, sizeof now) == 0);
    struct stat about {};
    BOOST_REQUIRE(::stat(file.c_str(), &about) == 0);
    BOOST_TEST((about.st_mode & 0777U) == 0640U);
}

BOOST_AUTO_TEST_CASE(ls_prints_what_all_machines_do)
{
    const auto root = own_node();
    const auto none = run_colock(servers, {"ls", "--prometheus", root});
    BOOST_TEST(none.status == 0, none.err);
    BOOST_TEST(has(none.out, "colock_unlisted_nodes 0\n"), none.out);
    BOOST_TEST(!has(none.out, "colock_lock_holders"), none.out);
    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    colock_process waiter{servers, with({}, {"true"})};
    BOOST_REQUIRE(queue_has(2));
    const auto permits = run_colock(servers, {"run", "--permits", "1/3", root + "/api", "--",
                                              COLOCK_PROGRAM, "ls", "--prometheus", root});
    const auto& out = permits.out;
    BOOST_TEST(permits.status == 0, permits.err);
    BOOST_TEST(has(out, "colock_lock_holders{path=\"" + path + "\",kind=\"mutex\"} 1\n"), out);
    BOOST_TEST(has(out, "colock_lock_waiters{path=\"" + path + "\",kind=\"mutex\"} 1\n"), out);
    BOOST_TEST(has(out, "colock_lock_permits{path=\"" + root + "/api\",kind=\"semaphore\"} 3\n"),
               out);
    BOOST_TEST(has(out, "# TYPE colock_lock_holder_since_timestamp_seconds gauge\n"), out);
    BOOST_TEST(faults_in(out) == "");
    enough();
    BOOST_TEST(holder.status() == 0);
    BOOST_TEST(waiter.status() == 0);
    BOOST_TEST(run_colock(servers, {"ls", "--prometheus", "--json", root}).status == 125);
}

// The alerts and the dashboard ask for metrics that there are.
BOOST_AUTO_TEST_CASE(alerts_and_dashboard_fit)
{
    BOOST_TEST(measured({}, "exit 0").status == 0);
    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    const auto there = file_text(file) + run_colock(servers, {"ls", "--prometheus", path}).out;
    enough();
    BOOST_TEST(holder.status() == 0);
    const std::string folder = COLOCK_METRICS_FOLDER;
    for (const std::string name : {"/command-alerts.yml", "/command-dashboard.json"}) {
        const auto text = file_text(folder + name);
        BOOST_REQUIRE(!text.empty());
        std::size_t found = 0;
        for (auto at = text.find("colock_"); at != text.npos; at = text.find("colock_", at + 1)) {
            const auto end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at);
            BOOST_TEST(has(there, '\n' + text.substr(at, end - at)), text.substr(at, end - at));
            ++found;
        }
        BOOST_TEST(found > 5u);
    }
    if (const auto tool = find_program("promtool"); !tool.empty()) {
        subprocess p{{tool, "check", "rules", folder + "/command-alerts.yml"}};
        BOOST_TEST(p.wait().success());
        // And each fires, when it has to, and not before.
        subprocess fire{{tool, "test", "rules", COLOCK_ALERTS_TEST}};
        BOOST_TEST(fire.wait().success());
    }
}

// Prometheus itself scrapes what colock has written, and has a number for each panel and for what each alert compares.
BOOST_AUTO_TEST_CASE(prometheus_has_a_number_for_each_expression)
{
    if (find_program("prometheus").empty()) {
        BOOST_TEST_MESSAGE("skipped: there is no prometheus");
        return;
    }
    const std::string folder = COLOCK_METRICS_FOLDER;
    auto wanted = expressions_of_dashboard(file_text(folder + "/command-dashboard.json"));
    BOOST_TEST(wanted.size() == 9U);
    for (const auto* name : {"/command-alerts.yml", "/lock-alerts.yml"}) {
        static const std::regex each{R"(expr: (?:>-\n)?((?:.*\n)+?) +(?:for|labels):)"};
        for (const auto& alert : matches(file_text(folder + name), each)) {
            wanted.push_back(compared_by(alert));
        }
    }
    BOOST_TEST(wanted.size() == 9U + 8U + 3U);

    // A holder and a waiter stay; two more jobs run before each look.
    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    colock_process waiter{servers, with({}, {"true"})};
    BOOST_REQUIRE(queue_has(2));
    const auto job = path + "-job";
    const auto bad = path + "-bad";
    const auto look = [&] {
        BOOST_TEST(run_colock(servers, {"run", "--metrics", file, job, "--", "true"}).status == 0);
        BOOST_TEST(run_colock(servers, {"run", "--metrics", file, bad, "--", "false"}).status == 1);
        const auto locks = run_colock(servers, {"ls", "-r", "--prometheus", own_node()}).out;
        std::ofstream{files.path() + "/next"} << file_text(file) << locks;
        std::filesystem::rename(files.path() + "/next", files.path() + "/metrics");
    };
    look();
    const loopback_port port;
    const subprocess shown{{"python3", "-m", "http.server", "--bind", "127.0.0.1", "--directory",
                            files.path(), std::to_string(port.number())},
                           {.output_file = files.path() + "/log"}};
    const prometheus_server prometheus{port.number()};
    BOOST_REQUIRE(
        wait_until([&] { return !prometheus.ask("colock_run_losses_total").empty(); }, patience));
    look();
    for (const auto& expression : wanted) {
        const auto has_number = [&] {
            const auto values = prometheus.ask(expression);
            return std::ranges::any_of(values, [](const auto& v) { return v != "NaN"; });
        };
        BOOST_TEST(wait_until(has_number, patience), expression);
    }
    enough();
    BOOST_TEST(holder.status() == 0);
    BOOST_TEST(waiter.status() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_metrics_test
