// `colock` with servers that lie, and beside clients that write what they please: nothing of it becomes more than text.
#include <colock/log.hpp>
#include <support/admin_session.hpp>
#include <support/hostile_server.hpp>
#include <support/jute.hpp>
#include <support/one_server.hpp>

#include "colock_process.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace colock::test::cli_hostile_test {

using namespace std::chrono_literals;

namespace data = boost::unit_test::data;

namespace {

using answer = hostile_server::answer;
using asked = hostile_server::request;

std::string framed(const std::string& body)
{
    return jute_writer{}.text(body).bytes();
}

// A new name for each node with a number, in the replies to creates, and in lists.
using renaming = std::function<std::string(std::string name)>;

answer renamed_create(const std::string& honest, const renaming& as)
{
    jute_reader in{std::string_view{honest}.substr(20)};
    const std::string path{in.text()};
    const auto slash = path.rfind('/') + 1;
    const auto made_up = path.substr(0, slash) + as(path.substr(slash));
    return framed(honest.substr(4, 16) + jute_writer{}.text(made_up).bytes() +
                  honest.substr(honest.size() - in.left()));
}

answer renamed_list(const std::string& honest, const renaming& as)
{
    jute_reader in{std::string_view{honest}.substr(20)};
    jute_writer names;
    const auto count = in.integer();
    names.integer(count);
    for (auto i = count; i != 0; --i) {
        names.text(as(std::string{in.text()}));
    }
    return framed(honest.substr(4, 16) + names.bytes() + honest.substr(honest.size() - in.left()));
}

bool succeeds(const std::string& reply)
{
    return jute_reader{std::string_view{reply}.substr(16)}.integer() == 0;
}

struct lie {
    const char* name;
    renaming as;
    friend std::ostream& operator<<(std::ostream& out, const lie& l) { return out << l.name; }
};

const std::vector<lie> lies{
    {"variables",
     [](auto name) {
         return name + "\nBASH_FUNC_ls%%=() { echo made up; }\nLD_PRELOAD=made-up.so\nX=" + name;
     }},
    {"lines", [](auto name) { return "made-up\n" + name; }},
    {"an end",
     [](auto name) {
         return name + std::string{"\0made-up", 8} + name;
     }},
    {"another name", [](auto name) { return "made-up-" + name; }},
    {"more of a name", [](auto name) { return name + "-made-up-" + name; }},
};

} // namespace

BOOST_AUTO_TEST_SUITE(cli_hostile)

// The lock is never granted under a name that was not asked for, and no command starts.
BOOST_DATA_TEST_CASE(a_server_that_renames_in_every_reply_runs_nothing, data::make(lies), l)
{
    hostile_server server;
    server.play([&](const asked& r, std::string honest) {
        if (!r.path.starts_with("/lock") || !succeeds(honest)) {
            return answer{std::move(honest)};
        }
        return r.kind == opcode::create2 && r.path.size() > 6 ? renamed_create(honest, l.as)
               : r.kind == opcode::get_children2              ? renamed_list(honest, l.as)
                                                              : answer{std::move(honest)};
    });
    const auto r =
        run_colock(server.connect_string(), {"run", "--timeout", "1s", "/lock", "--", "sh", "-c",
                                             "env | grep -e made.up -e COLOCK_N"});
    BOOST_TEST(r.status != 0);
    BOOST_TEST(r.out == "");
    BOOST_TEST(!has(r.err, "made-up\n"), r.err);
    BOOST_TEST(is_one_line(r.err), r.err);
}

// The reply to the create is lost, and then the list is searched for the node.
BOOST_DATA_TEST_CASE(a_server_that_renames_in_lists_runs_nothing, data::make(lies), l)
{
    hostile_server server;
    server.play([&](const asked& r, std::string honest) {
        if (!r.path.starts_with("/lock") || !succeeds(honest)) {
            return answer{std::move(honest)};
        }
        if (r.kind == opcode::create2 && r.path.size() > 6) {
            answer lost{""};
            lost.finish = true;
            return lost;
        }
        return r.kind == opcode::get_children2 ? renamed_list(honest, l.as)
                                               : answer{std::move(honest)};
    });
    const auto r =
        run_colock(server.connect_string(), {"run", "--timeout", "1s", "/lock", "--", "sh", "-c",
                                             "env | grep -e made.up -e COLOCK_N"});
    BOOST_TEST(r.status != 0);
    BOOST_TEST(r.out == "");
    BOOST_TEST(is_one_line(r.err), r.err);
}

