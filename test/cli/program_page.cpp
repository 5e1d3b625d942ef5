// docs/command.md: what it shows to type works.
#include <support/zookeeper_server.hpp>

#include "colock_process.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <regex>
#include <sstream>

namespace colock::test::program_page_test {

namespace {

// The lines behind "$ " of each block that is marked ```console.
std::vector<std::vector<std::string>> blocks_of(const std::string& page)
{
    std::vector<std::vector<std::string>> blocks;
    bool inside = false;
    std::istringstream in{page};
    for (std::string line; std::getline(in, line);) {
        if (line == "```console") {
            blocks.emplace_back();
            inside = true;
        } else if (line.starts_with("```")) {
            inside = false;
        } else if (inside && line.starts_with("$ ")) {
            blocks.back().push_back(line.substr(2));
        }
    }
    return blocks;
}

// A command that this program does not have.
std::string missing_command(const std::string& line)
{
    static const std::regex command{R"(\bcolock ([a-z]+))"};
    for (std::sregex_iterator at{line.begin(), line.end(), command}, end; at != end; ++at) {
        const auto name = (*at)[1].str();
        if (run_colock({}, {"help", name}).status != 0) {
            return name;
        }
    }
    return {};
}

} // namespace

BOOST_AUTO_TEST_SUITE(program_page)

BOOST_AUTO_TEST_CASE(each_command_line_succeeds)
{
    const zookeeper_server server{zookeeper_options{}};
    const temporary_directory directory;
    const auto blocks = blocks_of(file_text(COLOCK_COMMAND_PAGE));
    BOOST_TEST(blocks.size() >= 8);
    std::size_t tried = 0;
    const std::filesystem::path program{COLOCK_PROGRAM};
    for (const auto& block : blocks) {
        for (const auto& line : block) {
            if (const auto name = missing_command(line); !name.empty()) {
                BOOST_TEST_MESSAGE("skipped: there is no `colock " << name << '`');
                continue;
            }
            const auto said = directory.path() + "/said";
            std::filesystem::remove(said);
            subprocess p{{"bash", "-c", line},
                         {.environment = {"COLOCK_SERVERS=" + server.connect_string(),
                                          "PATH=" + program.parent_path().string() + ':' +
                                              std::getenv("PATH")},
                          .output_file = said,
                          .working_directory = directory.path()}};
            const auto ended = p.wait();
            BOOST_TEST(ended.success(), line << '\n' << file_text(said));
            ++tried;
        }
    }
    BOOST_TEST(tried >= 15);
}

BOOST_AUTO_TEST_CASE(it_names_each_command)
{
    const auto page = file_text(COLOCK_COMMAND_PAGE);
    const auto help = run_colock({}, {"help"}).out;
    std::istringstream lines{help.substr(help.find("Commands:\n") + 10)};
    for (std::string line; std::getline(lines, line) && !line.empty();) {
        const auto name = line.substr(2, line.find(' ', 2) - 2);
        BOOST_TEST(
            (page.find("colock " + name) != page.npos || page.find('`' + name + '`') != page.npos),
            name);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::program_page_test
