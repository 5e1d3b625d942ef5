// Metrics of runs in a file for the textfile collector of Prometheus' node exporter.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::cli {

struct metric_change;

// What happens to one lock in this process is added to what is in the file already, of this path and of others: several
// processes of this machine may use one file. Each change is written under a temporary name beside the file, and renamed. A
// thread does that, for which nobody waits but flush(): a disk may hang. docs/metrics.md has the metrics.
class metrics_file {
public:
    // Starts a thread; therefore after the last fork() that needs a process without threads. `path`: of the lock.
    metrics_file(std::string file, std::string path);
    metrics_file(const metrics_file&) = delete;
    metrics_file& operator=(const metrics_file&) = delete;
    ~metrics_file();

    // A wait for the lock begins.
    void waits();
    void granted();
    // It is held no more.
    void gone();
    void lost();
    // The end of all: `reason` as --json has it, and the status.
    void ended(int status, std::string_view reason);

    // Why the file cannot be written: once, until it can be again; else empty.
    [[nodiscard]] std::string take_fault();
    // Gives what is still to be written a moment, and then does the same.
    [[nodiscard]] std::string flush(std::chrono::milliseconds patience);

private:
    struct shared;

    void write(std::vector<metric_change> changes);

    std::optional<std::chrono::nanoseconds> waits_since_;
    std::optional<std::chrono::nanoseconds> holds_since_;
    std::shared_ptr<shared> shared_; // with the thread
};

} // namespace colock::cli
