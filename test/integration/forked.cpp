// A forked child has copies of its parent's clients, guards and locks. Whatever it does with them, nothing happens to the
// parent; and the child touches no descriptor that both share.
#include <support/link.hpp>
#include <support/one_server.hpp>
#include <support/run.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::forked_test {

namespace {

// Of the child: see forked_worker.cpp.
const std::vector<std::string> ways = {"exit",       "_exit",      "guards",
                                       "client",     "context",    "notify",
                                       "operations", "own_client", "assignments"};

class worker {
public:
    worker(const std::string& way, std::vector<std::string> command, const std::string& leaks)
        : process_{std::move(command), options(leaks)}, way_{way}
    {
    }

    void check()
    {
        std::string last;
        while (const auto line = process_.read_line(long_enough)) {
            last = *line;
            if (last.starts_with("shared ")) {
                shared.emplace(last.substr(7, last.find(' ', 7) - 7), last);
            } else if (last.starts_with("child ")) {
                children.insert(last.substr(6));
            }
        }
        BOOST_TEST_CONTEXT(way_)
        {
            BOOST_TEST(last == "kept");
            BOOST_TEST(process_.wait().success());
        }
    }

    std::map<std::string, std::string> shared; // the line that tells of it
    std::set<std::string> children;

private:
    static subprocess_options options(const std::string& leaks)
    {
        subprocess_options o;
        o.capture_output = true;
        o.environment = link_environment();
        o.environment.push_back("ASAN_OPTIONS=detect_leaks=" + leaks);
        return o;
    }

    subprocess process_;
    std::string way_;
};

std::vector<std::string> command(const std::string& way, const std::string& below)
{
    return {COLOCK_FORKED_WORKER, link_hosts(one_server::get()), below + "/" + way, way};
}

// The calls of the children in which a shared descriptor occurs, but for those that end the child's copy of it.
std::vector<std::string> calls_on_shared(const std::string& trace, const worker& of, bool notified)
{
    std::vector<std::string> found;
    const std::regex call{R"((\d+) +(\w+)\(.*)"};
    const std::regex descriptor{R"(\b(\d+)<([^>]*))"};
    std::ifstream in{trace};
    for (std::string line; std::getline(in, line);) {
        std::smatch parts;
        if (!std::regex_match(line, parts, call) || !of.children.contains(parts[1]) ||
            parts[2] == "close") {
            continue;
        }
        for (std::sregex_iterator at{line.begin(), line.end(), descriptor}, end; at != end; ++at) {
            // Asio has an epoll, a timer and an eventfd of the child's own then, at the old numbers. It asks that epoll for
            // the inherited sockets.
            const bool own =
                notified &&
                ((*at)[2].str().find("anon_inode") != std::string::npos ||
                 (parts[2] == "epoll_ctl" && line.find("EPOLL_CTL_ADD") != std::string::npos));
            if (of.shared.contains((*at)[1]) && !own) {
                found.push_back(line + ", " + of.shared.at((*at)[1]));
                break;
            }
        }
    }
    return found;
}

} // namespace

BOOST_AUTO_TEST_SUITE(forked, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(nothing_happens_to_the_parent)
{
    const auto below = own_node();
    std::vector<std::unique_ptr<worker>> workers;
    for (const auto& way : ways) {
        workers.push_back(std::make_unique<worker>(way, command(way, below), "1"));
    }
    // To look for leaks in a child of several threads, the sanitizer waits for a lock that one of them has had.
    workers.push_back(std::make_unique<worker>("threads", command("threads", below), "0"));
    for (const auto& each : workers) {
        each->check();
    }
}

BOOST_AUTO_TEST_CASE(the_child_touches_nothing_that_is_shared)
{
    const auto below = own_node();
    const temporary_directory here;
    std::vector<std::unique_ptr<worker>> workers;
    for (const auto& way : ways) {
        // Without what is sent: bytes may look like a descriptor.
        std::vector<std::string> traced{"strace",
                                        "-f",
                                        "-yy",
                                        "-s",
                                        "0",
                                        "-e",
                                        "trace=%desc,%network",
                                        "-o",
                                        here.path() + "/" + way};
        std::ranges::move(command(way, below), std::back_inserter(traced));
        workers.push_back(std::make_unique<worker>(way, std::move(traced), "0"));
    }
    for (std::size_t i = 0; i != ways.size(); ++i) {
        workers[i]->check();
        BOOST_TEST_CONTEXT(ways[i])
        {
            BOOST_TEST(!workers[i]->children.empty());
            BOOST_TEST(workers[i]->shared.size() > 3u);
            for (const auto& each :
                 calls_on_shared(here.path() + "/" + ways[i], *workers[i], ways[i] == "notify")) {
                BOOST_ERROR(each);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::forked_test
