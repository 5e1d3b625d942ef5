#include "run/metrics_file.hpp"

#include "program/detached_thread.hpp"
#include "program/exit_status.hpp"
#include "program/exposition.hpp"
#include "run/boot_time.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace colock::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct metric_change {
    std::string series;
    double value;
    bool adds;
};

namespace {

constexpr std::array<metric_family, 7> run_families{{
    {"colock_run_outcomes_total", "counter", "How runs of colock have ended."},
    {"colock_run_losses_total", "counter", "Locks that were lost while colock held them."},
    {"colock_run_wait_seconds", "summary", "Waits for locks that were granted."},
    {"colock_run_hold_seconds", "summary", "How long locks were held."},
    {"colock_run_last_grant_timestamp_seconds", "gauge", "When the lock was last granted here."},
    {"colock_run_last_end_timestamp_seconds", "gauge", "When a hold of the lock last ended here."},
    {"colock_run_last_success_timestamp_seconds", "gauge",
     "When a command under the lock last ended with status 0 here."},
}};

constexpr std::array run_outcomes{std::string_view{"succeeded"},
                                  std::string_view{"failed"},
                                  std::string_view{"has_run"},
                                  std::string_view{"held_too_long"},
                                  word_for(lost),
                                  word_for(no_zookeeper),
                                  word_for(refused),
                                  word_for(busy),
                                  word_for(timed_out),
                                  word_for(usage),
                                  guardian_killed,
                                  word_for(not_executable),
                                  word_for(not_found),
                                  word_for(signalled)};

constexpr std::size_t largest = std::size_t{4} * 1024 * 1024; // of a file that is read

double in_seconds(std::chrono::nanoseconds t)
{
    return std::chrono::duration<double>{t}.count();
}

[[noreturn]] void refuse_file(const std::string& what)
{
    throw std::runtime_error{what + ": " + std::strerror(errno)};
}

class metrics_handle {
public:
    metrics_handle(const std::string& name, int flags, ::mode_t mode)
        : number_{::open(name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode)}
    {
        if (number_ < 0 && errno == ELOOP) {
            throw std::runtime_error{name + " is a link; name the file itself"};
        }
        if (number_ < 0) {
            refuse_file("cannot open " + name);
        }
    }
    metrics_handle(const metrics_handle&) = delete;
    metrics_handle& operator=(const metrics_handle&) = delete;
    ~metrics_handle() { ::close(number_); }

    operator int() const noexcept { return number_; }

private:
    int number_;
};

std::string text_in(int file, const std::string& name)
{
    std::string text;
    char some[16'384];
    ssize_t size = 0;
    while ((size = ::read(file, some, sizeof some)) > 0) {
        text.append(some, static_cast<std::size_t>(size));
        if (text.size() > largest) {
            throw std::runtime_error{name + " is too large"};
        }
    }
    if (size < 0) {
        refuse_file("cannot read " + name);
    }
    return text;
}

void check_is_own(std::string_view text, const std::string& name)
{
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!line.empty() && !line.starts_with('#') && !line.starts_with("colock_run_")) {
            throw std::runtime_error{
                name + " has lines that --metrics has not written; give it a file of its own"};
        }
    }
}

// Whoever has the lock on the file that has this name now may replace it. False when another file has the name meanwhile.
bool claim(int file, const std::string& name)
{
    const auto give_up = boot_time() + 5s;
    while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            refuse_file("cannot lock " + name);
        }
        if (boot_time() > give_up) {
            throw std::runtime_error{"another process keeps " + name};
        }
        std::this_thread::sleep_for(10ms);
    }
    struct stat own {};
    struct stat there {};
    return ::fstat(file, &own) == 0 && ::stat(name.c_str(), &there) == 0 &&
           own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

constexpr const char* access_list = "system.posix_acl_access";

// Gives a file the owners, the access control list and the mode of the one that it replaces.
bool resemble(int to, int from, const struct stat& as)
{
    // Others who share the file go on to write it. Root may give it to its owner, a member of its group to that.
    if (::fchown(to, as.st_uid, as.st_gid) != 0) {
        static_cast<void>(::fchown(to, static_cast<::uid_t>(-1), as.st_gid));
    }
    std::vector<char> list(XATTR_SIZE_MAX);
    const auto size = ::fgetxattr(from, access_list, list.data(), list.size());
    if (size > 0 &&
        ::fsetxattr(to, access_list, list.data(), static_cast<std::size_t>(size), 0) == 0) {
        return true; // and with it the mode
    }
    ::fremovexattr(to, access_list); // the directory's
    // With an access control list the bits of the group are the list's mask.
    return ::fchmod(to, as.st_mode & (size > 0 ? 0707 : 0777)) == 0;
}

// `file`: the one that it replaces.
void put_in_place(const std::string& name, const std::string& text, int file, const struct stat& as)
{
    // One process at a time comes here, so this name is its own. The collector reads *.prom only.
    const auto slash = name.rfind('/') + 1;
    const auto next = name.substr(0, slash) + '.' + name.substr(slash) + ".new";
    const auto give_up = [&](const std::string& what) {
        const auto why = errno;
        ::unlink(next.c_str());
        errno = why;
        refuse_file(what);
    };
    {
        const metrics_handle to{next, O_WRONLY | O_CREAT | O_TRUNC, 0600};
        if (!resemble(to, file, as)) {
            give_up("cannot write " + next);
        }
        for (std::string_view left = text; !left.empty();) {
            const auto size = ::write(to, left.data(), left.size());
            if (size < 0 && errno != EINTR) {
                give_up("cannot write " + next);
            }
            left.remove_prefix(size < 0 ? 0 : static_cast<std::size_t>(size));
        }
    }
    if (::rename(next.c_str(), name.c_str()) != 0) {
        give_up("cannot replace " + name);
    }
}

