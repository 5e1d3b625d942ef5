// The wall clock of programs that are started with the library that is made of shifted_clock.cpp. COLOCK_SHIFTED_CLOCK is its
// path.
#ifndef COLOCK_TEST_SUPPORT_CLOCK_FILE_HPP
#define COLOCK_TEST_SUPPORT_CLOCK_FILE_HPP

#include <sys/types.h>

#include <chrono>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

/// How much later than ours it is there.
class clock_file {
public:
    explicit clock_file(std::string name) : name_{std::move(name)}
    {
        std::ofstream{name_}.write("\0\0\0\0\0\0\0", sizeof(long));
    }

    void set(std::chrono::seconds ahead)
    {
        const long n = ahead.count();
        std::fstream{name_, std::ios::in | std::ios::out | std::ios::binary}.write(
            reinterpret_cast<const char*>(&n), sizeof n);
    }

    /// What a program is started with.
    std::vector<std::string> environment() const
    {
        return {"LD_PRELOAD=" COLOCK_SHIFTED_CLOCK, "COLOCK_TEST_CLOCK=" + name_};
    }

    /// Whether the process has asked this clock for the time: from then on it has the file in its memory.
    bool asked_by(pid_t process) const
    {
        std::ifstream maps{"/proc/" + std::to_string(process) + "/maps"};
        for (std::string line; std::getline(maps, line);) {
            if (line.ends_with(name_)) {
                return true;
            }
        }
        return false;
    }

private:
    std::string name_;
};

} // namespace colock::test

#endif
