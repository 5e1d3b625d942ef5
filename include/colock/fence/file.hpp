// Files that refuse what an earlier holder of a lock writes.
#ifndef COLOCK_FENCE_FILE_HPP
#define COLOCK_FENCE_FILE_HPP

#include <colock/fence/fenced.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif

#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>

namespace colock::detail::fence_file {

class descriptor {
public:
    explicit descriptor(int number) noexcept : number_{number} {}
    descriptor(const std::string& path, int flags, ::mode_t mode = 0666)
        : number_{::open(path.c_str(), flags | O_CLOEXEC, mode)}
    {
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor()
    {
        if (number_ >= 0) {
            ::close(number_);
        }
    }

    [[nodiscard]] int number() const noexcept { return number_; }

private:
    int number_;
};

inline void check(bool good, const std::string& what)
{
    if (!good) {
        throw std::system_error{errno, std::generic_category(), what};
    }
}

// Whether it is there. A link is refused. If it were replaced, those who open the file that it names would keep the old
// content; if it were followed, whoever may change the link would choose the file to overwrite.
inline bool look(const std::string& path, struct stat& now)
{
    const bool is_there = ::lstat(path.c_str(), &now) == 0;
    check(is_there || errno == ENOENT, path);
    if (is_there && S_ISLNK(now.st_mode)) {
        throw std::system_error{ELOOP, std::generic_category(), path};
    }
    return is_there;
}

// Nobody may read the new file who could not read the old one: a list of the folder goes, and one of the file is not copied,
// for the users in it need not be known here.
inline void take_rights(int to, const std::string& from, const struct stat& old)
{
    bool is_for_group = ::fchown(to, static_cast<::uid_t>(-1), old.st_gid) == 0;
    [[maybe_unused]] const int only_root_may = ::fchown(to, old.st_uid, static_cast<::gid_t>(-1));
#ifdef __linux__
    constexpr auto list = "system.posix_acl_access";
    check(::fremovexattr(to, list) == 0 || errno == ENODATA || errno == ENOTSUP, from);
    // In the mode of a file with a list the bits of the group are the list's mask.
    is_for_group = is_for_group && ::lgetxattr(from.c_str(), list, nullptr, 0) <= 0;
#endif
    check(::fchmod(to, old.st_mode & (is_for_group ? 0777U : 0707U)) == 0, from);
}

// A file that is deleted unless it takes the place of another one; and what a crash has left of one, before.
class unfinished {
public:
    explicit unfinished(const std::string& path) noexcept : path_{path} { ::unlink(path.c_str()); }
    unfinished(const unfinished&) = delete;
    unfinished& operator=(const unfinished&) = delete;
    ~unfinished()
    {
        if (!is_in_place_) {
            ::unlink(path_.c_str());
        }
    }

