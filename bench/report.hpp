// What a run has measured: a table for people, JSON for programs.
#pragma once

#include <string>
#include <vector>

namespace bench {

// One figure over the rounds of a run.
struct figure {
    std::string scenario;
    std::string system;
    double rtt_ms = 0;
    int clients = 1;
    int servers = 1;
    std::string metric;
    std::string unit;
    std::vector<double> rounds; // one value each, at least one

    [[nodiscard]] double median() const;
    [[nodiscard]] double min() const;
    [[nodiscard]] double max() const;
};

class report {
public:
    // Prints the figure, and keeps it.
    void add(figure f);

    // The figure with these properties; nullptr when it was not measured.
    [[nodiscard]] const figure* find(const std::string& scenario, const std::string& system,
                                     double rtt_ms, int clients, const std::string& metric) const;

    // Throws std::runtime_error when the file cannot be written.
    void write_json(const std::string& path) const;

private:
    std::vector<figure> figures_;
};

} // namespace bench
