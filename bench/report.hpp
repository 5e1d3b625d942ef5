// What a run has measured: a table for people, JSON for programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

struct circumstances {
    std::string scenario;
    double rtt_ms = 0;
    int clients = 1;
    int servers = 1;

    friend bool operator==(const circumstances&, const circumstances&) = default;
};

// For people, in a line.
[[nodiscard]] std::string text_of(const circumstances& c);

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
    bool in_turns = false;      // each next to that of the others which took turns
    // Of a system in one of several arrangements. That of the best has a figure without this, too.
    bool of_arrangement = false;

    [[nodiscard]] double median() const;
    [[nodiscard]] double min() const;
    [[nodiscard]] double max() const;
};

class report {
public:
    // Prints the figure, and keeps it.
    void add(figure f);
    // Keeps it without a word.
    void keep(figure f) { figures_.push_back(std::move(f)); }

    // Prints and keeps a sentence about what was measured, or why it was not. Once, however often.
    void remark(std::string text);

    // A remark about what should have been measured: the run has failed.
    void fail(std::string text);
    [[nodiscard]] bool failed() const { return failed_; }

    // What all systems have in common that are compared.
    struct heading {
        circumstances where;
        std::string metric;

        friend bool operator==(const heading&, const heading&) = default;
    };
    [[nodiscard]] static heading heading_of(const figure& f);

    // The figure of that system; nullptr when it was not measured.
    [[nodiscard]] const figure* find(const heading& h, const std::string& system) const;

    [[nodiscard]] const std::vector<figure>& figures() const { return figures_; }
    [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }

    // Throws std::runtime_error when the file cannot be written.
    void write_json(const std::string& path) const;

private:
    std::vector<figure> figures_;
    std::vector<std::string> remarks_;
    bool failed_ = false;
};

// Whether more of it is better: rates.
[[nodiscard]] bool more_is_better(const std::string& unit);

} // namespace bench
