#include "systems/peer.hpp"

#include "interruption.hpp"

#include <unistd.h>

#include <exception>
#include <fstream>
#include <iterator>
#include <sstream>

namespace bench {

namespace {

// What no answer takes longer than, however many wait in a queue.
constexpr std::chrono::minutes patience{5};

std::vector<std::string> command_line(const lock_system& s, const std::string& hosts,
                                      const peer_options& options)
{
    auto line = launch_command(s, options.self);
    if (line.empty()) {
        throw peer_failed{std::string{s.name} + " is not there: ./dev bench builds the peers"};
    }
    line.insert(line.begin(), options.launcher.begin(), options.launcher.end());
    line.push_back(hosts);
    line.push_back(std::to_string(options.session_timeout.count()));
    return line;
}

} // namespace

peer::peer(const lock_system& s, const std::string& hosts, const peer_options& options)
    : name_{s.name}, process_{command_line(s, hosts, options),
                              {.environment = options.environment,
                               .capture_output = true,
                               .output_file = options.log,
                               .open_input = true}}
{
}

void peer::wait_until_ready()
{
    const auto first = line();
    if (first != "ready") {
        throw peer_failed{name_ + ": " + first};
    }
}

void peer::send(const std::string& command)
{
    check_interruption();
    if (!process_.write_input(command + '\n')) {
        throw peer_failed{name_ + " has ended"};
    }
}

std::string peer::answer(const std::string& word)
{
    return rest_of(line(), word);
}

std::string peer::ask(const std::string& command, const std::string& word)
{
    send(command);
    return answer(word);
}

double peer::round_trip()
{
    return numbers(ask("reads 10", "reads")).at(0);
}

processor_use peer::processor() const
{
    std::ifstream file{"/proc/" + std::to_string(process()) + "/stat"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    // PID (NAME) STATE and ten numbers stand before; a name may contain anything.
    std::istringstream fields{text.substr(text.rfind(')') + 1)};
    std::string skipped;
    for (int i = 0; i != 11; ++i) {
        fields >> skipped;
    }
    double user = 0;
    double system = 0;
    if (!(fields >> user >> system)) {
        throw peer_failed{name_ + " has ended"};
    }
    const double tick = 1e6 / static_cast<double>(::sysconf(_SC_CLK_TCK));
    return {user * tick, system * tick};
}

std::optional<std::string> peer::answer_within(const std::string& word,
                                               std::chrono::milliseconds limit)
{
    const auto text = process_.read_line(limit);
    return text ? std::optional{rest_of(*text, word)} : std::nullopt;
}

void peer::kill()
{
    process_.kill();
}

void peer::stop()
{
    process_.stop();
}

void peer::resume()
{
    process_.resume();
}

std::string peer::rest_of(const std::string& text, const std::string& word) const
{
    if (text == word) {
        return {};
    }
    if (!text.starts_with(word + ' ')) {
        throw peer_failed{name_ + ": " + text};
    }
    return text.substr(word.size() + 1);
}

std::string peer::line()
{
    auto text = process_.read_line(patience);
    if (!text) {
        throw peer_failed{name_ + (process_.running() ? " does not answer" : " has ended")};
    }
    return *text;
}

peer_group::peer_group(const lock_system& s, const std::string& hosts, const peer_options& options,
                       int processes)
{
    for (int i = 0; i != processes; ++i) {
        all_.push_back(std::make_unique<peer>(s, hosts, options));
    }
    for (auto& p : all_) {
        p->wait_until_ready();
    }
}

long peer_group::turns(const std::string& command, int processes,
                       const std::function<void()>& meanwhile)
{
    const auto end = all_.begin() + processes;
    for (auto p = all_.begin(); p != end; ++p) {
        (*p)->send(command);
    }
    meanwhile();
    long sum = 0;
    answers_of(processes, "turns", [&](const std::string& text) { sum += std::stol(text); });
    return sum;
}

void peer_group::cycle(const std::string& path, int count)
{
    for (std::size_t i = 0; i != all_.size(); ++i) {
        all_[i]->send("cycles " + path + std::to_string(i) + ' ' + std::to_string(count));
    }
    answers_of(static_cast<int>(all_.size()), "cycles", [](const std::string&) {});
}

void peer_group::each(const std::string& command, const std::string& word)
{
    for (auto& p : all_) {
        p->send(command);
    }
    answers_of(static_cast<int>(all_.size()), word, [](const std::string&) {});
}

// Of all of them, also when one fails: the next answer that is read shall be that to the next command.
void peer_group::answers_of(int processes, const std::string& word,
                            const std::function<void(const std::string&)>& use)
{
    std::exception_ptr first;
    for (auto p = all_.begin(); p != all_.begin() + processes; ++p) {
        try {
            use((*p)->answer(word));
        } catch (const std::exception&) {
            first = first ? first : std::current_exception();
        }
    }
    if (first) {
        std::rethrow_exception(first);
    }
}

std::vector<double> numbers(const std::string& text)
{
    std::istringstream in{text};
    std::vector<double> all;
    for (double value = 0; in >> value;) {
        all.push_back(value);
    }
    return all;
}

} // namespace bench
