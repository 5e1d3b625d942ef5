// The real program `colock`, on pipes.
#ifndef COLOCK_TEST_CLI_COLOCK_PROCESS_HPP
#define COLOCK_TEST_CLI_COLOCK_PROCESS_HPP

#include <support/admin_session.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test {

inline std::string file_text(const std::string& file)
{
    std::ifstream in{file};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

inline std::vector<std::string> lines_of(const std::string& text)
{
    std::vector<std::string> lines;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// A pipe that is full. Whoever writes to it is blocked until `read_all()`.
class full_pipe {
public:
    full_pipe()
    {
        ::mkfifo(path().c_str(), 0600);
        file_ = ::open(path().c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
        const std::string much(std::size_t{64} * 1024, 'x');
        for (std::size_t size = much.size(); size != 0;) { // in ever smaller pieces
            if (::write(file_, much.data(), size) < 0) {
                size /= 2;
            }
        }
    }
    full_pipe(const full_pipe&) = delete;
    full_pipe& operator=(const full_pipe&) = delete;
    ~full_pipe() { ::close(file_); }

    std::string path() const { return directory_.path() + "/pipe"; }

    /// What has come so far, without what has filled the pipe.
    const std::string& read_all()
    {
        char some[4096];
        ssize_t size = 0;
        while ((size = ::read(file_, some, sizeof some)) > 0) {
            text_.append(some, static_cast<std::size_t>(size));
        }
        text_.erase(0, text_.find_first_not_of('x'));
        return text_;
    }

private:
    temporary_directory directory_;
    std::string text_;
    int file_ = -1;
};

/// A `colock` that runs. Its outputs are files, which may be read at any time.
class colock_process {
public:
    /// `servers` may be empty: then there is no COLOCK_SERVERS.
    colock_process(const std::string& servers, std::vector<std::string> arguments,
                   std::vector<std::string> environment = {},
                   const std::string& program = COLOCK_PROGRAM)
        : process_{words(std::move(arguments)), options(servers, std::move(environment), program)}
    {
    }
    /// Its standard error is this file.
    colock_process(const full_pipe& error, const std::string& servers,
                   std::vector<std::string> arguments)
        : process_{words(std::move(arguments)),
                   options(servers, {"COLOCK_TEST_ERROR=" + error.path()}, COLOCK_PROGRAM)}
    {
    }

    subprocess& process() { return process_; }
    pid_t pid() const { return process_.pid(); }

    /// The exit status; 128 and the number when a signal ended it; -1 when it goes on for too long.
    int status(std::chrono::milliseconds limit = std::chrono::seconds{60})
    {
        const auto ended = process_.wait_for(limit);
        return !ended ? -1 : ended->signal ? 128 + ended->signal : ended->code;
    }

    std::string out() const { return file_text(directory_.path() + "/out"); }
    std::string err() const { return file_text(directory_.path() + "/err"); }

private:
    static std::vector<std::string> words(std::vector<std::string> arguments)
    {
        // A shell puts the outputs into two files, and becomes the program.
        std::vector<std::string> all{"/bin/sh", "-c",
                                     R"(exec "$COLOCK_TEST_PROGRAM" "$@" >"$COLOCK_TEST_OUT/out" )"
                                     R"(2>"${COLOCK_TEST_ERROR:-$COLOCK_TEST_OUT/err}")",
                                     "sh"};
        all.insert(all.end(), arguments.begin(), arguments.end());
        return all;
    }
    subprocess_options options(const std::string& servers, std::vector<std::string> environment,
                               const std::string& program)
    {
        environment.push_back("COLOCK_TEST_PROGRAM=" + program);
        environment.push_back("COLOCK_TEST_OUT=" + directory_.path());
        if (!servers.empty()) {
            environment.push_back("COLOCK_SERVERS=" + servers);
        }
        if (const char* sanitizers = std::getenv("COLOCK_TEST_ASAN_OF_PROGRAM")) {
            environment.push_back(std::string{"ASAN_OPTIONS="} + sanitizers);
        }
        return {.environment = std::move(environment), .open_input = true};
    }

    temporary_directory directory_;
    subprocess process_;
};

/// A `colock` that has ended.
struct colock_result {
    int status = -1;
    std::string out, err;
};

inline colock_result run_colock(const std::string& servers, std::vector<std::string> arguments,
                                std::vector<std::string> environment = {})
{
    colock_process p{servers, std::move(arguments), std::move(environment)};
    const int status = p.status();
    return {status, p.out(), p.err()};
}

/// The nodes in a lock's directory. There are none when the servers have removed the directory, which they may do at any
/// moment once it is empty.
inline std::size_t queue_length(admin_session& admin, const std::string& path)
{
    constexpr int no_node = -101;
    try {
        return admin.children(path).size();
    } catch (const admin_error& e) {
        if (e.code() != no_node) {
            throw;
        }
        return 0;
    }
}

inline bool has(std::string_view text, std::string_view part)
{
    return text.find(part) != text.npos;
}

/// One line that says what is wrong: what a user gets for bad input.
inline bool is_one_line(const std::string& text)
{
    return !text.empty() && text.find('\n') == text.size() - 1;
}

} // namespace colock::test

#endif
