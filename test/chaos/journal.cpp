#include "journal.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace chaos {

namespace {

constexpr std::array<std::pair<what, std::string_view>, 14> names{{
    {what::started, "started"},
    {what::quiet, "quiet"},
    {what::closed, "closed"},
    {what::asked, "asked"},
    {what::granted, "granted"},
    {what::refused, "refused"},
    {what::holds, "holds"},
    {what::lapsed, "lapsed"},
    {what::told, "told"},
    {what::untold, "untold"},
    {what::accepted, "accepted"},
    {what::rejected, "rejected"},
    {what::leaving, "leaving"},
    {what::left, "left"},
}};

} // namespace

nanoseconds now()
{
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return nanoseconds{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::string_view name_of(what w)
{
    return std::ranges::find(names, w, [](const auto& n) { return n.first; })->second;
}

std::optional<event> parse(std::string_view line)
{
    std::istringstream words{std::string{line}};
    event e;
    std::string name;
    if (!(words >> e.at >> name >> e.turn)) {
        return std::nullopt;
    }
    const auto* const found =
        std::ranges::find(names, name, [](const auto& n) { return n.second; });
    if (found == names.end()) {
        return std::nullopt;
    }
    e.what = found->first;
    for (std::string word; words >> word;) {
        e.words.push_back(std::move(word));
    }
    return e;
}

journal read_journal(const std::string& file, std::string process, bool is_colock)
{
    journal j{std::move(process), is_colock, {}};
    std::ifstream in{file};
    for (std::string line; std::getline(in, line);) {
        auto e = parse(line);
        if (!e) {
            throw std::runtime_error{"chaos: no line of a journal, in " + file + ": " + line};
        }
        j.events.push_back(std::move(*e));
    }
    return j;
}

journal_writer::journal_writer(const std::string& file)
    : fd_{::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)}
{
    if (fd_ < 0) {
        throw std::runtime_error{"chaos: cannot write " + file};
    }
}

journal_writer::~journal_writer()
{
    ::close(fd_);
}

void journal_writer::write(nanoseconds at, what w, std::uint64_t turn, std::string_view words)
{
    std::ostringstream line;
    line << at << ' ' << name_of(w) << ' ' << turn << (words.empty() ? "" : " ") << words << '\n';
    const auto text = line.str();
    if (::write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        throw std::runtime_error{"chaos: cannot write a journal"};
    }
}

} // namespace chaos
