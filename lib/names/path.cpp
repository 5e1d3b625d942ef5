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
    const char* fault = detail::text_fault(path);
    if (fault == nullptr) {
        fault = detail::fault_of_names(path, sequential);
    }
    return fault != nullptr ? fault : "";
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