    void replace(const std::string& other)
    {
        check(::rename(path_.c_str(), other.c_str()) == 0, other);
        is_in_place_ = true;
    }

private:
    const std::string& path_;
    bool is_in_place_ = false;
};

// All of the file, which is replaced at once, by a file `next` that is made beside it. The caller excludes other writers.
inline void replace(const std::string& path, const std::string& next, const std::string& content)
{
    struct stat old {};
    const bool is_there = look(path, old);
    unfinished made{next};
    {
        const descriptor out{next, O_WRONLY | O_CREAT | O_EXCL, is_there ? 0600U : 0666U};
        check(out.number() >= 0, next);
        if (is_there) {
            take_rights(out.number(), path, old);
        }
        for (std::size_t done = 0; done != content.size();) {
            const auto n = ::write(out.number(), content.data() + done, content.size() - done);
            check(n >= 0 || errno == EINTR, next);
            done += n < 0 ? 0 : static_cast<std::size_t>(n);
        }
        check(::fsync(out.number()) == 0, next);
    }
    made.replace(path);
    const auto slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const descriptor in{folder, O_RDONLY | O_DIRECTORY};
    check(in.number() >= 0 && ::fsync(in.number()) == 0, folder);
}

// Of the file at this path, while it is written. `path + ".next"` could be somebody's file.
inline std::string next_of(const std::string& path)
{
    return path + ".fence.next";
}

// Whether the token was accepted; it is on the disk then.
inline bool present(const std::string& path, const std::string& token)
{
    struct stat now {};
    look(path, now);
    std::string seen(34, '\0'); // one more than a token and a line feed have
    {
        const descriptor in{path + ".token", O_RDONLY | O_NOFOLLOW};
        check(in.number() >= 0 || errno == ENOENT, path + ".token");
        const auto n = in.number() < 0 ? 0 : ::read(in.number(), seen.data(), seen.size());
        check(n >= 0, path + ".token");
        seen.resize(static_cast<std::size_t>(n));
    }
    if (seen.size() == 33 && seen.back() == '\n') {
        seen.pop_back(); // of an editor
    }
    const auto mine = fencing_token::parse(token);
    if (!mine || !fence::accepts(seen, *mine)) {
        return false;
    }
    if (seen != token) {
        replace(path + ".token", next_of(path), token);
    }
    return true;
}

// Open for writing, as NFS wants it. Where another user has made it, reading may be all that is allowed.
inline int open_fence(const std::string& path)
{
    int number = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (number < 0 && errno == EACCES) {
        number = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (number < 0 && errno == ENOENT) {
            errno = EACCES; // to make it in that folder
        }
    }
    return number;
}

// Others are kept out as long as it is there.
class exclusion {
public:
    explicit exclusion(const std::string& path) : fence_{fence_of(path)}
    {
        check(fence_.number() >= 0 && ::flock(fence_.number(), LOCK_EX | LOCK_NB) == 0,
              path + ".fence");
    }
    exclusion(const exclusion&) = delete;
    exclusion& operator=(const exclusion&) = delete;
    // A child that was forked meanwhile has the descriptor, too.
    ~exclusion() { ::flock(fence_.number(), LOCK_UN); }

private:
    static int fence_of(const std::string& path)
    {
        struct stat now {};
        look(path, now); // beside a link there shall be none
        return open_fence(path + ".fence");
    }

    descriptor fence_;
};

} // namespace colock::detail::fence_file

/// A file `F` has two others beside it: `F.token`, the greatest token that was presented, and `F.fence`, which is locked by
/// `flock` while that is compared and written. `F` and `F.token` are written as `F.fence.next`, which takes their place; a file of
/// that name is deleted. All throw `std::system_error` when the system refuses something. When another process is at it, that is
/// EWOULDBLOCK: try again later. They do not wait for anything but the disk. ELOOP: one of the three is a symbolic link: give the
/// path for which `F` stands, and delete a link `F.token` or `F.fence`. Users who share `F` need to be able to read all three, and
/// to replace each other's files in their folder, so without a sticky bit; over NFS, to write `F.fence` as well. On Linux and other
/// POSIX systems; docs/fencing.md says what NFS does to it.
namespace colock::fence::file {

/// Returns whether the token was accepted, before the holder reads the file `path`.
[[nodiscard]] inline bool present(const std::string& path, const std::string& token)
{
    const detail::fence_file::exclusion alone{path};
    return detail::fence_file::present(path, token);
}

/// Gives the file `path` this content, all at once and durably, if the token is accepted; returns whether it was. The file
/// keeps its mode, and its owner and group as far as this process may give them; access control lists are lost, and with one
/// the rights of the group.
[[nodiscard]] inline bool replace(const std::string& path, const std::string& token,
                                  const std::string& content)
{
    const detail::fence_file::exclusion alone{path};
    const bool accepted = detail::fence_file::present(path, token);
    if (accepted) {
        detail::fence_file::replace(path, detail::fence_file::next_of(path), content);
    }
    return accepted;
}

} // namespace colock::fence::file

#endif
