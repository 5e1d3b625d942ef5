// `colock history`, on the files of a real server: what it tells is what the processes wrote, and what was done to them.
#include <support/admin_session.hpp>
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include "colock_process.hpp"
#include "look_scene.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::look_history_test {

namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

zookeeper_options options()
{
    zookeeper_options o;
    o.tick_time = 100ms;
    o.max_session_timeout = 120s;
    o.container_check_interval = 100ms;
    o.snap_count = 20; // so that there are many files
    return o;
}

struct span {
    std::int64_t begin = 0, end = 0;
};

struct history_scene {
    zookeeper_server server{options()};
    std::unique_ptr<admin_session> admin = connected();
    temporary_directory files;

    std::unique_ptr<admin_session> connected()
    {
        return std::make_unique<admin_session>(server.connect_string(),
                                               admin_session::options{.session_timeout = 120s});
    }

    // Four at a time.
    void take_turns(const std::string& path, int rounds)
    {
        const auto line = "echo $COLOCK_TOKEN begin $(date +%s%3N) >> " + journal() +
                          "; sleep 0.02; echo $COLOCK_TOKEN end $(date +%s%3N) >> " + journal();
        for (int i = 0; i != rounds; ++i) {
            std::vector<std::unique_ptr<colock_process>> all;
            for (int k = 0; k != 4; ++k) {
                all.push_back(std::make_unique<colock_process>(
                    server.connect_string(),
                    std::vector<std::string>{"run", path, "--", "sh", "-c", line}));
            }
            for (const auto& each : all) {
                BOOST_TEST(each->status() == 0, each->err());
            }
        }
    }
    [[nodiscard]] std::string journal() const { return files.path() + "/journal"; }
    // By token.
    [[nodiscard]] std::map<std::string, span> journalled() const
    {
        std::map<std::string, span> all;
        std::istringstream in{file_text(journal())};
        std::string token, what;
        for (std::int64_t time = 0; in >> token >> what >> time;) {
            (what == "begin" ? all[token].begin : all[token].end) = time;
        }
        return all;
    }

    colock_result history(std::vector<std::string> arguments, const std::string& from = {})
    {
        arguments.insert(arguments.begin(),
                         {"history", "--from", from.empty() ? server.directory() : from});
        return run_colock({}, std::move(arguments));
    }
    json::object document(const std::string& path, std::vector<std::string> more = {},
                          const std::string& from = {})
    {
        more.insert(more.begin(), "--json");
        more.push_back(path);
        const auto r = history(std::move(more), from);
        BOOST_TEST(r.status == 0, r.err);
        return r.status == 0 ? json::parse(r.out).as_object() : json::object{};
    }
    // A transaction that all before it are older than.
    std::string now()
    {
        admin->create("/later" + std::to_string(++laters_));
        const auto time = admin->exists("/later" + std::to_string(laters_))->ctime;
        BOOST_TEST(wait_until(
            [&] {
                admin->set("/later" + std::to_string(laters_), "");
                return admin->exists("/later" + std::to_string(laters_))->mtime > time;
            },
            10s));
        return std::to_string(time);
    }

private:
    int laters_ = 0;
};

std::string word(const json::object& o, const char* name)
{
    const auto& value = o.at(name);
    return value.is_string() ? std::string{value.as_string()} : std::string{};
}

std::string ends_of(const json::object& document)
{
    std::vector<std::string> all;
    for (const auto& each : document.at("contenders").as_array()) {
        all.push_back(word(each.as_object(), "ended"));
    }
    std::ranges::sort(all);
    std::string text;
    for (const auto& each : all) {
        text += each + ' ';
    }
    return text;
}

int holders_in(const json::object& document)
{
    return static_cast<int>(
        std::ranges::count_if(document.at("contenders").as_array(),
                              [](const auto& c) { return c.as_object().at("holds").as_bool(); }));
}

