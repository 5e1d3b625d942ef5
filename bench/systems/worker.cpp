#include "systems/worker.hpp"

#include <support/subprocess.hpp>

#include <sys/types.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace {

using std::chrono::milliseconds;

// With its library, by the command `work`.
class library_worker final : public worker {
public:
    library_worker(const lock_system& s, const std::string& hosts, const peer_options& options,
                   job what)
        : peer_{s, hosts, options}, job_{std::move(what)}
    {
    }

    void wait_until_ready() override { peer_.wait_until_ready(); }
    void begin() override { peer_.send("work " + job_.path + ' ' + job_.file); }

    std::optional<std::string> told() override
    {
        if (unlocking_ && !has_unlocked()) {
            return std::nullopt;
        }
        auto how = peer_.answer_within("lost", milliseconds{0});
        if (how) {
            peer_.send("unlock " + job_.path);
            unlocking_ = true;
        }
        return how;
    }

    [[nodiscard]] pid_t process() const override { return peer_.process(); }

    void stop() override { peer_.stop(); }
    void resume() override { peer_.resume(); }
    void kill() override { peer_.kill(); }

private:
    // Or has failed to, as when the session has ended.
    bool has_unlocked()
    {
        try {
            unlocking_ = !peer_.answer_within("unlocked", milliseconds{0});
        } catch (const peer_failed&) {
            unlocking_ = false;
        }
        return !unlocking_;
    }

    peer peer_;
    const job job_;
    bool unlocking_ = false;
};

pid_t parent_of(const std::filesystem::path& process)
{
    std::ifstream in{process / "stat"};
    std::string text;
    std::getline(in, text, '\0'); // an iterator would throw when the process has just ended
    const auto name_ends = text.rfind(") ");
    // The state is one letter.
    return name_ends == std::string::npos ? 0 : std::atoi(text.c_str() + name_ends + 4);
}

// A program that runs a command under a lock: `append_stamps` in a process of its own.
class command_worker final : public worker {
public:
    command_worker(const lock_system& s, const std::string& hosts, const peer_options& options,
                   job what)
        : hosts_{hosts}, options_{options}, job_{std::move(what)}, etcd_{s.server ==
                                                                         server_kind::etcd}
    {
    }
    ~command_worker() override
    {
        note_descendants();
        // What it has started may have outlived it, and works for a minute.
        signal_all(SIGKILL);
    }
    command_worker(const command_worker&) = delete;
    command_worker& operator=(const command_worker&) = delete;

    void wait_until_ready() override {}

    void begin() override
    {
        told_ = false;
        const auto seconds = std::to_string(options_.session_timeout.count() / 1000);
        std::vector<std::string> command{options_.self, "--stamp", job_.file};
        std::vector<std::string> line;
        auto environment = options_.environment;
        if (etcd_) {
            line = {"etcdctl", "--endpoints=" + hosts_, "lock", "--ttl=" + seconds, "--",
                    job_.path};
            environment.emplace_back("ETCDCTL_API=3");
        } else {
            const auto program = std::filesystem::path{options_.self}.parent_path() / "colock";
            // The usual grace of 3 s wants longer sessions.
            line = {program.string(),    "run",         "--servers", hosts_,
                    "--session-timeout", seconds + "s", "--grace",   "100ms",
                    "--safety-margin",   "350ms",       job_.path,   "--"};
        }
        line.insert(line.begin(), options_.launcher.begin(), options_.launcher.end());
        line.insert(line.end(), command.begin(), command.end());
        process_.emplace(line, colock::test::subprocess_options{.environment = environment,
                                                                .output_file = options_.log});
    }

    std::optional<std::string> told() override
    {
        if (!told_ && !killed_ && process_ && !process_->running()) {
            told_ = true;
            return "its command was ended";
        }
        return std::nullopt;
    }

    [[nodiscard]] pid_t process() const override { return process_ ? process_->pid() : -1; }

    void stop() override
    {
        note_descendants();
        process_->stop();
        signal_all(SIGSTOP);
    }
    void resume() override
    {
        signal_all(SIGCONT);
        process_->resume();
    }
    void kill() override
    {
        note_descendants();
        killed_ = true;
        process_->kill();
    }

private:
    // Children of children, too, as long as their parents live.
    void note_descendants()
    {
        if (!process_ || killed_) {
            return;
        }
        std::set<pid_t> known{process_->pid()};
        for (bool more = true; more;) {
            more = false;
            for (const auto& each : std::filesystem::directory_iterator{"/proc"}) {
                const auto id = std::atoi(each.path().filename().c_str());
                if (id > 0 && known.contains(parent_of(each.path())) && known.insert(id).second) {
                    more = true;
                }
            }
        }
        known.erase(process_->pid());
        descendants_ = std::move(known);
    }
    void signal_all(int number) const
    {
        for (const auto id : descendants_) {
            ::kill(id, number);
        }
    }

    const std::string hosts_;
    const peer_options options_;
    const job job_;
    const bool etcd_;
    std::optional<colock::test::subprocess> process_;
    std::set<pid_t> descendants_;
    bool told_ = false;
    bool killed_ = false;
};

} // namespace

std::unique_ptr<worker> make_worker(const lock_system& s, const std::string& hosts,
                                    const peer_options& options, job what)
{
    if (s.runs_commands) {
        return std::make_unique<command_worker>(s, hosts, options, std::move(what));
    }
    return std::make_unique<library_worker>(s, hosts, options, std::move(what));
}

} // namespace bench
