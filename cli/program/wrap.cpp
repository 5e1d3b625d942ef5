#include "program/wrap.hpp"

#include <sstream>

namespace colock::cli {

std::vector<std::string> paragraphs(std::string_view text)
{
    std::vector<std::string> all;
    bool open = false;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const bool as_it_is = line.starts_with(' ');
        if (line.empty()) {
            open = false;
        } else if (open && !as_it_is) {
            all.back() += ' ';
            all.back() += line;
        } else {
            all.emplace_back(line);
            open = !as_it_is;
        }
    }
    return all;
}

std::string wrapped(std::string_view text, std::size_t indent, std::string_view before)
{
    std::string out{before};
    std::size_t column = before.size();
    if (column > 0 && column >= indent) {
        out += '\n';
        column = 0;
    }
    out.append(indent - column, ' ');
    column = indent;

    std::istringstream words{std::string{text}};
    std::string word;
    while (words >> word) {
        if (column > indent && column + 1 + word.size() > line_width) {
            out += '\n' + std::string(indent, ' ');
            column = indent;
        }
        if (column > indent) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
    }
    return out + '\n';
}

} // namespace colock::cli
