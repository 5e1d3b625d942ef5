// docs/tutorial.md: its project builds against the installed library, and its command lines do what it says, with the server
// that it starts.
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace colock::test {

namespace {

std::string content_of(const std::filesystem::path& path)
{
    std::ifstream in{path};
    BOOST_REQUIRE(in);
    return {std::istreambuf_iterator<char>{in}, {}};
}

// The block behind the line that names it.
std::string block_of(const std::string& page, const std::string& name)
{
    const auto marker = page.find(name + "-->\n```");
    BOOST_REQUIRE(marker != page.npos);
    const auto begin = page.find('\n', page.find("```", marker)) + 1;
    return page.substr(begin, page.find("```\n", begin) - begin);
}

// The lines behind "$ " in blocks that are marked ```console.
std::vector<std::string> command_lines_of(const std::string& page)
{
    std::vector<std::string> found;
    bool inside = false;
    std::istringstream in{page};
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("```")) {
            inside = line == "```console";
        } else if (inside && line.starts_with("$ ")) {
            found.push_back(line.substr(2));
        }
    }
    return found;
}

} // namespace

BOOST_AUTO_TEST_SUITE(tutorial_page)

BOOST_AUTO_TEST_CASE(each_command_line_succeeds)
{
    using namespace std::chrono_literals;
    const temporary_directory directory;
    const std::filesystem::path work{directory.path()};
    const auto page = content_of(COLOCK_TUTORIAL_PAGE);

    // As the page starts it, but at a free port.
    BOOST_TEST(page.find("\n```sh\ncolock serve\n```\n") != page.npos);
    subprocess server{{COLOCK_PROGRAMS "/colock", "serve", "--port", "0", "--quiet"},
                      {.capture_output = true}};
    const auto address = server.read_line(30s).value_or("");
    BOOST_REQUIRE(address.starts_with("127.0.0.1:"));

    const auto run = [&](const std::string& line) {
        const auto said = (work / "said").string();
        std::filesystem::remove(said);
        subprocess p{{"bash", "-c", line},
                     {.environment = {"CMAKE_PREFIX_PATH=" + (work / "prefix").string(),
                                      "PATH=" + std::string{std::getenv("PATH")}},
                      .output_file = said,
                      .working_directory = work.string()}};
        const bool succeeded = p.wait().success();
        BOOST_TEST(succeeded, line << '\n' << content_of(said));
        return content_of(said);
    };
    run("cmake --install '" COLOCK_BUILD "' --prefix prefix");

    std::filesystem::create_directories(work / "hello");
    std::ofstream{work / "hello/CMakeLists.txt"} << block_of(page, "<!--file:hello/CMakeLists.txt");
    std::ofstream{work / "hello/main.cpp"} << block_of(page, "<!-- examples/hello_lock.cpp ");
    std::filesystem::create_directories(work / "colock-build");
    std::filesystem::create_directory_symlink(COLOCK_PROGRAMS, work / "colock-build/bin");

    std::string all;
    std::size_t tried = 0;
    std::chrono::steady_clock::duration first_program{};
    for (const auto& line : command_lines_of(page)) {
        const auto begin = std::chrono::steady_clock::now();
        all += run(std::regex_replace(line, std::regex{"localhost:2181"}, address));
        ++tried;
        if (line.starts_with("cmake -S hello ") || line.starts_with("hello/build/hello ")) {
            first_program += std::chrono::steady_clock::now() - begin;
        }
    }
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(first_program).count();
    std::cout << "figure: the tutorial's first program takes " << ms
              << " ms to configure and to run\n";
    BOOST_TEST((ms > 0 && ms < 60'000));
    BOOST_TEST(tried >= 8);
    for (const auto* expected : {"hello, my fencing token is ", "the backup has 42 files",
                                 "working with fencing token ", "written", "listening at port "}) {
        BOOST_TEST(all.find(expected) != all.npos, expected << " is missing in\n" << all);
    }
    BOOST_TEST(all.find("refused") == all.npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test