// Half a million years before and after now.
BOOST_DATA_TEST_CASE(a_time_that_no_clock_can_tell_harms_nobody, data::make({'\x7f', '\x80'}),
                     first)
{
    hostile_server server;
    server.play([first](const asked& r, std::string honest) {
        constexpr std::size_t stat =
            68; // bytes, at the end; its third number is when the node was made
        if ((r.kind == opcode::get_data || r.kind == opcode::exists) && succeeds(honest)) {
            honest[honest.size() - stat + 16] = first;
        }
        return answer{std::move(honest)};
    });
    const auto r =
        run_colock(server.connect_string(), {"run", "/lock", "--", COLOCK_PROGRAM, "why", "/lock"});
    BOOST_TEST(r.status == 0, r.err);
    BOOST_TEST(has(r.out, "/lock"), r.out);
}

// Escape sequences that clear the screen and set the title, lines that look like colock's own, what turns the direction of the
// text, bytes that are no UTF-8, quotes.
const std::string hostile =
    "\x1b[2J\x1b]0;title\x07\nok       server\r\xc2\x9b\xe2\x80\xae\xff\xc0\x8a\"'`$(x)";

// What ZooKeeper takes in the name of a node.
const std::string hostile_name = "\xe2\x80\xae\"'`$(x)\xe2\x80\x8b\\";

struct beside_others {
    std::string servers = one_server::get().connect_string();
    std::string root = own_node();

    // A lock of another client, which says this of itself. Its node has no session that could end before the test does.
    std::string held(const std::string& owner)
    {
        admin_session admin{servers};
        const auto path = root + "/" + hostile_name + std::to_string(++number);
        admin.create(path, owner);
        admin.create(path + "/_c_" + hostile_name + "-lock-", owner,
                     admin_session::mode::persistent_sequential);
        return path;
    }
    void check(const std::vector<std::string>& arguments)
    {
        const auto r = run_colock(servers, arguments);
        BOOST_TEST_CONTEXT(arguments[0] << ' ' << arguments[1])
        {
            BOOST_TEST((r.status == 0 || r.status == 1 || r.status == 123), r.status);
            BOOST_TEST(!(r.out + r.err).empty());
            std::istringstream lines{r.out + r.err};
            for (std::string line; std::getline(lines, line);) {
                BOOST_TEST(colock::printable(line, 1'000'000) == line);
            }
        }
    }
    int number = 0;
};

BOOST_FIXTURE_TEST_CASE(what_other_clients_write_is_text_wherever_it_is_shown, beside_others,
                        *boost::unit_test::fixture<one_server>())
{
    const std::string owners[] = {
        hostile,
        "host=" + hostile + " pid=1 program=" + hostile,
        "host=h pid=1 under=/" + hostile + " program=p",
        "host=h pid=1 under=/.. program=p",
        "host=h pid=1 under=/" + std::string(5'000, 'x') + " program=p",
        "host=h pid=1 under=//locks/lease- program=p",
    };
    for (const auto& owner : owners) {
        const auto path = held(owner);
        check({"ls", path});
        check({"ls", "--json", path});
        check({"why", path});
        check({"why", "--json", path});
        check({"top", path});
        check({"run", "--try", path, "--", "true"});
        check({"run", "--try", "--json", path, "--", "true"});
    }
    check({"ls", "-r", root});
    check({"doctor", root});
    check({"doctor", "--json", root});
    check({"revoke", root + "/" + hostile_name + "1"});
    check({"break", "--yes", root + "/" + hostile_name + "1"});
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_hostile_test
