#include "report.hpp"

#include "runner.hpp"

#include <boost/json/src.hpp> // header-only: here, and nowhere else

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace bench {

std::string text_of(const circumstances& c)
{
    std::ostringstream text;
    text << c.scenario << ", " << c.rtt_ms << " ms, " << c.clients << " client(s), " << c.servers
         << " server(s)";
    return text.str();
}

double figure::median() const
{
    return bench::median(rounds);
}

double figure::min() const
{
    return *std::ranges::min_element(rounds);
}

double figure::max() const
{
    return *std::ranges::max_element(rounds);
}

void report::add(figure f)
{
    if (figures_.empty()) {
        std::printf("%-12s %-16s %6s %7s %7s  %-36s %10s %10s %10s  %s\n", "scenario", "system",
                    "rtt", "clients", "servers", "metric", "median", "min", "max", "unit");
    }
    std::printf("%-12s %-16s %3g ms %7d %7d  %-36s %10.4g %10.4g %10.4g  %s\n", f.scenario.c_str(),
                f.system.c_str(), f.rtt_ms, f.clients, f.servers, f.metric.c_str(), f.median(),
                f.min(), f.max(), f.unit.c_str());
    std::fflush(stdout);
    keep(std::move(f));
}

void report::remark(std::string text)
{
    if (std::ranges::find(remarks_, text) == remarks_.end()) {
        std::printf("note: %s\n", text.c_str());
        std::fflush(stdout);
        remarks_.push_back(std::move(text));
    }
}

void report::fail(std::string text)
{
    failed_ = true;
    remark(std::move(text));
}

report::heading report::heading_of(const figure& f)
{
    return {{f.scenario, f.rtt_ms, f.clients, f.servers}, f.metric};
}

const figure* report::find(const heading& h, const std::string& system) const
{
    const auto at = std::ranges::find_if(
        figures_, [&](const figure& f) { return f.system == system && heading_of(f) == h; });
    return at != figures_.end() ? &*at : nullptr;
}

bool more_is_better(const std::string& unit)
{
    return unit.ends_with("/s");
}

void report::write_json(const std::string& path) const
{
    std::error_code failed; // of making the directory; opening the file tells
    std::filesystem::create_directories(std::filesystem::path{path}.parent_path(), failed);
    std::ofstream out{path};
    const char* separator = "[\n  ";
    for (const auto& f : figures_) {
        out << separator
            << boost::json::serialize(boost::json::object{{"scenario", f.scenario},
                                                          {"system", f.system},
                                                          {"rtt_ms", f.rtt_ms},
                                                          {"clients", f.clients},
                                                          {"servers", f.servers},
                                                          {"metric", f.metric},
                                                          {"unit", f.unit},
                                                          {"median", f.median()},
                                                          {"min", f.min()},
                                                          {"max", f.max()},
                                                          {"rounds", f.rounds.size()}});
        separator = ",\n  ";
    }
    out << (figures_.empty() ? "[]\n" : "\n]\n");
    if (!out.flush()) {
        throw std::runtime_error{"cannot write " + path};
    }
}

} // namespace bench
