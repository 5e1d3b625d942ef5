// Lines for a reader who may never read them: who waits for whom.
#include "program/background_writer.hpp"

#include <support/temporary_directory.hpp>

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

namespace colock::test::background_writer_test {

using namespace std::chrono_literals;
using colock::cli::background_writer;

namespace {

struct scene {
    scene() { BOOST_REQUIRE(::pipe2(ends, O_CLOEXEC) == 0); }
    ~scene()
    {
        close(ends[0]);
        close(ends[1]);
    }
    static void close(int& file)
    {
        if (file >= 0) {
            ::close(file);
            file = -1;
        }
    }
    // So many bytes, or what there is up to the end.
    std::string read(std::size_t most)
    {
        std::string text(most, 0);
        std::size_t size = 0;
        ssize_t some = 0;
        while (size != most && (some = ::read(ends[0], text.data() + size, most - size)) > 0) {
            size += static_cast<std::size_t>(some);
        }
        text.resize(size);
        return text;
    }
    static constexpr std::size_t size_of_pipe = std::size_t{64} * 1024;
    static constexpr auto patience = 60s;
    int ends[2];
    const background_writer::dropped_line count = [](std::size_t lines) {
        return "(" + std::to_string(lines) + ")\n";
    };
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(background_writer_, scene)

BOOST_AUTO_TEST_CASE(a_reader_who_reads_gets_all_in_order)
{
    background_writer out{ends[1], count};
    BOOST_TEST(out.idle());
    out.write("one\n");
    out.write("two\n");
    out.flush(patience);
    BOOST_TEST(out.idle());
    BOOST_TEST(read(8) == "one\ntwo\n");
}

BOOST_AUTO_TEST_CASE(nobody_waits_for_a_reader_who_does_not_read)
{
    {
        background_writer out{ends[1], count};
        out.write(std::string(size_of_pipe, '-'));
        out.flush(patience); // it is full
        out.write("later\n");
        // Once: whoever has not read for that long is not waited for again.
        const auto since = std::chrono::steady_clock::now();
        for (int i = 0; i != 600; ++i) {
            out.flush(100ms);
        }
        BOOST_TEST((std::chrono::steady_clock::now() - since < 30s));
        BOOST_TEST(!out.idle());
    }
    BOOST_TEST(read(size_of_pipe + 6).ends_with("-later\n"));
}

BOOST_AUTO_TEST_CASE(what_finds_no_place_is_counted)
{
    background_writer out{ends[1], count};
    out.write(std::string(size_of_pipe, '-'));
    out.flush(patience); // the pipe is full
    out.write("a\n");
    out.write(std::string(size_of_pipe - 2, '.'));
    out.write("nothing\n");
    out.write("else fits\n");
    out.write("the end\n", true);
    const auto text = read(2 * size_of_pipe + 12);
    BOOST_TEST(text.substr(size_of_pipe, 3) == "a\n.");
    BOOST_TEST(text.substr(text.size() - 13) == ".(2)\nthe end\n");
    out.write("b\n");
    BOOST_TEST(read(2) == "b\n");
    out.flush(patience);
    BOOST_TEST(out.idle());
}

// The thread is neither killed by SIGPIPE, nor does it try for ever.
BOOST_AUTO_TEST_CASE(a_reader_who_has_gone_is_nobody)
{
    background_writer out{ends[1], count};
    close(ends[0]);
    out.write("one\n");
    out.write("two\n");
    out.flush(patience);
    BOOST_TEST(out.idle());
}

// As one on a disk that was full for a while.
BOOST_AUTO_TEST_CASE(a_line_that_was_cut_off_ends_before_the_next_one)
{
    const temporary_directory files;
    const auto name = files.path() + "/lines";
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    background_writer out{file, count};
    ::rlimit limit{};
    BOOST_REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
    auto few = limit;
    few.rlim_cur = 4;
    BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &few) == 0);
    out.write("cut off\n");
    out.write("none\n");
    out.flush(patience);
    BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    BOOST_TEST(out.fault() == EFBIG);
    out.write("next\n");
    out.flush(patience);
    std::ifstream in{name};
    BOOST_TEST((std::string{std::istreambuf_iterator{in}, {}}) == "cut \n(2)\nnext\n");
    ::close(file);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::background_writer_test
