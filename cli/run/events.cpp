#include "run/events.hpp"

#include <colock/log.hpp>

#include "connect/duration.hpp"
#include "names/lock_kind.hpp"
#include "program/failure.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

namespace colock::cli {

namespace json = boost::json;

namespace {

// For a reader who reads. One that does not, such as a terminal that is stopped, delays what comes next by no more than this.
constexpr auto before_the_next = std::chrono::milliseconds{250};
constexpr auto before_the_end = std::chrono::seconds{1};
// Where there is no terminal: the first line of a wait, and the least time until the next one, which comes later and later.
constexpr std::chrono::milliseconds first_wait_line = std::chrono::seconds{5};
constexpr std::chrono::milliseconds second_wait_line = std::chrono::minutes{10};
constexpr std::chrono::milliseconds next_status =
    std::chrono::seconds{30}; // servers bear that from all that stand by

std::size_t width()
{
    ::winsize size{};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

std::string holder_name(const queue_entry& e)
{
    const auto owner = e.owner();
    if (owner.host) {
        return *owner.host + ':' + std::to_string(*owner.pid) + " (" + *owner.program + ')';
    }
    constexpr std::size_t most = 60;
    return e.unreadable                       ? "somebody whose node cannot be read"
           : owner.text == revocation_request ? "somebody who was asked to release it"
                                              : printable(owner.text, most);
}

std::string place(std::optional<std::size_t> before, std::size_t all)
{
    if (!before) {
        return "in a queue of " + std::to_string(all);
    }
    return *before == 1 ? "next in the queue" : std::to_string(*before) + " before this one";
}

// In UTF-8.
bool continues_character(char c)
{
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// In one line of the terminal, if need be without the beginning of the path.
std::string line_of(const std::string& before, std::string path, const std::string& behind,
                    std::size_t width)
{
    constexpr std::size_t least = 8;
    const auto all = before.size() + path.size() + behind.size();
    if (all > width && path.size() > least) {
        auto from = std::min(all - width + 3, path.size() - least);
        while (from != path.size() && continues_character(path[from])) {
            ++from;
        }
        path = "..." + path.substr(from);
    }
    auto line = before + path + behind;
    auto end = std::min(line.size(), width);
    while (end != 0 && end != line.size() && continues_character(line[end])) {
        --end;
    }
    line.resize(end);
    return line;
}

// A job in the background leaves the terminal alone.
bool in_background()
{
    const pid_t there = ::tcgetpgrp(STDERR_FILENO);
    return there > 0 && there != ::getpgrp();
}

// A clock of the server that is ahead gives no negative time.
std::chrono::nanoseconds age(const queue_entry& e)
{
    return std::max(std::chrono::nanoseconds{0},
                    std::chrono::nanoseconds{std::chrono::system_clock::now() - e.since});
}

} // namespace

std::string words_on_holder(const queue_entry& e)
{
    return printable(holder_name(e)) + ", " + std::string{words_before_age(e.name)} + shown(age(e));
}

events::events(std::string command, std::string path, const report_terms& how,
               service_manager manager)
    : command_{std::move(command)}, path_{std::move(path)}, how_{how}, manager_{std::move(manager)},
      wait_line_{first_wait_line, {}}
{
    manager_.status("connecting, for " + path_);
    if (how.json || how.events >= 0) {
        lines_.emplace(how.json ? STDERR_FILENO : how.events, path_);
    }
    if (!how.json) {
        out_.emplace(STDERR_FILENO, [name = command_](std::size_t dropped) {
            return name + ": " + std::to_string(dropped) + (dropped == 1 ? " line" : " lines") +
                   " could not be written here\n";
        });
    }
    if (!how.metrics.empty()) {
        metrics_.emplace(how.metrics, path_);
    }
}

std::optional<std::chrono::milliseconds> events::next_look() const noexcept
{
    if (lines_ || (on_terminal() && !how_.quiet)) {
        return std::chrono::seconds{1};
    }
    return manager_ || (!how_.quiet && how_.tells_wait) ? std::optional{wait_line_.pause}
                                                        : std::nullopt;
}

void events::waits(bool is_try)
{
    if (metrics_) {
        metrics_->waits();
        tell_fault(metrics_->take_fault());
    }
    last_wait_.reset();
    wait_line_.pause = first_wait_line;
    wait_line_.begin = wait_line_.last = std::chrono::steady_clock::now();
    if (lines_) {
        lines_->waits();
    }
    if (!is_try) {
        manager_.status("waiting for " + path_);
        tell("waiting", {{"position", nullptr},
                         {"holder", nullptr},
                         {"holder_node", nullptr},
                         {"in_queue_ms", nullptr}});
    }
}

void events::waiting(const queue_view& queue, std::int64_t own_session)
{
    const auto& all = queue.entries;
    if (queue.holders().empty() || queue.holders().front().unread) {
        return; // about to be granted
    }
    const auto& holder = queue.holders().front();
    const auto own = std::ranges::find_if(all, [&](const queue_entry& e) {
        return !e.holds && !e.unread && e.session == own_session;
    });
    std::optional<std::size_t> before;
    if (own != all.end()) {
        before = static_cast<std::size_t>(own - all.begin());
    } else if (!all.back().unread) {
        return; // not there yet
    }
    waiting_as_json(holder, before);
    const auto rest = ": " + place(before, all.size()) + "; held by " + words_on_holder(holder);
    if (manager_) {
        manager_.status("waiting for " + path_ + rest);
        wait_line_.pause = next_status;
    }
    if (how_.quiet || !out_) {
        return;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!on_terminal()) { // machines may have asked for this look
        if (how_.tells_wait && !manager_ && now - wait_line_.last >= wait_line_.pause) {
            wait_line_.pause = std::max(second_wait_line, 2 * wait_line_.pause);
            wait_line_.last = now;
            words("waiting for " + path_ + rest);
        }
    } else { // what changes comes first, for the end may be cut off
        draw("waiting " + shown(now - wait_line_.begin) + " for ", rest);
    }
}

void events::draw(const std::string& before, const std::string& behind)
{
    if (!in_background() && out_->idle()) { // else the next one is newer
        out_->write("\r\033[K" + line_of(before, printable(path_), behind, width() - 1));
        shows_wait_ = true;
    }
}

void events::waits_in_outage(std::chrono::nanoseconds so_far)
{
    const std::string text = "no server answers; this one waits on";
    if (so_far == std::chrono::nanoseconds{0}) {
        wait_line_.tells_outage = false;
        last_wait_.reset(); // a look after the outage names the holder again
        manager_.status(text + ", for " + path_);
        tell("disconnected", {{"text", text}});
    }
    const bool is_due = how_.verbose || (!on_terminal() && !how_.quiet && how_.tells_wait &&
                                         !manager_ && so_far >= first_wait_line);
    if (is_due && !std::exchange(wait_line_.tells_outage, true)) {
        words(text + ", for " + path_);
    }
    if (on_terminal() && !how_.quiet && so_far >= std::chrono::seconds{1}) {
        draw("no server answers for " + shown(so_far) + "; waiting for ", {});
    }
}

void events::outage_ended()
{
    const std::string text = "a server answers again";
    manager_.status(text + "; waiting for " + path_);
    tell("connected", {{"text", text}});
    if (std::exchange(wait_line_.tells_outage, false)) {
        words(text);
    } else if (auto wipe = wiped(); !wipe.empty()) {
        out_->write(std::move(wipe));
    }
}

void events::waiting_as_json(const queue_entry& holder, std::optional<std::size_t> before)
{
    auto now = (before ? std::to_string(*before) : "") + holder.path;
    if (lines_ && last_wait_ != now) {
        last_wait_ = std::move(now);
        tell("waiting", {{"position", before ? json::value(*before) : json::value()},
                         {"holder", printable(holder.owner().text)},
                         {"holder_node", holder.path},
                         {"in_queue_ms", age(holder).count() / 1'000'000}});
    }
}

// What takes the wait away from the terminal, if it is there.
std::string events::wiped()
{
    return std::exchange(shows_wait_, false) && !in_background() ? "\r\033[K" : "";
}

bool events::on_terminal() const noexcept
{
    return !how_.json && ::isatty(STDERR_FILENO) == 1;
}

bool events::is_told(importance how) const noexcept
{
    return how == importance::trouble || (!how_.quiet && (how == importance::news || how_.verbose));
}

void events::tell(std::string_view event, json::object fields, shard of)
{
    if (lines_) {
        lines_->write(event, std::move(fields), of);
    }
}

void events::granted(const std::string& node, const std::string& token, shard of)
{
    if (metrics_) {
        metrics_->granted();
        tell_fault(metrics_->take_fault());
    }
    if (lines_) {
        lines_->granted(node, token, of);
    }
    tell("granted", {}, of);
    owes_release_ = owes_release_ || !of;
    if (auto wipe = wiped(); !wipe.empty()) {
        out_->write(std::move(wipe));
    }
    if (is_told(importance::detail)) {
        words("granted: " + printable(node), of);
    }
    if (of) {
        return;
    }
    settle(); // the command writes to the same terminal
}

void events::started(int process, shard of)
{
    if (!of) {
        manager_.ready("holds " + path_ + "; the command is process " + std::to_string(process));
    }
    tell("started", {{"pid", process}}, of);
}

void events::at_risk(std::chrono::nanoseconds remaining)
{
    tell("at_risk", {{"remaining_ms", remaining.count() / 1'000'000}});
    if (is_told(importance::detail)) {
        words("no server answers; the lock is safe for another " + shown(remaining));
    }
}

void events::safe_again(std::chrono::nanoseconds remaining)
{
    tell("safe_again", {{"remaining_ms", remaining.count() / 1'000'000}});
    if (is_told(importance::detail)) {
        words("a server answers again");
    }
}

void events::lost(const std::string& text, shard of)
{
    if (metrics_) {
        metrics_->lost();
    }
    if (lines_) {
        lines_->gone(of);
    }
    owes_release_ = false;
    manager_.status(text);
    tell("lost", {{"text", text}}, of);
    words(text, of);
}

void events::exited(int status, bool by_itself, shard of)
{
    if (of && lines_) {
        lines_->gone(of);
    }
    tell("exited", {{"status", status}, {"by_itself", by_itself}}, of);
    // Of a shard that has moved, it says that this one does not hold it any more.
    if (of ? is_told(by_itself ? importance::news : importance::detail)
           : by_itself && is_told(importance::detail)) {
        words("the command " + (of ? "of shard " + std::to_string(*of) + ' ' : "") +
              "has ended with status " + std::to_string(status));
    }
}

void events::left_behind(int number, const std::string& names, shard of)
{
    json::array processes;
    std::string named;
    std::istringstream lines{names};
    for (std::string line; std::getline(lines, line);) {
        const auto blank = line.find(' ');
        const auto name = printable(line.substr(blank + 1));
        processes.push_back({{"pid", std::atoi(line.c_str())}, {"name", name}});
        named += (named.empty() ? "" : ", ") + line.substr(0, blank) + " (" + name + ')';
    }
    const auto more = number - static_cast<int>(processes.size());
    const auto text = "the command has left " + std::to_string(number) +
                      (number == 1 ? " process" : " processes") + " behind, which " +
                      (number == 1 ? "is" : "are") + " ended: " + named +
                      (more > 0 ? " and " + std::to_string(more) + " more" : "") + "; " +
                      how_.leave.why_not();
    tell("left_behind", {{"text", text}, {"processes", std::move(processes)}}, of);
    words(text, of);
}

void events::released(bool confirmed, const std::string& text)
{
    if (metrics_) {
        metrics_->gone();
        tell_fault(metrics_->take_fault());
    }
    if (lines_) {
        lines_->gone({});
    }
    owes_release_ = false;
    tell("released", {{"confirmed", confirmed}});
    if (!confirmed) {
        words(text);
    } else if (is_told(importance::detail)) {
        words("released");
    }
}

void events::note(const std::string& event, const std::string& text, importance how, shard of)
{
    note(event, text, how, of, json::object{});
}

void events::note(const std::string& event, const std::string& text, importance how, shard of,
                  const json::object& more)
{
    manager_.status(text);
    json::object fields{{"text", text}};
    fields.insert(more.begin(), more.end());
    tell(event, std::move(fields), of);
    if (is_told(how)) {
        words(text, of);
    }
}

void events::tell_fault(const std::string& fault)
{
    if (!fault.empty()) {
        note("warning", fault);
    }
}

void events::note_of_wait(const std::string& event, const std::string& text)
{
    note(event, text, on_terminal() || how_.tells_wait ? importance::news : importance::detail);
}

void events::ended(int status, std::string_view reason, const std::string& text)
{
    manager_.stopping();
    if (metrics_) {
        metrics_->ended(status, reason);
        tell_fault(metrics_->flush(before_the_end));
    }
    tell("ended", {{"status", status}, {"reason", reason}, {"text", text}});
    if (!text.empty()) {
        words(text);
    } else if (auto wipe = wiped(); !wipe.empty()) {
        out_->write(std::move(wipe));
    }
}

void events::words(const std::string& text, shard of)
{
    if (out_) {
        const auto whose = of ? "shard " + std::to_string(*of) + ": " : "";
        out_->write(wiped() + command_ + ": " + printable(whose + text, longest_line) + '\n');
    }
}

void events::settle()
{
    if (out_) {
        out_->flush(before_the_next);
    } else if (how_.json) {
        lines_->flush(before_the_next);
    }
}

void events::finish()
{
    const auto until = std::chrono::steady_clock::now() + before_the_end;
    if (out_) {
        out_->flush(before_the_end);
    }
    if (lines_) {
        lines_->flush(std::chrono::ceil<std::chrono::milliseconds>(
            std::max(until - std::chrono::steady_clock::now(),
                     std::chrono::steady_clock::duration{std::chrono::milliseconds{50}})));
    }
    if (const int fault = out_ && lines_ ? lines_->fault() : 0; fault != 0) {
        words(std::string{"the events could not all be written: "} + std::strerror(fault));
        out_->flush(before_the_end);
    }
}

} // namespace colock::cli