std::size_t files_with(const std::string& directory, const std::string& beginning)
{
    std::size_t count = 0;
    for (const auto& each : fs::directory_iterator{directory + "/version-2"}) {
        count += each.path().filename().string().starts_with(beginning) ? 1U : 0U;
    }
    return count;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(look_history, history_scene)

BOOST_AUTO_TEST_CASE(holds_are_what_the_processes_wrote)
{
    const std::string path = "/jobs/turns";
    take_turns(path, 2);
    server.restart();
    admin = connected();
    {
        holder_process dying{"mutex", {path}, 2s, "-", server.connect_string()};
        dying.process().kill();
        take_turns(path, 1); // wait for the end of its session
    }
    {
        holder_process unlucky{"mutex", {path}, 60s, "-", server.connect_string()};
        admin->remove(path + '/' + admin->children(path).at(0));
        take_turns(path, 1);
    }
    BOOST_TEST(files_with(server.directory(), "log.") > 2U);
    BOOST_TEST(files_with(server.directory(), "snapshot.") > 2U);

    const auto told = document(path);
    BOOST_TEST(word(told, "kind") == "mutex");
    BOOST_TEST(told.at("gaps").as_array().empty());
    auto journal = journalled();
    const auto one = document(path, {"--token", journal.begin()->first});
    BOOST_TEST(one.at("contenders").as_array().size() == 1U);
    BOOST_TEST(journal.size() == 16U);
    std::int64_t last_end = 0;
    std::int64_t most_waiters = 0;
    int expired = 0, deleted = 0;
    for (const auto& each : told.at("contenders").as_array()) {
        const auto& c = each.as_object();
        const auto granted = c.at("granted_ms").as_int64();
        const auto ended = c.at("ended_ms").as_int64();
        BOOST_TEST(granted >= last_end);
        last_end = ended;
        most_waiters = std::max(most_waiters, c.at("waiters").as_int64());
        const auto how = word(c, "ended");
        const auto turn = std::ranges::find_if(
            journal, [&](const auto& t) { return t.first.starts_with(word(c, "token_high")); });
        if (turn != journal.end()) {
            BOOST_TEST((granted <= turn->second.begin && turn->second.end <= ended));
            BOOST_TEST(how == "session_closed"); // which is how `colock run` leaves
            BOOST_TEST(word(c, "program") == "sh");
            journal.erase(turn);
        } else {
            BOOST_TEST(word(c, "program") == "look_holder");
            expired += how == "session_expired";
            deleted += how == "deleted";
        }
    }
    BOOST_TEST(journal.empty());
    BOOST_TEST((expired == 1 && deleted == 1));
    BOOST_TEST(most_waiters >= 1);

    // A copy tells the same; one that ends anywhere, less.
    const auto copy = files.path() + "/copy";
    fs::copy(server.directory() + "/version-2", copy);
    BOOST_TEST(document(path, {}, copy).at("contenders") == told.at("contenders"));
    fs::path last;
    for (const auto& each : fs::directory_iterator{copy}) {
        const bool is_log = each.path().filename().string().starts_with("log.");
        if (is_log && (last.empty() || fs::last_write_time(each) > fs::last_write_time(last))) {
            last = each.path();
        }
    }
    for (const std::uintmax_t size : {4096U, 1000U, 517U, 16U, 3U, 0U}) {
        fs::resize_file(last, size);
        const auto r = history({path}, copy);
        BOOST_TEST(r.status == 0, r.err);
    }
}

BOOST_AUTO_TEST_CASE(who_held_at_a_time)
{
    const auto hosts = server.connect_string();
    admin->create("/p");
    const holder_process reader{"reader", {"/p/rw"}, 60s, "-", hosts};
    const holder_process other{"reader", {"/p/rw"}, 60s, "-", hosts};
    const auto first = now();
    admin->create("/p/rw/_c_00000001-0000-4000-8000-000000000000-__WRIT__", "my password",
                  admin_session::mode::ephemeral_sequential, {{31, "digest", "me:my secret"}});
    const auto second = now();
    const holder_process permit{"semaphore", {"/p/s"}, 60s, "-", hosts};
    const holder_process single{"single_node", {"/p/one"}, 60s, "-", hosts};
    const auto third = now();

    const auto early = document("/p/rw", {"--at", first});
    BOOST_TEST(early.at("contenders").as_array().size() == 2U);
    const auto late = document("/p/rw", {"--at", second});
    BOOST_TEST(late.at("contenders").as_array().size() == 3U);
    BOOST_TEST(holders_in(late) == 2);
    BOOST_TEST(word(late, "kind") == "shared_mutex");
    for (const std::string path : {"/p/s", "/p/one"}) {
        const auto there = document(path, {"--at", third});
        BOOST_TEST(holders_in(there) == 1, path);
        BOOST_TEST(word(there, "kind") == (path == "/p/s" ? "semaphore" : "single_node"));
        BOOST_TEST(history({"--at", third, path}).out.find("held by ") != std::string::npos);
    }
    const auto text = history({"/p/rw"});
    BOOST_TEST(has(text.out, "waited"), text.out);
    BOOST_TEST(has(text.out, "(look_holder), token 0000000"), text.out);
    for (const auto& out : {text.out, history({"--json", "/p/rw"}).out}) {
        BOOST_TEST(!has(out, "my password"));
        BOOST_TEST(!has(out, "my secret"));
    }
    BOOST_TEST(ends_of(late) == "   ");
}

BOOST_AUTO_TEST_CASE(what_is_not_there_is_said_in_one_line)
{
    admin->create("/p");
    now();
    const auto check = [&](std::vector<std::string> arguments, int status, const char* part) {
        const auto r = history(std::move(arguments));
        BOOST_TEST((r.status == status && is_one_line(r.err)), r.err);
        BOOST_TEST(has(r.err, part), r.err);
    };
    check({"/p"}, 1, "/p was no lock from ");
    check({"p"}, 125, "is no path");
    const holder_process held{"mutex", {"/p/m"}, 60s, "-", server.connect_string()};
    check({"--at", "1999-01-01T00:00:00Z", "/p/m"}, 1, "nothing of 1999-01-01T00:00:00.000Z");
    for (const auto* const none :
         {"yesterday", "2026-02-31T00:00:00Z", "9999-01-01T00:00:00Z", "9000000000000001"}) {
        check({"--at", none, "/p/m"}, 125, "is no time");
    }
    check({"--token", "12", "/p/m"}, 125, "is no fencing token");
    check({"--token", "00000000deadbeef", "/p/m"}, 1, "had this token");
}

// These files may have what the user asks for.
BOOST_AUTO_TEST_CASE(files_that_cannot_be_read_are_named_where_nothing_is_found)
{
    const holder_process held{"mutex", {"/p/m"}, 60s, "-", server.connect_string()};
    now();
    const auto copy = files.path() + "/copy";
    fs::copy(server.directory() + "/version-2", copy);
    std::ofstream{copy + "/snapshot.5.gz"} << "packed";
    const std::vector<std::vector<std::string>> all{
        {"--token", "00000000deadbeef", "/p/m"}, {"/none"}, {"--json", "/none"}};
    for (const auto& arguments : all) {
        const auto r = history(arguments, copy);
        BOOST_TEST(r.status == 1);
        BOOST_TEST(has(r.err, "snapshot.5.gz is compressed"), r.err);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::look_history_test
