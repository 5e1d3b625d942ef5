#include "names/path.hpp"

#include "names/path_text.hpp"

namespace colock::protocol {

std::string path_fault(std::string_view path, bool sequential)
{
    if (path.empty()) {
        return "is empty; a path begins with '/'";
    }
    if (path.front() != '/') {
        return "does not begin with '/'";
    }
    if (path.size() > max_path_length) {
        return "is longer than " + std::to_string(max_path_length) + " bytes";
    }
    if (path == "/") {
        return {};
    }
    if (const char* const fault = detail::text_fault(path)) {
        return fault;
    }
    std::size_t begin = 1;
    for (;;) {
        const auto end = path.find('/', begin);
        const bool last = end == std::string_view::npos;
        const auto name = path.substr(begin, last ? end : end - begin);
        if (last && sequential) {
            return {}; // digits follow: neither empty nor "."
        }
        if (name.empty()) {
            return last ? "ends in '/'" : "contains \"//\"";
        }
        if (name == "." || name == "..") {
            return "contains \"" + std::string{name} + "\" as a name";
        }
        if (last) {
            return {};
        }
        begin = end + 1;
    }
}

std::string join_path(std::string_view directory, std::string_view name)
{
    std::string path;
    path.reserve(directory.size() + 1 + name.size());
    path += directory;
    if (!directory.ends_with('/')) {
        path += '/';
    }
    path += name;
    return path;
}

std::string_view parent_path(std::string_view path) noexcept
{
    const auto slash = path.rfind('/');
    return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string_view last_name(std::string_view path) noexcept
{
    return path.substr(path.rfind('/') + 1);
}

std::vector<std::string> path_and_ancestors(std::string_view path)
{
    std::vector<std::string> all;
    for (auto slash = path.find('/', 1); slash != std::string_view::npos;
         slash = path.find('/', slash + 1)) {
        all.emplace_back(path.substr(0, slash));
    }
    all.emplace_back(path);
    return all;
}

} // namespace colock::protocol
