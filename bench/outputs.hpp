// The files of a report: its figures as JSON, and beside them, named after it, what is made of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace bench {

// Beside `DIR/NAME.json`: NAME.md for people, NAME.log of servers and libraries, NAME-*.svg, NAME.gnuplot that draws
// them, and NAME.files, which lists all of these. What exists already and is not listed is not touched.
class outputs {
public:
    explicit outputs(std::filesystem::path json);

    // Removes those of the earlier report of this name. Throws std::runtime_error when a file of another origin is in
    // the way, before it has removed any.
    void begin();

    [[nodiscard]] const std::filesystem::path& json() const noexcept { return json_; }
    [[nodiscard]] std::filesystem::path page() const { return beside(".md"); }
    [[nodiscard]] std::filesystem::path log() const { return beside(".log"); }

    // The file that draws the pictures.
    [[nodiscard]] std::filesystem::path add_script();
    // The file of a picture. Empty when there is one of another origin.
    [[nodiscard]] std::filesystem::path picture(const std::string& subject);

private:
    [[nodiscard]] std::filesystem::path beside(const std::string& end) const;
    [[nodiscard]] std::filesystem::path list() const { return beside(".files"); }
    [[nodiscard]] std::vector<std::filesystem::path> listed() const;
    void write_list() const;

    std::filesystem::path json_;
    std::vector<std::filesystem::path> made_;
};

} // namespace bench
