// The real program `colock`, on pipes.
#ifndef COLOCK_TEST_CLI_COLOCK_PROCESS_HPP
#define COLOCK_TEST_CLI_COLOCK_PROCESS_HPP

#include <support/admin_session.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
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

/// A `colock` that runs. Its outputs are files, which may be read at any time.
class colock_process {
public:
    /// `servers` may be empty: then there is no COLOCK_SERVERS.
    colock_process(const std::string& servers, std::vector<std::string> arguments,
                   std::vector<std::string> environment = {})
        : process_{words(std::move(arguments)), options(servers, std::move(environment))}
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
                                     R"(2>"$COLOCK_TEST_OUT/err")",
                                     "sh"};
        all.insert(all.end(), arguments.begin(), arguments.end());
        return all;
    }
    subprocess_options options(const std::string& servers, std::vector<std::string> environment)
    {
        environment.push_back("COLOCK_TEST_PROGRAM=" COLOCK_PROGRAM);
        environment.push_back("COLOCK_TEST_OUT=" + directory_.path());
        if (!servers.empty()) {
            environment.push_back("COLOCK_SERVERS=" + servers);
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

/// One line that says what is wrong: what a user gets for bad input.
inline bool is_one_line(const std::string& text)
{
    return !text.empty() && text.find('\n') == text.size() - 1;
}

} // namespace colock::test

#endif
