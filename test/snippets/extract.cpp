// Collects the C++ that is shown in Markdown and in the comments of headers, as one source that can be compiled.
//
//     extract_snippets ROOT OUTPUT FILE...        files are named below ROOT
//
// CONTRIBUTING.md tells how a snippet is written.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct snippet {
    std::string file;
    std::size_t first_line = 0; // in the file
    std::string marker;         // what stands on the line before it
    std::vector<std::string> lines;

    std::string place() const { return file + ':' + std::to_string(first_line); }

    std::string text() const
    {
        std::string all;
        for (const auto& line : lines) {
            all += line + '\n';
        }
        return all;
    }

    bool has(std::string_view what) const { return text().find(what) != std::string::npos; }

    // A function's body begins with a brace of its own line.
    bool declares() const { return std::ranges::find(lines, "{") != lines.end(); }
};

std::string content_of(const fs::path& path)
{
    std::ifstream in{path};
    if (!in) {
        throw std::runtime_error{"cannot read " + path.string()};
    }
    return {std::istreambuf_iterator<char>{in}, {}};
}

// Of a comment, what is in it; nothing for any other line of a header.
std::string_view without_comment(std::string_view line)
{
    const auto begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos || !line.substr(begin).starts_with("///")) {
        return {};
    }
    line.remove_prefix(begin + 3);
    line.remove_prefix(line.starts_with(' ') ? 1 : 0);
    return line;
}

std::vector<snippet> snippets_of(const fs::path& root, const std::string& file)
{
    std::vector<snippet> found;
    std::istringstream in{content_of(root / file)};
    const bool header = file.ends_with(".hpp");
    bool inside = false;
    std::string before;
    std::size_t number = 0;
    for (std::string whole; std::getline(in, whole);) {
        ++number;
        const std::string line{header ? without_comment(whole) : std::string_view{whole}};
        if (!inside && line == "```cpp") {
            inside = true;
            found.push_back({file, number + 1, before, {}});
        } else if (inside && line == "```") {
            inside = false;
        } else if (inside) {
            found.back().lines.push_back(line);
        }
        before = line;
    }
    if (inside) {
        throw std::runtime_error{found.back().place() + ": this snippet has no end"};
    }
    return found;
}

// A whole program is one of the examples, which are built and run.
void check_program(const fs::path& root, const snippet& s)
{
    constexpr std::string_view begin = "<!-- ", end = " -->";
    std::string_view name = s.marker;
    if (!name.starts_with(begin) || !name.ends_with(end)) {
        throw std::runtime_error{s.place() + ": a program needs a line before it that names the "
                                             "example that it shows: <!-- examples/NAME.cpp -->"};
    }
    name.remove_prefix(begin.size());
    name.remove_suffix(end.size());
    if (s.text() != content_of(root / name)) {
        throw std::runtime_error{s.place() + ": this is not " + std::string{name} + " as it is"};
    }
}

// A part of an example is shown as it stands there: <!-- from examples/NAME.cpp -->.
bool is_part_of_example(const fs::path& root, const snippet& s)
{
    constexpr std::string_view begin = "<!-- from ", end = " -->";
    std::string_view name = s.marker;
    if (!name.starts_with(begin) || !name.ends_with(end)) {
        return false;
    }
    name.remove_prefix(begin.size());
    name.remove_suffix(end.size());
    if (content_of(root / name).find(s.text()) == std::string::npos) {
        throw std::runtime_error{s.place() + ": this is no part of " + std::string{name} +
                                 " as it is"};
    }
    return true;
}

void write(std::ostream& out, const fs::path& root, const std::vector<snippet>& all)
{
    out << "#include \"surroundings.hpp\"\n";
    for (const auto& s : all) {
        std::ranges::copy_if(s.lines, std::ostream_iterator<std::string>{out, "\n"},
                             [](const auto& line) { return line.starts_with("#include"); });
    }
    std::size_t number = 0;
    for (const auto& s : all) {
        const auto name = "snippet_" + std::to_string(++number);
        out << "\nnamespace " << name << " {\n";
        if (!s.declares()) {
            out << "struct statements : surroundings {\nasio::awaitable<void> run()\n{\n";
        }
        out << "#line " << s.first_line << " \"" << (root / s.file).string() << "\"\n";
        for (const auto& line : s.lines) {
            out << (line.starts_with("#include") ? "" : line) << '\n';
        }
        if (!s.declares()) {
            out << "co_return;\n}\n};\n";
        }
        out << "} // namespace " << name << '\n';
    }
}

} // namespace

int main(int argc, char** argv)
{
    try {
        if (argc < 4) {
            throw std::runtime_error{"usage: extract_snippets ROOT OUTPUT FILE..."};
        }
        const fs::path root{argv[1]};
        std::vector<snippet> all;
        for (int i = 3; i < argc; ++i) {
            for (auto& s : snippets_of(root, argv[i])) {
                if (s.has("int main(")) {
                    check_program(root, s);
                } else if (!is_part_of_example(root, s)) {
                    all.push_back(std::move(s));
                }
            }
        }
        std::ostringstream source;
        write(source, root, all);
        std::ofstream out{argv[2]};
        if (!(out << source.str()).flush()) {
            throw std::runtime_error{std::string{"cannot write "} + argv[2]};
        }
        return EXIT_SUCCESS;
    } catch (const std::exception& e) {
        std::cerr << "extract_snippets: " << e.what() << '\n';
        return EXIT_FAILURE;
    }
}
