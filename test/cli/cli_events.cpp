// `colock run --events`: what machines hear, on a file of its own, and who waits for whoever reads it.
#include <support/one_server.hpp>
#include <support/tcp_proxy.hpp>

#include "json_events.hpp"
#include "run/event_lines.hpp"
#include "run/once_per.hpp"
#include "run_scene.hpp"

#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace colock::test::cli_events_test {

using namespace std::chrono_literals;

namespace {

namespace json = boost::json;
using events = std::vector<json::object>;

const std::set<std::string> of_all{"event", "time",  "monotonic_ms", "path",
                                   "node",  "token", "waited_ms",    "held_ms"};

std::set<std::string> names_in(const std::string& cell)
{
    std::set<std::string> names;
    const std::regex name{"`([a-z_]+)`"};
    for (std::sregex_iterator at{cell.begin(), cell.end(), name}, end; at != end; ++at) {
        names.insert((*at)[1]);
    }
    return names;
}

// The page's table, and its list of those with a text: which fields an event has beside those of all.
const std::map<std::string, std::set<std::string>>& schema()
{
    static const auto all = [] {
        std::map<std::string, std::set<std::string>> found;
        const auto page = file_text(COLOCK_COMMAND_PAGE);
        const auto begin = page.find("## What `--json` says");
        std::istringstream lines{page.substr(begin, page.find("Other commands", begin) - begin)};
        bool have_text = false;
        for (std::string line; std::getline(lines, line);) {
            have_text = have_text || line.starts_with("The others have a `text`");
            if (have_text && line.starts_with("- ")) {
                for (const auto& name : names_in(line)) {
                    found[name] = {"text"};
                }
            } else if (std::smatch m; std::regex_match(
                           line, m, std::regex{R"(\| `([a-z_]+)` \| [^|]* \| ([^|]*) ?\|)"})) {
                found[m[1]] = names_in(m[2]);
            }
        }
        found["left_behind"].erase("pid"); // of each process
        found["left_behind"].erase("name");
        return found;
    }();
    return all;
}

void check_schema(const events& all)
{
    BOOST_TEST(!all.empty());
    std::int64_t last = 0;
    for (const auto& e : all) {
        BOOST_TEST_CONTEXT(json::serialize(e))
        {
            const auto name = text_of(e, "event");
            BOOST_REQUIRE(schema().contains(name));
            auto fields = schema().at(name);
            fields.insert(of_all.begin(), of_all.end());
            std::set<std::string> there;
            for (const auto& [key, value] : e) {
                there.insert(key);
            }
            BOOST_TEST(there == fields, boost::test_tools::per_element());
            BOOST_TEST(std::regex_match(text_of(e, "time"),
                                        std::regex{R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"}));
            BOOST_TEST(e.at("monotonic_ms").as_int64() >= last);
            last = e.at("monotonic_ms").as_int64();
        }
    }
}

const json::object& the(const events& all, const std::string& name)
{
    const auto at =
        std::ranges::find_if(all, [&](const auto& e) { return text_of(e, "event") == name; });
    BOOST_REQUIRE_MESSAGE(at != all.end(), "there is no event " << name);
    return *at;
}

std::string sequence(const events& all)
{
    std::string text;
    for (const auto& e : all) {
        const auto name = text_of(e, "event");
        text += (' ' + text).ends_with(' ' + name) ? "" : (text.empty() ? "" : " ") + name;
    }
    return text;
}

struct event_scene : scene {
    const std::string file = files.path() + "/events";

    // The end that this run tells, to those who read words and to those who read events.
    void check_end(std::vector<std::string> options, std::vector<std::string> command, int status,
                   const std::string& reason)
    {
        options.insert(options.begin(), {"--events", file});
        const auto r = run(std::move(options), std::move(command));
        check_end_of(r.status, r.err, status, reason);
    }
    void check_end_of(int got, const std::string& err, int status, const std::string& reason)
    {
        BOOST_TEST_CONTEXT(reason << ' ' << err)
        {
            BOOST_TEST(got == status);
            BOOST_TEST(err.find('{') == err.npos);
            const auto all = events_in(file_text(file));
            ::unlink(file.c_str());
            check_schema(all);
            BOOST_REQUIRE(!all.empty());
            BOOST_TEST(text_of(all.back(), "event") == "ended");
            BOOST_TEST(count(all, "ended") == 1U);
            BOOST_TEST(all.back().at("status").as_int64() == status);
            BOOST_TEST(text_of(all.back(), "reason") == reason);
            const auto said = text_of(all.back(), "text");
            BOOST_TEST(has(err, said));
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_events, event_scene, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(each_outcome_has_its_last_event)
{
    check_end({}, {"sh", "-c", "exit 2"}, 2, "command");
    check_end({}, {"sh", "-c", "exit 121"}, 121, "command");
    check_end({}, {"there-is-no-such-command"}, 127, "not_found");
    check_end({}, {files.path()}, 126, "not_executable");
    check_end({"--grace", "60s"}, {"true"}, 125, "usage");
    check_end({"--quiet", "--verbose"}, {"true"}, 125, "usage");
    check_end({"--servers", servers + "/no-chroot"}, {"true"}, 122, "refused");
    check_end({"--servers", "127.0.0.1:1", "--connect-timeout", "1s"}, {"true"}, 121,
              "no_zookeeper");
    check_end({"--max-hold", "100ms"}, {"sleep", "100"}, 124, "held_too_long");

    colock_process holder{servers, with({"--events", file}, holding())};
    BOOST_REQUIRE(runs());
    ::rename(file.c_str(), (file + ".holder").c_str());
    check_end({"--try"}, {"true"}, 123, "busy");
    check_end({"--timeout", "100ms"}, {"true"}, 124, "timed_out");
    BOOST_TEST(run_colock(servers, {"break", "--yes", path}).status == 0);
    const auto status = holder.status();
    ::rename((file + ".holder").c_str(), file.c_str());
    check_end_of(status, holder.err(), 120, "lost");
}

BOOST_AUTO_TEST_CASE(a_run_from_the_wait_to_the_end)
{
    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    colock_process waiter{servers, with({"--events", file, "-q"}, {"sleep", "0.2"})};
    BOOST_REQUIRE(queue_has(2));
    BOOST_TEST(wait_until([&] { return has(file_text(file), "\"holder_node\":\"/"); }, patience));
    enough();
    BOOST_TEST(waiter.status() == 0);
    BOOST_TEST(waiter.err() == "");
    BOOST_TEST(holder.status() == 0);
    const auto all = events_in(file_text(file));
    check_schema(all);
    BOOST_TEST(sequence(all) == "connected waiting granted started exited released ended");
    const auto& granted = the(all, "granted");
    BOOST_TEST(text_of(granted, "node").starts_with(path + '/'));
    BOOST_TEST(granted.at("waited_ms").as_int64() >= 1'000); // the first look at the queue
    const auto& released = the(all, "released");
    BOOST_TEST(released.at("confirmed").as_bool());
    BOOST_TEST(released.at("held_ms").as_int64() >= 200);
    BOOST_TEST(text_of(released, "token") == text_of(granted, "token"));
    const auto& ended = all.back();
    BOOST_TEST(ended.at("held_ms") == released.at("held_ms")); // it is over
    BOOST_TEST(ended.at("waited_ms") == granted.at("waited_ms"));
    BOOST_TEST(the(all, "waiting").at("token").is_null());
    BOOST_TEST(the(all, "waiting").at("held_ms").is_null());
}

BOOST_AUTO_TEST_CASE(a_lock_at_risk_is_told_before_it_is_lost)
{
    tcp_proxy proxy{servers};
    colock_process p{proxy.connect_string(), with({"--events", file, "-v"}, holding())};
    BOOST_REQUIRE(runs());
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(wait_until([&] { return has(file_text(file), "\"at_risk\""); }, patience));
    proxy.refuse(false);
    BOOST_TEST(wait_until([&] { return has(file_text(file), "\"safe_again\""); }, patience));
    enough();
    BOOST_TEST(p.status() == 0);
    BOOST_TEST(has(p.err(), "no server answers; the lock is safe for another "), p.err());
    BOOST_TEST(has(p.err(), "colock run: released\n"), p.err());
    const auto all = events_in(file_text(file));
    check_schema(all);
    BOOST_TEST(the(all, "at_risk").at("remaining_ms").as_int64() > 0);
}

// Nobody knows then who holds the lock.
BOOST_AUTO_TEST_CASE(an_outage_during_a_wait_is_told_and_its_end)
{
    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    tcp_proxy proxy{servers};
    const auto far = proxy.connect_string();
    colock_process told{far, with({"--events", file, "--session-timeout", "40s"}, {"true"})};
    colock_process verbose{far, with({"-v"}, {"true"})};
    colock_process quiet{far, with({"-q"}, {"true"})};
    BOOST_REQUIRE(queue_has(4));
    proxy.refuse(true, refusal::close_at_once);
    proxy.cut();
    const auto both_say = [&](const std::string& text) {
        return wait_until([&] { return has(told.err(), text) && has(verbose.err(), text); },
                          patience);
    };
    BOOST_TEST(both_say("no server answers; this one waits on, for " + path + '\n'));
    proxy.refuse(false);
    BOOST_TEST(both_say("a server answers again\n"));
    enough();
    for (auto* const each : {&told, &verbose, &quiet, &holder}) {
        BOOST_TEST(each->status() == 0, each->err());
    }
    BOOST_TEST(quiet.err() == "");
    const auto all = events_in(file_text(file));
    check_schema(all);
    BOOST_TEST(has(sequence(all), "waiting disconnected connected "), sequence(all));
}

// The number of an open file, which the command does not have.
BOOST_AUTO_TEST_CASE(an_open_file_is_for_colock_alone)
{
    colock_process shell{servers,
                         {"-c", "exec " COLOCK_PROGRAM " run --events 3 " + path +
                                    " -- sh -c 'ls -l /proc/self/fd' 3>" + file},
                         {},
                         "/bin/sh"};
    BOOST_TEST(shell.status() == 0);
    BOOST_TEST(!has(shell.out(), file), shell.out());
    check_schema(events_in(file_text(file)));
    for (const auto* const wrong : {"2", "77", "/no/such/directory/file"}) {
        const auto r = run({"--events", wrong}, {"true"});
        BOOST_TEST(r.status == 125);
        BOOST_TEST(is_one_line(r.err), r.err);
        BOOST_TEST(has(r.err, "--events"), r.err);
    }
    BOOST_TEST(run({"--json", "--events", file}, {"true"}).status == 125);

    const auto full = run({"--events", "/dev/full"}, {"sh", "-c", "exit 3"});
    BOOST_TEST(full.status == 3);
    BOOST_TEST(has(full.err, "the events could not all be written: No space left"), full.err);
}

// A pipe that is full, and that nobody reads: the command starts, and all ends, as if nobody were told.
BOOST_AUTO_TEST_CASE(whoever_does_not_read_delays_nothing)
{
    full_pipe pipe;
    colock_process p{servers, with({"--events", pipe.path()}, holding())};
    BOOST_REQUIRE(runs());
    BOOST_REQUIRE(queue_has(1));
    BOOST_TEST(run_colock(servers, {"break", "--yes", path}).status == 0);
    BOOST_TEST(p.status() == 120); // it has acted
    BOOST_TEST(queue_has(0));
}

BOOST_AUTO_TEST_CASE(lines_that_nobody_could_read_are_counted)
{
    full_pipe pipe;
    const int end = ::open(pipe.path().c_str(), O_WRONLY | O_CLOEXEC);
    BOOST_REQUIRE(end >= 0);
    colock::cli::event_lines lines{end, "/a/lock"};
    lines.waits();
    constexpr int number = 1'000;
    for (int i = 0; i != number; ++i) {
        lines.write("warning", {{"text", std::to_string(i)}});
    }
    std::string text;
    const auto has_come = [&](const std::string& part) {
        text = pipe.read_all();
        return has(text, part);
    };
    BOOST_TEST(wait_until([&] { return has_come("\"dropped\""); }, patience));
    lines.write("ended", {{"status", 0}, {"reason", "command"}, {"text", ""}});
    BOOST_TEST(wait_until([&] { return has_come("\"ended\"") && text.ends_with('\n'); }, patience));
    const auto all = events_in(text);
    check_schema(all);
    const auto dropped = the(all, "dropped").at("lines").to_number<int>();
    BOOST_TEST(dropped > 0);
    BOOST_TEST(static_cast<int>(count(all, "warning")) + dropped == number);
    ::close(end);
}

BOOST_AUTO_TEST_CASE(quiet_is_silent_unless_something_is_wrong)
{
    BOOST_TEST(run({"-q"}, {"true"}).err == "");
    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    const auto busy = run({"-q", "--try"}, {"true"});
    BOOST_TEST(busy.status == 123);
    BOOST_TEST(busy.err == "");
    BOOST_TEST(run({"-q", "--timeout", "100ms"}, {"true"}).err == "");
    BOOST_TEST(is_one_line(run({"-q", "--servers", servers + "/no-chroot"}, {"true"}).err));
    // One that waits is told, where there is no terminal, once, unless it is asked to be quiet.
    colock_process quiet{servers, with({"-q"}, {"true"})};
    colock_process job{servers, with({"--once-per", "1000d"}, {"true"})};
    colock_process told{servers, with({}, {"true"})};
    BOOST_REQUIRE(queue_has(4));
    BOOST_TEST(wait_until([&] { return has(told.err(), "waiting for " + path); }, patience));
    enough();
    for (auto* const each : {&quiet, &job, &told, &holder}) {
        BOOST_TEST(each->status() == 0);
    }
    BOOST_TEST(is_one_line(told.err()), told.err());
    BOOST_TEST(has(told.err(), "before this one; held by "), told.err());
    BOOST_TEST(quiet.err() == "");
    BOOST_TEST(job.err() == "");
}

BOOST_AUTO_TEST_CASE(events_bring_no_more_words_on_a_wait)
{
    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    colock_process before{servers, with({"-q"}, {"true"})};
    BOOST_REQUIRE(queue_has(2));
    colock_process waiter{servers, with({"--events", file}, {"true"})};
    BOOST_REQUIRE(queue_has(3));
    BOOST_REQUIRE(wait_until([&] { return has(waiter.err(), "waiting for " + path); }, patience));
    before.process().send_signal(SIGTERM);
    // It looks at the queue for those who read events.
    BOOST_TEST(wait_until([&] { return has(file_text(file), "\"position\":1"); }, patience));
    enough();
    BOOST_TEST(waiter.status() == 0);
    BOOST_TEST(is_one_line(waiter.err()), waiter.err());
    BOOST_TEST(holder.status() == 0);
}

BOOST_AUTO_TEST_CASE(processes_that_were_left_behind_are_named_in_one_line)
{
    const auto r = run({"--events", file}, {"sh", "-c", "sleep 1001 & sleep 1002 & exit 3"});
    BOOST_TEST(r.status == 3);
    BOOST_TEST(is_one_line(r.err), r.err);
    BOOST_TEST(has(r.err, "the command has left 2 processes behind, which are ended: "), r.err);
    const auto all = events_in(file_text(file));
    check_schema(all);
    BOOST_TEST(the(all, "left_behind").at("processes").as_array().size() == 2U);
    BOOST_TEST(run({}, {"sh", "-c", "sleep 0.01 & wait"}).err == "");
    // As one is called whose program was killed. A real one would end by itself in a moment.
    const auto guard = files.path() + "/session-guard";
    std::filesystem::copy_file("/bin/sleep", guard);
    const auto leave_it = guard + " 1000 & echo $! >" + files.path() +
                          "/pid; until grep -q session-guard /proc/$!/comm; do :; done";
    BOOST_TEST(run({}, {"sh", "-c", leave_it}).err == "");
    BOOST_TEST(is_gone(files.path() + "/pid"));
}

// A daemon that a deploy restarts on purpose, known by its name, or by the file with its number; and what is neither.
BOOST_AUTO_TEST_CASE(a_daemon_lives_on_where_that_is_asked_for)
{
    const auto daemon = files.path() + "/a-daemon";
    std::filesystem::copy_file("/bin/sleep", daemon);
    const auto number = files.path() + "/number";
    for (const auto& which : {std::string{"a-daemon"}, number}) {
        const auto r = run({"--leave", which, "--leave", "no-such-name"},
                           {"sh", "-c",
                            daemon + " 1000 & echo $! >" + number + "; sleep 1001 & echo $! >" +
                                files.path() + "/other"});
        BOOST_TEST(r.status == 0);
        BOOST_TEST(has(r.err, "has left 1 process behind"), r.err);
        BOOST_TEST(has(r.err, "(sleep)"), r.err);
        BOOST_TEST(queue_has(0));
        BOOST_TEST(is_gone(files.path() + "/other"));
        const auto pid = static_cast<pid_t>(std::stol(file_text(number)));
        BOOST_TEST(::kill(pid, SIGKILL) == 0, which); // it lives, until now
        BOOST_TEST(has(r.err, "--leave names others"), r.err);
    }
    const auto none = run({"--leave", files.path() + "/none"}, {"sh", "-c", "sleep 1001 &"});
    BOOST_TEST(has(none.err, "/none cannot be read"), none.err);
    std::ofstream{number} << "junk";
    const auto junk = run({"--leave", number}, {"sh", "-c", "sleep 1001 &"});
    BOOST_TEST(has(junk.err, number + " has no number"), junk.err);
    const auto pipe = files.path() + "/pipe";
    BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const auto silent = run({"--leave", pipe}, {"sh", "-c", "sleep 1001 &"});
    BOOST_TEST(has(silent.err, pipe + " has no number"), silent.err);
}

BOOST_AUTO_TEST_CASE(leaders_are_printed_as_they_change)
{
    colock_process follows{servers, {"elect", "--follow", path}};
    colock_process as_json{servers, {"elect", "--follow", "--json", path}};
    BOOST_TEST(wait_until([&] { return has(follows.out(), " nobody\n"); }, patience));
    BOOST_TEST(wait_until([&] { return has(as_json.out(), "\n"); }, patience));
    colock_process first{servers, {"elect", "--name", "first", path, "--", "sleep", "1000"}};
    BOOST_TEST(wait_until([&] { return has(follows.out(), "(first)\n"); }, patience));
    const auto lines = lines_of(follows.out());
    const auto by =
        cli::text_of(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
    BOOST_TEST(lines.back().substr(0, by.size()) <= by, lines.back()); // it has come
    BOOST_TEST(wait_until([&] { return has(as_json.out(), "program=first"); }, patience));
    first.process().send_signal(SIGTERM);
    BOOST_TEST(wait_until([&] { return follows.out().ends_with(" nobody\n"); }, patience));
    // Without a connection nobody knows who leads.
    tcp_proxy proxy{servers};
    colock_process far{proxy.connect_string(), {"elect", "--follow", path}};
    BOOST_TEST(wait_until([&] { return far.out().ends_with(" nobody\n"); }, patience));
    proxy.refuse(true);
    proxy.cut();
    BOOST_TEST(wait_until(
        [&] { return far.out().ends_with(" unknown: no connection to the servers\n"); }, patience));
    proxy.refuse(false);
    BOOST_TEST(wait_until([&] { return far.out().ends_with(" nobody\n"); }, patience));
    far.process().send_signal(SIGTERM);
    BOOST_TEST(far.status() == 128 + SIGTERM);
    BOOST_TEST(wait_until(
        [&] {
            return has(as_json.out(), "first\"}\n") &&
                   as_json.out().ends_with("\"leader\":null}\n");
        },
        patience));
    for (const auto& e : events_in(as_json.out())) {
        BOOST_TEST(text_of(e, "event") == "leader");
        BOOST_TEST(text_of(e, "path") == path);
    }
    BOOST_TEST(first.status() == 128 + SIGTERM);
    for (auto* const each : {&follows, &as_json}) {
        each->process().send_signal(SIGTERM);
        BOOST_TEST(each->status() == 128 + SIGTERM);
    }
    for (const auto& wrong : {std::vector<std::string>{"elect", "--follow", path, "--", "true"},
                              {"elect", "--follow", "--timeout", "1s", path}}) {
        const auto r = run_colock(servers, wrong);
        BOOST_TEST(r.status == 125);
        BOOST_TEST(is_one_line(r.err), r.err);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_events_test
