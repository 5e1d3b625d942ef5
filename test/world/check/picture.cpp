#include "picture.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace world::check {

namespace {

constexpr double left_margin = 110;
constexpr double lane_height = 46;
constexpr double pixels_a_second = 60;

constexpr std::array colours = {"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                "#66ccee", "#aa3377", "#bbbbbb", "#994411"};

std::string escaped(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        default: out += c;
        }
    }
    return out;
}

double seconds(instant when)
{
    return std::chrono::duration<double>{when}.count();
}

class drawing {
public:
    drawing(std::ostream& out, const journal& notes) : out_{out}, notes_{notes}
    {
        // Lanes in the order in which the machines came into the world.
        for (journal::actor a = 0; a < notes.actors(); ++a) {
            if (notes.lane_of(a) == a) {
                lanes_.emplace(a, lanes_.size());
            }
        }
        end_ = notes.entries().empty() ? instant{0} : notes.entries().back().when;
    }

    void draw()
    {
        const double width = left_margin + seconds(end_) * pixels_a_second + 40;
        const double height = static_cast<double>(lanes_.size()) * lane_height + 40;
        out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\""
             << height << "\" font-family=\"sans-serif\" font-size=\"11\">\n"
             << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
        frame(width, height);
        for (const auto& e : notes_.entries()) {
            show(e);
        }
        for (const auto& [number, begun] : open_) {
            bar(number, begun, end_);
        }
        out_ << "</svg>\n";
    }

private:
    struct beginning {
        instant when;
        journal::actor who;
        std::string text;
    };

    [[nodiscard]] static double x(instant when)
    {
        return left_margin + seconds(when) * pixels_a_second;
    }
    [[nodiscard]] double y(journal::actor who) const
    {
        return 24 + static_cast<double>(lanes_.at(notes_.lane_of(who))) * lane_height;
    }

    void frame(double width, double height)
    {
        for (int s = 0; s <= static_cast<int>(seconds(end_)); ++s) {
            const auto at = x(std::chrono::seconds{s});
            out_ << "<line x1=\"" << at << "\" x2=\"" << at << "\" y1=\"18\" y2=\"" << height - 10
                 << "\" stroke=\"" << (s % 10 == 0 ? "#999" : "#eee") << "\"/>";
            if (s % 5 == 0) {
                out_ << "<text x=\"" << at << "\" y=\"12\">" << s << " s</text>";
            }
            out_ << '\n';
        }
        for (const auto& [who, lane] : lanes_) {
            out_ << "<text x=\"4\" y=\"" << y(who) + 20 << "\">" << escaped(notes_.name_of(who))
                 << "</text><line x1=\"0\" x2=\"" << width << "\" y1=\"" << y(who) + lane_height - 6
                 << "\" y2=\"" << y(who) + lane_height - 6 << "\" stroke=\"#ccc\"/>\n";
        }
    }

    void show(const journal::entry& e)
    {
        switch (e.what) {
        case deed::granted: open_[e.subject] = {e.when, e.who, e.text}; return;
        case deed::let_go:
            if (const auto it = open_.find(e.subject); it != open_.end()) {
                bar(it->first, it->second, e.when);
                open_.erase(it);
            }
            return;
        case deed::destroyed:
        case deed::killed:
            for (auto it = open_.begin(); it != open_.end();) {
                if (notes_.lane_of(it->second.who) == notes_.lane_of(e.who)) {
                    bar(it->first, it->second, e.when);
                    it = open_.erase(it);
                } else {
                    ++it;
                }
            }
            mark(e, "#cc0000");
            return;
        case deed::lost:
        case deed::by_hand:
        case deed::stopped:
        case deed::paused:
        case deed::trouble: mark(e, "#cc0000"); return;
        case deed::started:
        case deed::resumed:
        case deed::calm: mark(e, "#008800"); return;
        case deed::session_expired: mark(e, "#cc7700"); return;
        case deed::violation:
            out_ << "<line x1=\"" << x(e.when) << "\" x2=\"" << x(e.when)
                 << "\" y1=\"0\" y2=\"100%\" stroke=\"red\" stroke-width=\"2\"><title>" << text(e)
                 << "</title></line>\n";
            return;
        default: return;
        }
    }

    void bar(std::int64_t number, const beginning& from, instant to)
    {
        // Those of one path have one colour.
        const auto path = from.text.substr(0, from.text.find(' '));
        const auto it = colours_.try_emplace(path, colours_.size()).first;
        const auto level = static_cast<double>(number % 3);
        out_ << "<rect x=\"" << x(from.when) << "\" y=\"" << y(from.who) + 4 + 9 * level
             << "\" width=\"" << std::max(0.7, x(to) - x(from.when)) << "\" height=\"8\" fill=\""
             << colours[it->second % colours.size()] << "\"><title>"
             << escaped(notes_.name_of(from.who) + " #" + std::to_string(number) + " " + from.text)
             << ", " << text_of(from.when) << " to " << text_of(to) << "</title></rect>\n";
    }

    void mark(const journal::entry& e, const char* colour)
    {
        const auto top = y(e.who) + 32;
        out_ << "<path d=\"M" << x(e.when) << ' ' << top << " l4 7 h-8 z\" fill=\"" << colour
             << "\"><title>" << text(e) << "</title></path>\n";
    }

    [[nodiscard]] std::string text(const journal::entry& e) const
    {
        return escaped(text_of(e.when) + " " + notes_.name_of(e.who) + " " +
                       std::string{name(e.what)} + " " + e.text);
    }

    std::ostream& out_;
    const journal& notes_;
    std::map<journal::actor, std::size_t> lanes_;
    std::map<std::int64_t, beginning> open_; // holds
    std::map<std::string, std::size_t> colours_;
    instant end_{};
};

} // namespace

void draw(std::ostream& out, const journal& notes)
{
    drawing{out, notes}.draw();
}

} // namespace world::check
