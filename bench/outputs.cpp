#include "outputs.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace bench {

namespace {

constexpr auto first_line =
    "# files of a report of colock_bench, which the next one of its name replaces";

} // namespace

outputs::outputs(std::filesystem::path json) : json_{std::filesystem::absolute(std::move(json))}
{
}

std::filesystem::path outputs::beside(const std::string& end) const
{
    return json_.parent_path() / (json_.stem().string() + end);
}

std::vector<std::filesystem::path> outputs::listed() const
{
    std::vector<std::filesystem::path> all;
    std::ifstream in{list()};
    std::string line;
    if (!std::getline(in, line)) {
        return all;
    }
    if (line != first_line) {
        throw std::runtime_error{list().string() +
                                 " is no list of a report's files; give --json another name"};
    }
    while (std::getline(in, line)) {
        const auto name = std::filesystem::path{line}.filename();
        if (!name.empty() && name != "." && name != "..") {
            all.push_back(json_.parent_path() / name);
        }
    }
    return all;
}

void outputs::begin()
{
    std::error_code failed; // of making the directory; writing the list tells
    std::filesystem::create_directories(json_.parent_path(), failed);
    const auto earlier = listed();
    made_ = {page(), log()};
    for (const auto& each : {page(), log(), beside(".gnuplot")}) {
        if (std::filesystem::exists(each) && std::ranges::find(earlier, each) == earlier.end()) {
            throw std::runtime_error{each.string() +
                                     " is there, and is no file of an earlier "
                                     "report; move it, or give --json another name"};
        }
    }
    for (const auto& each : earlier) {
        std::filesystem::remove(each);
    }
    write_list();
}

std::filesystem::path outputs::add_script()
{
    made_.push_back(beside(".gnuplot"));
    write_list();
    return made_.back();
}

std::filesystem::path outputs::picture(const std::string& subject)
{
    const auto file = beside('-' + subject + ".svg");
    if (std::filesystem::exists(file)) {
        return {};
    }
    made_.push_back(file);
    write_list();
    return file;
}

void outputs::write_list() const
{
    std::ofstream out{list()};
    out << first_line << '\n';
    for (const auto& each : made_) {
        out << each.filename().string() << '\n';
    }
    if (!out.flush()) {
        throw std::runtime_error{"cannot write " + list().string()};
    }
}

} // namespace bench
