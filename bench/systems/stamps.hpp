// A file in memory to which one process appends when it has worked, while another reads it: whole numbers of eight bytes,
// nanoseconds of CLOCK_MONOTONIC, in the order of this machine's bytes; zeros after them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

class stamps {
public:
    // A fresh file with room for so many: 13,000 a second for some minutes.
    static void make(const std::string& file);

    // Maps it. Throws std::system_error.
    explicit stamps(const std::string& file);
    stamps(const stamps&) = delete;
    stamps& operator=(const stamps&) = delete;
    ~stamps();

    // Adds the present time, and pauses for 20 us, which takes some 75 us here. Throws std::runtime_error when the file is full.
    void append();

    // Gives the stamps that are there.
    [[nodiscard]] std::int64_t first() const; // 0: nothing
    [[nodiscard]] std::vector<std::int64_t> all() const;

private:
    std::int64_t* begin_ = nullptr;
    std::size_t size_ = 0;
    std::size_t next_ = 0;
};

// Appends until it is killed, for a minute at most: the command of those who run one under a lock.
void append_stamps(const std::string& file);

} // namespace bench
