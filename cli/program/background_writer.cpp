#include "program/background_writer.hpp"

#include "program/detached_thread.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <utility>

namespace colock::cli {

class background_writer::shared {
public:
    shared(int file, dropped_line dropped) : file_{file}, dropped_line_{std::move(dropped)} {}

    // On the thread.
    void write_for_ever()
    {
        std::unique_lock lock{mutex_};
        for (;;) {
            something_.wait(lock, [&] { return closed_ || !is_idle(); });
            if (is_idle()) {
                return;
            }
            write_first(lock);
            if (is_idle()) {
                idle_.notify_all();
            }
        }
    }

    void close()
    {
        const std::lock_guard lock{mutex_};
        closed_ = true;
        something_.notify_one();
    }

    void push(std::string line, bool is_last)
    {
        // As much as a pipe holds.
        constexpr std::size_t capacity = std::size_t{64} * 1024;
        const std::lock_guard lock{mutex_};
        if (!is_last && size_ + line.size() > capacity) {
            ++dropped_;
            return;
        }
        size_ += line.size();
        lines_.push_back({std::exchange(dropped_, 0), std::move(line)});
        something_.notify_one();
    }

    bool idle() const
    {
        const std::lock_guard lock{mutex_};
        return is_idle();
    }

    void flush(std::chrono::milliseconds patience)
    {
        std::unique_lock lock{mutex_};
        const auto since = writes_ ? writes_since_ : clock::now();
        idle_.wait_until(lock, since + patience, [&] { return is_idle(); });
    }

    int fault() const
    {
        const std::lock_guard lock{mutex_};
        return fault_;
    }

private:
    using clock = std::chrono::steady_clock;

    struct queued {
        std::size_t dropped_before;
        std::string line;
    };

    // Lines that were dropped are told without another line, unless nothing can be written.
    [[nodiscard]] bool is_idle() const
    {
        return !writes_ && lines_.empty() && (dropped_ == 0 || fault_ != 0);
    }

    void write_first(std::unique_lock<std::mutex>& lock)
    {
        queued next;
        if (lines_.empty()) {
            next.dropped_before = std::exchange(dropped_, 0);
        } else {
            next = std::move(lines_.front());
            lines_.pop_front();
            size_ -= next.line.size();
        }
        writes_ = true;
        writes_since_ = clock::now();
        lock.unlock();
        int fault = cut_off_ ? write("\n") : 0;
        if (fault == 0 && next.dropped_before != 0) {
            fault = write(dropped_line_(next.dropped_before));
        }
        if (fault == 0) {
            fault = write(next.line);
        }
        lock.lock();
        writes_ = false;
        fault_ = fault;
        if (fault != 0) {
            dropped_ += next.dropped_before + (next.line.empty() ? 0 : 1);
        }
    }

    // On the thread. 0, or errno: the rest cannot be written.
    int write(std::string_view text)
    {
        while (!text.empty()) {
            const auto written = ::write(file_, text.data(), text.size());
            if (written >= 0) {
                text.remove_prefix(static_cast<std::size_t>(written));
                cut_off_ = !text.empty();
            } else if (errno == EAGAIN ||
                       errno == EWOULDBLOCK) { // somebody else has set O_NONBLOCK
                ::pollfd writable{file_, POLLOUT, 0};
                ::poll(&writable, 1, -1);
            } else if (errno != EINTR) {
                return errno;
            }
        }
        return 0;
    }

    const int file_;
    const dropped_line dropped_line_;
    bool cut_off_ = false; // the last line, in the middle; the thread's own
    mutable std::mutex mutex_;
    std::condition_variable something_, idle_;
    std::deque<queued> lines_;
    std::size_t size_ = 0;    // of the lines
    std::size_t dropped_ = 0; // after the last of the lines
    bool writes_ = false;
    int fault_ = 0; // of the last line
    bool closed_ = false;
    clock::time_point writes_since_;
};

background_writer::background_writer(int file, dropped_line dropped)
    : shared_{std::make_shared<shared>(file, std::move(dropped))}
{
    start_detached([s = shared_] { s->write_for_ever(); });
}

background_writer::~background_writer()
{
    shared_->close();
}

void background_writer::write(std::string line, bool is_last)
{
    shared_->push(std::move(line), is_last);
}

bool background_writer::idle() const
{
    return shared_->idle();
}

void background_writer::flush(std::chrono::milliseconds patience)
{
    shared_->flush(patience);
}

int background_writer::fault() const
{
    return shared_->fault();
}

} // namespace colock::cli