void update_metrics(const std::string& name, const std::vector<metric_change>& changes)
{
    for (;;) {
        const metrics_handle file{name, O_RDWR | O_CREAT, 0644};
        struct stat about {};
        if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
            throw std::runtime_error{name + " is no regular file"};
        }
        if (!claim(file, name)) {
            continue;
        }
        const auto text = text_in(file, name);
        check_is_own(text, name);
        auto values = values_in(text);
        for (const auto& each : changes) {
            auto& value = values[each.series];
            value = each.adds ? value + each.value : each.value;
        }
        put_in_place(name, exposition_of(run_families, values), file, about);
        return;
    }
}

} // namespace

struct metrics_file::shared {
    const std::string file;
    const std::string path; // of the lock
    asio::io_context io{1};
    asio::executor_work_guard<asio::io_context::executor_type> keeps_running =
        asio::make_work_guard(io);
    std::mutex mutex = {}; // of the fault
    std::string fault = {};
    // The thread's own.
    std::vector<metric_change> changes = {};
    bool fails = false;

    void add(const metric_change& more)
    {
        const auto same = std::ranges::find(changes, more.series, &metric_change::series);
        if (same == changes.end()) {
            changes.push_back(more);
        } else {
            same->value = more.adds ? same->value + more.value : more.value;
        }
    }
    // What cannot be written is written with the next change.
    void write()
    {
        if (changes.empty()) {
            return;
        }
        std::string why;
        try {
            update_metrics(file, changes);
            changes.clear();
        } catch (const std::exception& e) {
            why = e.what();
        }
        if (const bool failed_before = std::exchange(fails, !why.empty()); fails != failed_before) {
            const std::lock_guard lock{mutex};
            fault = why;
        }
    }
    std::string take_fault()
    {
        const std::lock_guard lock{mutex};
        return std::exchange(fault, {});
    }

    [[nodiscard]] metric_change plus(std::string_view name, double value) const
    {
        return {series_of(name, {{"path", path}}), value, true};
    }
    [[nodiscard]] metric_change outcomes(std::string_view outcome, double value) const
    {
        return {series_of("colock_run_outcomes_total",
                          {{"path", path}, {"outcome", std::string{outcome}}}),
                value, true};
    }
    // To the second: that is what clocks of several machines agree about.
    [[nodiscard]] metric_change now(std::string_view name) const
    {
        const auto since = std::chrono::system_clock::now().time_since_epoch();
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
        return {series_of(name, {{"path", path}}), static_cast<double>(seconds), false};
    }
};

metrics_file::metrics_file(std::string file, std::string path)
    : shared_{new shared{.file = std::move(file), .path = std::move(path)}}
{
    start_detached([all = shared_] { all->io.run(); });
    // A counter that begins with 1 has not increased.
    std::vector<metric_change> zeros{shared_->plus("colock_run_losses_total", 0)};
    for (const auto outcome : run_outcomes) {
        zeros.push_back(shared_->outcomes(outcome, 0));
    }
    write(std::move(zeros));
}

metrics_file::~metrics_file()
{
    shared_->keeps_running.reset();
}

void metrics_file::write(std::vector<metric_change> changes)
{
    asio::post(shared_->io, [all = shared_, changes = std::move(changes)] {
        for (const auto& each : changes) {
            all->add(each);
        }
        asio::post(all->io, [all] { all->write(); }); // with what has come meanwhile
    });
}

void metrics_file::waits()
{
    waits_since_ = boot_time();
}

void metrics_file::granted()
{
    holds_since_ = boot_time();
    std::vector<metric_change> changes{shared_->now("colock_run_last_grant_timestamp_seconds")};
    if (const auto since = std::exchange(waits_since_, {})) {
        changes.push_back(
            shared_->plus("colock_run_wait_seconds_sum", in_seconds(*holds_since_ - *since)));
        changes.push_back(shared_->plus("colock_run_wait_seconds_count", 1));
    }
    write(std::move(changes));
}

void metrics_file::gone()
{
    if (const auto since = std::exchange(holds_since_, {})) {
        write({shared_->plus("colock_run_hold_seconds_sum", in_seconds(boot_time() - *since)),
               shared_->plus("colock_run_hold_seconds_count", 1),
               shared_->now("colock_run_last_end_timestamp_seconds")});
    }
}

void metrics_file::lost()
{
    gone();
    write({shared_->plus("colock_run_losses_total", 1)});
}

void metrics_file::ended(int status, std::string_view reason)
{
    gone();
    const bool succeeded = reason == "command" && status == 0;
    std::vector<metric_change> changes{shared_->outcomes(reason != "command" ? reason
                                                         : succeeded         ? "succeeded"
                                                                             : "failed",
                                                         1)};
    if (succeeded) {
        changes.push_back(shared_->now("colock_run_last_success_timestamp_seconds"));
    }
    write(std::move(changes));
}

std::string metrics_file::take_fault()
{
    return shared_->take_fault();
}

std::string metrics_file::flush(std::chrono::milliseconds patience)
{
    const auto told = std::make_shared<std::promise<std::string>>();
    asio::post(shared_->io, [all = shared_, told] {
        all->write();
        told->set_value(all->take_fault());
    });
    auto fault = told->get_future();
    return fault.wait_for(patience) == std::future_status::ready
               ? fault.get()
               : shared_->file +
                     " is not written: another process keeps it, or the disk does not answer";
}

} // namespace colock::cli
