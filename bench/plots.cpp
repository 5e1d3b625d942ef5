#include "plots.hpp"

#include <support/subprocess.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

namespace bench {

namespace {

// What shares a picture.
struct subject {
    std::string scenario;
    std::string metric;
    double rtt_ms;
    int servers;

    friend auto operator<=>(const subject&, const subject&) = default;
};

using figures = std::vector<const figure*>;

std::string quoted(const std::string& text)
{
    return '"' + text + '"';
}

std::string number(double value)
{
    auto text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

std::string subject_name(const subject& s)
{
    auto name = s.scenario + '-' + s.metric + '-' + number(s.rtt_ms) + "ms";
    if (s.servers != 1) {
        name += "-ensemble" + std::to_string(s.servers);
    }
    std::ranges::replace_if(
        name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; }, '-');
    name.erase(
        std::unique(name.begin(), name.end(), [](char x, char y) { return x == '-' && y == '-'; }),
        name.end());
    return name;
}

std::map<std::string, figures> by_system(const figures& all)
{
    std::map<std::string, figures> systems;
    for (const auto* f : all) {
        systems[f->system].push_back(f);
    }
    return systems;
}

std::string head(const subject& s, const figures& all, const std::string& path)
{
    const auto title = s.scenario + ": " + s.metric + ", round trip " + number(s.rtt_ms) + " ms, " +
                       std::to_string(s.servers) + " server(s)";
    return "reset\nset terminal svg size 800,500 noenhanced background 'white'\nset output " +
           quoted(path) + "\nset title " + quoted(title) + "\nset ylabel " +
           quoted(all.front()->unit) + "\nset grid ytics\n";
}

// Medians, with the least and the most of the rounds.
std::string lines(const figures& all)
{
    std::string script = "set logscale xy\nset key outside\nset xlabel 'clients'\n";
    std::set<int> clients;
    for (const auto* f : all) {
        clients.insert(f->clients);
    }
    std::string tics;
    for (const int n : clients) {
        tics += (tics.empty() ? "" : ",") + std::to_string(n);
    }
    script += "set xtics (" + tics + ")\nplot ";
    std::string data;
    for (const auto& [system, own] : by_system(all)) {
        script += (data.empty() ? "" : ", ") +
                  std::string{"'-' using 1:2:3:4 with yerrorlines linewidth 2 title "} +
                  quoted(system);
        for (const auto* f : own) {
            data += std::to_string(f->clients) + ' ' + number(f->median()) + ' ' +
                    number(f->min()) + ' ' + number(f->max()) + '\n';
        }
        data += "e\n";
    }
    return script + '\n' + data;
}

std::string bars(const figures& all)
{
    std::string script = "set style fill solid 0.6\nset boxwidth 0.6\nset key off\n"
                         "set yrange [0:*]\nset xrange [-0.5:" +
                         number(double(all.size()) - 0.5) + "]\nset xtics (";
    std::string boxes;
    std::string spread;
    for (std::size_t i = 0; i != all.size(); ++i) {
        const auto at = std::to_string(i);
        script += (i == 0 ? "" : ",") + quoted(all[i]->system) + ' ' + at;
        boxes += at + ' ' + number(all[i]->median()) + '\n';
        spread += at + ' ' + number(all[i]->median()) + ' ' + number(all[i]->min()) + ' ' +
                  number(all[i]->max()) + '\n';
    }
    return script +
           ")\nplot '-' using 1:2 with boxes, '-' using 1:2:3:4 with yerrorbars linecolor "
           "'black'\n" +
           boxes + "e\n" + spread + "e\n";
}

constexpr std::string_view both_work = ": both work"; // of `overlap`, after the name of a trouble

// The worst rounds of all troubles, in one picture.
std::string overlap_picture(const report& r, const std::string& path)
{
    constexpr double least = 0.01; // ms: where the axis begins
    std::vector<std::string> troubles;
    std::map<std::string, std::map<std::string, double>> worst; // by system and trouble
    for (const auto& f : r.figures()) {
        if (f.scenario == "overlap" && f.metric.ends_with(both_work)) {
            const auto trouble = f.metric.substr(0, f.metric.size() - both_work.size());
            if (std::ranges::find(troubles, trouble) == troubles.end()) {
                troubles.push_back(trouble);
            }
            worst[f.system][trouble] = std::max(f.max(), least);
        }
    }
    std::string script =
        "reset\nset terminal svg size 1100,520 noenhanced background 'white'\nset output " +
        quoted(path) +
        "\nset title 'How long the old holder of a lock works beside the next one: "
        "the worst of all rounds, no bar where it never does'\n"
        "set ylabel 'ms'\nset logscale y\nset yrange [0.01:100000]\nset grid ytics\n"
        "set style data histograms\nset style histogram clustered gap 2\n"
        "set style fill solid 0.7\nset key outside\nset xtics rotate by -12\n"
        "set datafile missing '?'\n$overlap << END\n";
    for (const auto& trouble : troubles) {
        script += quoted(trouble);
        for (const auto& [system, values] : worst) {
            const auto at = values.find(trouble);
            script += ' ' + (at != values.end() ? number(at->second) : "?");
        }
        script += '\n';
    }
    script += "END\nplot ";
    int column = 2;
    for (const auto& [system, values] : worst) {
        script += (column == 2 ? "" : ", ") + std::string{"$overlap using "} +
                  std::to_string(column) + ":xtic(1) title " + quoted(system);
        ++column;
    }
    return script + '\n';
}

// What cannot stand on a logarithmic axis is left out.
bool positive(const figures& all)
{
    return std::ranges::all_of(all, [](const figure* f) { return f->min() > 0; });
}

} // namespace

void draw_plots(report& r, outputs& files)
{
    const auto gnuplot = colock::test::find_program("gnuplot");
    if (gnuplot.empty()) {
        r.remark("no plots: there is no gnuplot (Debian: gnuplot-nox)");
        return;
    }
    std::map<subject, figures> subjects;
    bool has_overlap = false;
    for (const auto& f : r.figures()) {
        if (f.unit == "ratio" || f.of_arrangement) {
            continue; // of figures that have a picture already
        }
        if (f.scenario == "overlap") {
            has_overlap = true;
            continue; // in one picture
        }
        subjects[{f.scenario, f.metric, f.rtt_ms, f.servers}].push_back(&f);
    }
    const auto script = files.add_script().string();
    {
        std::ofstream out{script};
        for (const auto& [s, all] : subjects) {
            std::set<int> clients;
            for (const auto* f : all) {
                clients.insert(f->clients);
            }
            if (by_system(all).size() < 2 && clients.size() < 3) {
                continue; // nothing to compare
            }
            if (clients.size() != 1 && !positive(all)) {
                continue;
            }
            const auto path = files.picture(subject_name(s)).string();
            if (path.empty()) {
                r.remark("no picture of " + subject_name(s) +
                         ": a file of that name is there, and of another origin");
                continue;
            }
            out << head(s, all, path) << (clients.size() == 1 ? bars(all) : lines(all));
        }
        if (has_overlap) {
            if (const auto path = files.picture("overlap").string(); !path.empty()) {
                out << overlap_picture(r, path);
            }
        }
    }
    colock::test::subprocess drawing{{gnuplot, script}};
    if (!drawing.wait().success()) {
        r.remark("some plots are missing: gnuplot failed on " + script);
    }
}

} // namespace bench
