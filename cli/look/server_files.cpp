#include "look/server_files.hpp"

#include <colock/log.hpp>

#include "program/failure.hpp"
#include "program/text.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace colock::cli {

namespace {

namespace fs = std::filesystem;

struct server_file {
    std::int64_t zxid = 0; // of a log: its first one; of a snapshot: the last one before it
    fs::path path;
};

bool earlier(const server_file& a, const server_file& b)
{
    return a.zxid < b.zxid;
}

std::ifstream opened(const fs::path& file)
{
    std::ifstream in{file, std::ios::binary};
    if (!in) {
        throw unreadable{"cannot be read"};
    }
    return in;
}

// The next transaction of an epoch, or the first one of a later epoch.
bool follows(std::int64_t last, std::int64_t next)
{
    constexpr int epoch = 32;
    return next == last + 1 || (next >> epoch > last >> epoch && (next & 0xffff'ffff) == 1);
}

class reading {
public:
    explicit reading(const std::string& path) : recorder_{path} {}

    told_by_files read(const std::vector<std::string>& directories)
    {
        for (const auto& each : directories) {
            list(each);
        }
        std::ranges::stable_sort(logs_, earlier);
        std::ranges::stable_sort(snapshots_, earlier);
        for (const auto& log : logs_) {
            replay(log);
        }
        catch_up(INT64_MAX);
        if (!begun_) {
            throw failure{usage, why_nothing(directories)};
        }
        return {recorder_.tell(), std::move(notes_)};
    }

private:
    void list(const fs::path& given)
    {
        std::error_code ec;
        const auto below = given / "version-2";
        const auto directory = fs::is_directory(below, ec) ? below : given;
        fs::directory_iterator at{directory, ec};
        if (ec) {
            throw failure{usage,
                          "cannot list " + printable(directory.string()) + ": " + ec.message()};
        }
        for (; at != fs::directory_iterator{}; at.increment(ec)) {
            const auto name = at->path().filename().string();
            const auto dot = name.find('.');
            const auto kind = name.substr(0, dot);
            if (dot == name.npos || !at->is_regular_file(ec)) { // a pipe could be there
                continue;
            }
            if (const auto zxid = number_in<std::int64_t>(name.substr(dot + 1), 16);
                zxid && *zxid >= 0) {
                if (kind == "log" || kind == "snapshot") {
                    (kind == "log" ? logs_ : snapshots_).push_back({*zxid, at->path()});
                }
            } else if (kind == "snapshot" && (name.ends_with(".gz") || name.ends_with(".snappy"))) {
                note(at->path(), "is compressed: unpack it" +
                                     std::string{name.ends_with(".gz") ? " by gunzip" : ""});
            }
        }
    }

    void note(const fs::path& file, const std::string& what)
    {
        notes_.push_back(printable(file.filename().string()) + ' ' + what);
    }

    void replay(const server_file& file)
    {
        try {
            auto bytes = opened(file.path);
            if (bytes.peek() == std::ifstream::traits_type::eof() && !bytes.bad()) {
                return; // as a server makes it
            }
            log_reader in{bytes};
            while (const auto t = in.next()) {
                happened(*t, file);
            }
        } catch (const unreadable& e) {
            note(file.path, e.what());
        }
    }

    void happened(const transaction& t, const server_file& file)
    {
        if (begun_ && t.zxid <= last_) {
            return; // also in an earlier file
        }
        if (!whole_ || t.zxid != last_ + 1) {
            catch_up(t.zxid);
        }
        constexpr std::int64_t first_epoch = std::int64_t{1} << 32;
        const bool is_very_first = snapshots_.empty() && (t.zxid == 1 || t.zxid == first_epoch + 1);
        if (whole_ && !follows(last_, t.zxid)) {
            note(file.path, "begins after, or leaves out, transactions that no other file has; "
                            "the history goes on with the next snapshot");
        }
        whole_ = begun_ ? whole_ && follows(last_, t.zxid) : is_very_first;
        if (whole_) {
            recorder_.happened(t);
            begun_ = true;
            last_ = t.zxid;
        }
    }

    // The last snapshot before this transaction tells what has become of transactions that no log has: a server is sent a
    // snapshot when it has missed many, or when its log ends with some that were never decided.
    void catch_up(std::int64_t before)
    {
        for (auto at = snapshots_.rbegin(); at != snapshots_.rend(); ++at) {
            if (at->zxid >= before || std::ranges::find(bad_, at->zxid) != bad_.end()) {
                continue;
            }
            if (begun_ && at->zxid <= last_) {
                return;
            }
            try {
                auto bytes = opened(at->path);
                const auto s = read_snapshot(bytes_of_snapshot(bytes), last_, at->zxid,
                                             [&](auto path) { return recorder_.is_wanted(path); });
                recorder_.state(s, !whole_ || s.last_change > last_);
                begun_ = whole_ = true;
                last_ = at->zxid;
                return;
            } catch (const unreadable& e) {
                note(at->path, e.what());
                bad_.push_back(at->zxid);
            }
        }
    }

    [[nodiscard]] std::string why_nothing(const std::vector<std::string>& directories) const
    {
        if (logs_.empty() && snapshots_.empty() && notes_.empty()) {
            return printable(directories.front()) +
                   " has no transaction logs or snapshots of ZooKeeper (log.1, snapshot.0, ...); "
                   "they are in version-2 below dataDir and dataLogDir";
        }
        return "the files do not tell how the tree was before the first transaction: there is no "
               "snapshot that can be read" +
               (notes_.empty() ? std::string{} : "; " + notes_.front()) +
               "; give the directories of snapshots and of logs, each by --from";
    }

    recorder recorder_;
    std::vector<server_file> logs_, snapshots_;
    std::vector<std::int64_t> bad_; // snapshots
    std::vector<std::string> notes_;
    std::int64_t last_ = 0;
    bool begun_ = false;
    bool whole_ = false; // nothing is missing up to the last one
};

} // namespace

told_by_files read_past(const std::vector<std::string>& directories, const std::string& path)
{
    return reading{path}.read(directories);
}

} // namespace colock::cli
