// `colock run` as a service: what systemd hears of it; and as the first process of a container.
#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>

namespace colock::test::cli_notify_test {

using namespace std::chrono_literals;

namespace {

// The end of systemd.
class manager_socket {
public:
    explicit manager_socket(const std::string& address)
    {
        socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        std::memcpy(at.sun_path, address.data(), address.size());
        const bool is_abstract = address.front() == '@';
        at.sun_path[0] = is_abstract ? '\0' : '/';
        const auto size = offsetof(sockaddr_un, sun_path) + address.size() + (is_abstract ? 0 : 1);
        BOOST_REQUIRE(::bind(socket_, reinterpret_cast<const sockaddr*>(&at),
                             static_cast<socklen_t>(size)) == 0);
    }
    manager_socket(const manager_socket&) = delete;
    manager_socket& operator=(const manager_socket&) = delete;
    ~manager_socket() { ::close(socket_); }

    // Until there is no room for another message. A sender has a limit of its own.
    void fill()
    {
        sockaddr_un at{};
        socklen_t size = sizeof at;
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size);
        for (bool has_room = true; has_room;) {
            const int from = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
            has_room = false;
            while (::sendto(from, "X", 1, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&at),
                            size) == 1) {
                has_room = true;
            }
            ::close(from);
        }
    }
    std::optional<std::string> next()
    {
        ::pollfd readable{socket_, POLLIN, 0};
        if (::poll(&readable, 1, 60'000) != 1) {
            return std::nullopt;
        }
        char text[4096];
        const auto size = ::recv(socket_, text, sizeof text, 0);
        return std::string(text, static_cast<std::size_t>(std::max(size, ssize_t{0})));
    }
    // The next one that has this in it; empty when none comes.
    std::string next_with(const std::string& part)
    {
        while (const auto said = next()) {
            all_ += *said + '\n';
            if (has(*said, part)) {
                return *said;
            }
        }
        return {};
    }
    const std::string& all() const noexcept { return all_; }

private:
    int socket_ = -1;
    std::string all_;
};

std::vector<pid_t> ids_in(const std::string& file)
{
    std::vector<pid_t> ids;
    std::istringstream in{file_text(file)};
    for (pid_t id = 0; in >> id;) {
        ids.push_back(id);
    }
    return ids;
}

std::vector<pid_t> children_of(pid_t parent)
{
    const auto id = std::to_string(parent);
    return ids_in("/proc/" + id + "/task/" + id + "/children");
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_notify, scene, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(the_manager_hears_when_the_command_runs_and_not_before)
{
    for (const auto& address : {files.path() + "/notify", "@colock-test-" + files.path()}) {
        scene s;
        s.path += address.front() == '@' ? "-abstract" : "";
        manager_socket manager{address};
        colock_process holder{servers, s.with({}, s.holding())};
        BOOST_REQUIRE(s.runs());
        colock_process p{servers,
                         s.with({"--notify"}, {"sh", "-c", "echo \"[$NOTIFY_SOCKET]\"; exit 3"}),
                         {"NOTIFY_SOCKET=" + address, "WATCHDOG_USEC=200000"}};
        const auto waits = "STATUS=waiting for " + s.path;
        BOOST_TEST(has(manager.next_with(waits), waits));
        // While it waits, it is alive.
        for (int i = 0; i != 3; ++i) {
            BOOST_TEST(manager.next_with("WATCHDOG=1") == "WATCHDOG=1");
        }
        BOOST_TEST(has(manager.all(), "STATUS=connecting, for " + s.path), manager.all());
        BOOST_TEST(!has(manager.all(), "READY=1"), manager.all());
        s.enough();
        const auto ready = manager.next_with("READY=1");
        BOOST_TEST(has(ready, "\nSTATUS=holds " + s.path + "; the command is process "), ready);
        BOOST_TEST(manager.next_with("STOPPING=1") == "STOPPING=1");
        BOOST_TEST(p.status() == 3);
        BOOST_TEST(p.out() == "[]\n"); // the command is not the service
        BOOST_TEST(holder.status() == 0);
    }
}

BOOST_AUTO_TEST_CASE(a_manager_without_room_hears_later_that_the_command_runs)
{
    const auto address = files.path() + "/notify";
    manager_socket manager{address};
    manager.fill();
    const auto events = files.path() + "/events";
    colock_process p{
        servers, with({"--notify", "--events", events}, holding()), {"NOTIFY_SOCKET=" + address}};
    BOOST_REQUIRE(wait_until([&] { return has(file_text(events), "\"started\""); }, patience));
    BOOST_TEST(has(manager.next_with("READY=1"), "READY=1"));
    enough();
    BOOST_TEST(p.status() == 0);
}

BOOST_AUTO_TEST_CASE(without_the_option_the_command_speaks_for_itself)
{
    const auto address = files.path() + "/notify";
    manager_socket manager{address};
    const auto r = run({}, {"sh", "-c", "echo $NOTIFY_SOCKET"}, {"NOTIFY_SOCKET=" + address});
    BOOST_TEST(r.out == address + '\n');
    // Nobody listens there, or it is no address: that is not the command's business.
    for (const auto& nobody : {files.path() + "/none", std::string(300, 'x'), std::string{"@"}}) {
        BOOST_TEST(run({"--notify"}, {"true"}, {"NOTIFY_SOCKET=" + nobody}).status == 0);
    }
    BOOST_TEST(run({"--notify"}, {"true"}).status == 0);
}

BOOST_AUTO_TEST_CASE(a_watchdog_of_another_process_is_not_fed)
{
    const auto address = files.path() + "/notify";
    manager_socket manager{address};
    const auto r = run({"--notify"}, {"true"},
                       {"NOTIFY_SOCKET=" + address, "WATCHDOG_USEC=10000", "WATCHDOG_PID=1"});
    BOOST_TEST(r.status == 0);
    BOOST_TEST(!manager.next_with("STOPPING=1").empty());
    BOOST_TEST(!has(manager.all(), "WATCHDOG"), manager.all());
}

BOOST_AUTO_TEST_CASE(members_with_shards_are_ready_when_they_take_part)
{
    const auto address = files.path() + "/notify";
    manager_socket manager{address};
    colock_process p{servers,
                     with({"--notify", "--shards", "2"}, {"sleep", "1000"}),
                     {"NOTIFY_SOCKET=" + address}};
    BOOST_TEST(has(manager.next_with("READY=1"), "takes part in " + path));
    p.process().send_signal(SIGTERM);
    BOOST_TEST(p.status() == 0);
}

BOOST_AUTO_TEST_CASE(the_page_has_the_commands_of_the_units)
{
    const auto page = file_text(COLOCK_UNITS "/../../docs/services.md");
    for (const auto& entry : std::filesystem::directory_iterator{COLOCK_UNITS}) {
        for (const auto& line : lines_of(file_text(entry.path()))) {
            if (line.starts_with("ExecStart=") || line.starts_with("OnCalendar=")) {
                BOOST_TEST(has(page, "    " + line + '\n'), line);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(systemd_finds_no_fault_in_the_units)
{
    if (find_program("systemd-analyze").empty()) {
        BOOST_TEST_MESSAGE("no systemd-analyze here");
        return;
    }
    std::vector<std::string> words{"systemd-analyze", "verify", "--man=no"};
    for (const auto& entry : std::filesystem::directory_iterator{COLOCK_UNITS}) {
        auto text = file_text(entry.path());
        for (const auto& [program, there] :
             {std::pair<std::string, std::string>{"/usr/bin/colock", COLOCK_PROGRAM},
              {"/usr/local/bin/scheduler", "/bin/true"},
              {"/usr/local/bin/nightly", "/bin/true"}}) {
            for (auto at = text.find(program); at != text.npos;
                 at = text.find(program, at + there.size())) {
                text.replace(at, program.size(), there);
            }
        }
        words.push_back(files.path() + '/' + entry.path().filename().string());
        std::ofstream{words.back()} << text;
    }
    BOOST_TEST(words.size() >= 6);
    subprocess p{words, {.output_file = files.path() + "/said"}};
    BOOST_TEST(p.wait().success());
    const auto said = file_text(files.path() + "/said");
    BOOST_TEST(!has(said, files.path()), said);
}

BOOST_AUTO_TEST_CASE(the_page_shows_the_units)
{
    const auto page = file_text(COLOCK_UNITS "/../../docs/services.md");
    std::size_t shown = 0;
    for (const auto& entry : std::filesystem::directory_iterator{COLOCK_UNITS}) {
        std::istringstream unit{file_text(entry.path())};
        bool on_page = false;
        for (std::string line; std::getline(unit, line);) {
            if (line.starts_with('[')) {
                on_page = line == "[Service]" || line == "[Timer]";
            }
            if (on_page && !line.empty() && !line.starts_with('#')) {
                BOOST_TEST(has(page, "\n    " + line + '\n'), line);
                ++shown;
            }
        }
    }
    BOOST_TEST(shown > 15U);
}

// What somebody has run within the container, and left there, becomes a child of its first process.
BOOST_AUTO_TEST_CASE(the_first_process_of_a_container_reaps_what_others_leave)
{
    const std::vector<std::string> apart{"unshare", "--map-root-user", "--pid",
                                         "--fork",  "--kill-child",    "--mount-proc"};
    auto trial = apart;
    trial.emplace_back("true");
    subprocess possible{trial};
    if (!possible.wait().success() || find_program("nsenter").empty()) {
        BOOST_TEST_MESSAGE("no PID namespaces here");
        return;
    }
    colock_process holder{servers, with({}, holding())};
    BOOST_REQUIRE(runs());
    auto words = apart;
    words.emplace_back(COLOCK_PROGRAM);
    for (const auto& word :
         with({}, {"sh", "-c", "touch " + files.path() + "/second; exec sleep 1000"})) {
        words.push_back(word);
    }
    subprocess p{words, {.environment = {"COLOCK_SERVERS=" + servers}}};
    pid_t first = -1; // outside it has another number
    BOOST_REQUIRE(wait_until(
        [&] {
            const auto children = children_of(p.pid());
            first = children.empty() ? -1 : children.front();
            return first > 0 && queue_has(2);
        },
        patience));
    const auto reaps = [&] {
        const auto target = std::to_string(first);
        subprocess enter{{"nsenter", "--target", target, "--user", "--pid", "--mount", "sh", "-c",
                          "sh -c 'sh -c :' & sh -c 'sleep 0.05 & sleep 0.05 &'"}};
        BOOST_TEST(enter.wait().success());
        return wait_until(
            [&] {
                const auto left = children_of(first);
                return std::ranges::none_of(left, [](pid_t child) {
                    const auto status = file_text("/proc/" + std::to_string(child) + "/status");
                    return has(status, "State:\tZ") || has(status, "Name:\tsleep");
                });
            },
            patience);
    };
    BOOST_TEST(reaps());
    enough();
    BOOST_REQUIRE(wait_until(
        [&] { return ::access((files.path() + "/second").c_str(), F_OK) == 0; }, patience));
    BOOST_TEST(reaps());
    // It takes the signal, which the kernel keeps from a first process that does not want it.
    ::kill(first, SIGTERM);
    BOOST_TEST(p.wait().code == 128 + SIGTERM);
    BOOST_TEST(holder.status() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_notify_test
