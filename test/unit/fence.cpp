// What a store refuses, and how a program hears of it.
#include <colock/fence/fenced.hpp>
#include <colock/fence/file.hpp>
#include <colock/fence/statements.hpp>
#include <support/temporary_directory.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace file = colock::fence::file;
using colock::errc;
using colock::error_code;
using colock::fencing_token;
using colock::transaction_result;
using colock::zookeeper_errc;
using colock::fence::accepts;
using colock::fence::code_of;

// A guard, or what else has a token.
struct guard {
    fencing_token mine;
    [[nodiscard]] fencing_token token() const { return mine; }
};

auto has_code(error_code ec)
{
    return [ec](const boost::system::system_error& e) { return e.code() == ec; };
}

std::string content_of(const std::string& path)
{
    std::ifstream in{path};
    return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(fence_functions)

BOOST_AUTO_TEST_CASE(equal_and_greater_tokens_pass)
{
    const fencing_token mine{7, 2};
    BOOST_TEST(accepts("", mine));
    BOOST_TEST(accepts(to_string(fencing_token{}), mine));
    BOOST_TEST(accepts(to_string(fencing_token{7, 1}), mine));
    BOOST_TEST(accepts(to_string(mine), mine));
    BOOST_TEST(!accepts(to_string(fencing_token{7, 3}), mine));
    BOOST_TEST(!accepts(to_string(fencing_token{0x8000000000000000, 0}), mine));
    BOOST_TEST(!accepts("7", mine));
}

BOOST_AUTO_TEST_CASE(a_refusal_is_an_error_of_a_lost_lock)
{
    const guard held{{7, 2}};
    std::string seen;
    colock::fenced(held, [&](const std::string& token) {
        seen = token;
        return 1; // row
    });
    BOOST_TEST(seen == "00000000000000070000000000000002");
    BOOST_CHECK_EXCEPTION(colock::fenced(held, [](const std::string&) { return false; }),
                          boost::system::system_error, has_code(errc::fenced));
    BOOST_TEST((error_code{errc::fenced} == colock::condition::lock_lost));
    BOOST_CHECK_EXCEPTION(colock::fenced(guard{}, [](const std::string&) { return true; }),
                          boost::system::system_error, has_code(errc::not_held));
}

// -1 is what drivers tell who do not know it, or whose statement has failed; some count without a sign.
BOOST_AUTO_TEST_CASE(an_unknown_number_of_rows_is_a_refusal)
{
    const guard held{{7, 2}};
    const auto write = [&](auto rows) {
        colock::fenced(held, [rows](const std::string&) { return rows; });
    };
    write(2L);
    write(std::uint64_t{2});
    write(std::uint8_t{255}); // no driver says unknown so
    BOOST_CHECK_EXCEPTION(write(0), boost::system::system_error, has_code(errc::fenced));
    BOOST_CHECK_EXCEPTION(write(-1L), boost::system::system_error, has_code(errc::fenced));
    BOOST_CHECK_EXCEPTION(write(~std::uint64_t{}), boost::system::system_error,
                          has_code(errc::fenced));
    asio::io_context io;
    auto later = asio::co_spawn(
        io, colock::fenced(held, [](std::string) -> asio::awaitable<long> { co_return -1; }),
        asio::use_future);
    io.run();
    BOOST_CHECK_EXCEPTION(later.get(), boost::system::system_error, has_code(errc::fenced));
}

BOOST_AUTO_TEST_CASE(an_asynchronous_store_is_awaited)
{
    asio::io_context io;
    const guard held{{7, 2}};
    std::string seen;
    const auto write = [&](bool accepted) {
        return asio::co_spawn(
            io,
            colock::fenced(held,
                           [&seen, accepted](std::string token) -> asio::awaitable<bool> {
                               seen = token;
                               co_return accepted;
                           }),
            asio::use_future);
    };
    auto good = write(true);
    auto bad = write(false);
    io.run();
    good.get();
    BOOST_TEST(seen == to_string(held.mine));
    BOOST_CHECK_EXCEPTION(bad.get(), boost::system::system_error, has_code(errc::fenced));
}

BOOST_AUTO_TEST_CASE(a_guarded_transaction_is_refused_at_its_first_step)
{
    const std::vector<transaction_result> lost{{zookeeper_errc::no_node, {}, {}},
                                               {zookeeper_errc::runtime_inconsistency, {}, {}}};
    const std::vector<transaction_result> missing{{{}, {}, {}}, {zookeeper_errc::no_node, {}, {}}};
    BOOST_TEST((code_of(zookeeper_errc::no_node, lost) == errc::fenced));
    BOOST_TEST((code_of(zookeeper_errc::no_node, missing) == zookeeper_errc::no_node));
    BOOST_TEST((code_of(zookeeper_errc::no_node, missing, 2) == errc::fenced)); // of two locks
    BOOST_TEST((code_of(zookeeper_errc::connection_loss, {}) == zookeeper_errc::connection_loss));
    BOOST_TEST((code_of({}, {}) == error_code{}));
}

BOOST_AUTO_TEST_CASE(a_script_says_that_it_has_refused)
{
    BOOST_TEST(colock::fence::redis::refused("FENCED by 00000000000000070000000000000002"));
    BOOST_TEST(!colock::fence::redis::refused("OOM command not allowed"));
}

BOOST_AUTO_TEST_CASE(a_file_keeps_what_the_greatest_token_wrote)
{
    const colock::test::temporary_directory directory;
    const auto path = directory.path() + "/note";
    const auto first = to_string(fencing_token{7, 1});
    const auto next = to_string(fencing_token{8, 0});
    BOOST_TEST(file::replace(path, first, "the first one's"));
    BOOST_TEST(file::replace(path, first, "once more"));
    BOOST_TEST(content_of(path) == "once more");
    BOOST_TEST(file::present(path, next));
    BOOST_TEST(!file::replace(path, first, "late"));
    BOOST_TEST(!file::present(path, first));
    BOOST_TEST(!file::replace(path, "no token", "wrong"));
    BOOST_TEST(content_of(path) == "once more");
    BOOST_TEST(file::replace(path, next, std::string(100'000, 'x')));
    BOOST_TEST(content_of(path).size() == 100'000);
}

BOOST_AUTO_TEST_CASE(a_replaced_file_keeps_its_mode)
{
    const colock::test::temporary_directory directory;
    const auto path = directory.path() + "/note", other = directory.path() + "/other";
    const auto token = to_string(fencing_token{7, 1});
    BOOST_TEST(file::replace(path, token, "for all"));
    std::ofstream{other} << "of somebody";
    for (const auto mode : {0600U, 0640U, 0755U}) {
        BOOST_REQUIRE(::chmod(path.c_str(), mode) == 0);
        BOOST_REQUIRE(::symlink(other.c_str(), (path + ".fence.next").c_str()) == 0);
        BOOST_TEST(file::replace(path, token, "secret"));
        struct stat now {};
        BOOST_REQUIRE(::lstat(path.c_str(), &now) == 0);
        BOOST_TEST((now.st_mode & 0777U) == mode);
        BOOST_TEST(S_ISREG(now.st_mode));
        BOOST_TEST(content_of(path) == "secret");
    }
    BOOST_TEST(content_of(other) == "of somebody");
}

// In the mode of a file with a list the bits of the group are the mask, which is for those whom the list names.
BOOST_AUTO_TEST_CASE(an_access_control_list_gives_no_rights_to_the_group)
{
    const colock::test::temporary_directory directory;
    const auto path = directory.path() + "/note";
    const auto token = to_string(fencing_token{7, 1});
    BOOST_TEST(file::replace(path, token, "for one"));
    BOOST_REQUIRE(::chmod(path.c_str(), 0600) == 0);
    const auto set_list = [](const std::string& of, const char* name) {
        struct entry {
            std::uint16_t tag, may;
            std::uint32_t who;
        };
        constexpr std::uint32_t nobody = 0xffffffff;
        const struct {
            std::uint32_t version = 2;
            entry entries[5] = {
                {1, 6, nobody}, {2, 6, 1234}, {4, 0, nobody}, {0x10, 6, nobody}, {0x20, 0, nobody}};
        } list;
        const bool is_set = ::setxattr(of.c_str(), name, &list, sizeof list, 0) == 0;
        BOOST_WARN_MESSAGE(is_set, "this file system has no access control lists");
        return is_set;
    };
    if (!set_list(path, "system.posix_acl_access") ||
        !set_list(directory.path(), "system.posix_acl_default")) {
        return;
    }
    struct stat now {};
    BOOST_TEST(file::replace(path, token, "secret"));
    BOOST_REQUIRE(::lstat(path.c_str(), &now) == 0);
    BOOST_TEST((now.st_mode & 0777U) == 0600U);
    BOOST_REQUIRE(::chmod(path.c_str(), 0640) == 0);
    BOOST_TEST(file::replace(path, token, "secret"));
    BOOST_TEST(::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) == -1);
    BOOST_REQUIRE(::lstat(path.c_str(), &now) == 0);
    BOOST_TEST((now.st_mode & 0777U) == 0640U);
}

// It has the descriptor, and the lock would go with its last copy.
BOOST_AUTO_TEST_CASE(a_forked_child_keeps_no_fence_locked)
{
    const colock::test::temporary_directory directory;
    const auto path = directory.path() + "/note";
    int lives[2];
    BOOST_REQUIRE(::pipe(lives) == 0);
    std::optional<colock::detail::fence_file::exclusion> alone{std::in_place, path};
    const auto child = ::fork();
    if (child == 0) {
        ::close(lives[1]);
        char none = 0;
        ::_exit(static_cast<int>(::read(lives[0], &none, 1)));
    }
    alone.reset();
    BOOST_TEST(file::replace(path, to_string(fencing_token{7, 1}), "mine"));
    ::close(lives[0]);
    ::close(lives[1]);
    BOOST_TEST(::waitpid(child, nullptr, 0) == child);
}

BOOST_AUTO_TEST_CASE(a_file_of_a_likely_name_is_left_alone)
{
    const colock::test::temporary_directory directory;
    const auto path = directory.path() + "/note";
    std::ofstream{path + ".next"} << "of somebody";
    std::ofstream{path + ".token.next"} << "of somebody";
    BOOST_TEST(file::replace(path, to_string(fencing_token{7, 1}), "mine"));
    BOOST_TEST(content_of(path) == "mine");
    BOOST_TEST(content_of(path + ".next") == "of somebody");
    BOOST_TEST(content_of(path + ".token.next") == "of somebody");
}

// A reader that opens the file by its own name would go on with the old content.
BOOST_AUTO_TEST_CASE(a_symbolic_link_is_refused)
{
    const colock::test::temporary_directory directory;
    const auto path = directory.path() + "/note", other = directory.path() + "/other";
    const auto token = to_string(fencing_token{7, 1});
    const auto is_refused = [](auto function) {
        BOOST_CHECK_EXCEPTION(static_cast<void>(function()), std::system_error,
                              [](const auto& e) { return e.code().value() == ELOOP; });
    };
    for (const auto* const of : {".fence", ".token", ""}) {
        std::ofstream{other} << "of somebody";
        BOOST_REQUIRE(::symlink(other.c_str(), (path + of).c_str()) == 0);
        for (int i = 0; i != 2; ++i) { // also where nothing is behind it
            is_refused([&] { return file::present(path, token); });
            is_refused([&] { return file::replace(path, token, "new"); });
            BOOST_TEST(content_of(other) == (i == 0 ? "of somebody" : ""));
            ::unlink(other.c_str());
        }
        ::unlink((path + of).c_str());
    }
    BOOST_TEST(file::replace(path, token, "new"));
}

// What another user has made can be read, as a rule, and no more.
BOOST_AUTO_TEST_CASE(a_file_that_users_share)
{
    const colock::test::temporary_directory directory;
    const auto path = directory.path() + "/note";
    BOOST_TEST(file::replace(path, to_string(fencing_token{7, 1}), "the first one's"));
    BOOST_REQUIRE(::chmod((path + ".fence").c_str(), 0444) == 0);
    constexpr ::uid_t somebody = 65534;
    const bool is_root = ::geteuid() == 0; // who may write all
    if (is_root) {
        BOOST_REQUIRE(::chown(directory.path().c_str(), somebody, ::gid_t(-1)) == 0);
        BOOST_REQUIRE(::seteuid(somebody) == 0);
    }
    bool accepted = false;
    std::string failure;
    try {
        accepted = file::replace(path, to_string(fencing_token{8, 0}), "the next one's");
    } catch (const std::system_error& e) {
        failure = e.what();
    }
    if (is_root) {
        BOOST_REQUIRE(::seteuid(0) == 0);
    }
    BOOST_TEST(accepted, failure);
    BOOST_TEST(content_of(path) == "the next one's");
}

BOOST_AUTO_TEST_CASE(a_file_that_another_one_writes_is_not_waited_for)
{
    const colock::test::temporary_directory directory;
    const auto path = directory.path() + "/note";
    const int other = ::open((path + ".fence").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    BOOST_REQUIRE(::flock(other, LOCK_EX) == 0);
    const auto token = to_string(fencing_token{7, 1});
    BOOST_CHECK_EXCEPTION(static_cast<void>(file::replace(path, token, "x")), std::system_error,
                          [](const auto& e) { return e.code().value() == EWOULDBLOCK; });
    ::close(other);
    BOOST_TEST(file::replace(path, token, "x"));
    BOOST_CHECK_EXCEPTION(
        static_cast<void>(file::replace(directory.path() + "/none/note", token, "x")),
        std::system_error, [](const auto& e) { return e.code().value() == ENOENT; });
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_on_the_disk_is_not_left_there)
{
    const colock::test::temporary_directory directory;
    const auto path = directory.path() + "/note";
    BOOST_REQUIRE(file::replace(path, to_string(fencing_token{7, 1}), "short"));
    const auto former = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    BOOST_REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
    const rlimit few{1000, limit.rlim_max};
    BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &few) == 0);
    std::error_code failed;
    try {
        static_cast<void>(
            file::replace(path, to_string(fencing_token{8, 0}), std::string(100'000, 'x')));
    } catch (const std::system_error& e) {
        failed = e.code();
    }
    BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    static_cast<void>(std::signal(SIGXFSZ, former));
    BOOST_TEST(failed.value() == EFBIG);
    BOOST_TEST(content_of(path) == "short");
    BOOST_TEST(::access((path + ".fence.next").c_str(), F_OK) != 0);
}

BOOST_AUTO_TEST_CASE(a_token_that_a_person_has_written_ends_in_a_line_feed)
{
    const colock::test::temporary_directory directory;
    const auto path = directory.path() + "/note";
    std::ofstream{path + ".token"} << to_string(fencing_token{}) << '\n';
    BOOST_TEST(file::replace(path, to_string(fencing_token{7, 1}), "x"));
    std::ofstream{path + ".token"} << to_string(fencing_token{}) << 'x';
    BOOST_TEST(!file::replace(path, to_string(fencing_token{7, 1}), "y"));
    std::ofstream{path + ".token"} << to_string(fencing_token{}) << '\n'
                                   << to_string(fencing_token{9, 1});
    BOOST_TEST(!file::replace(path, to_string(fencing_token{7, 1}), "z"));
}

BOOST_AUTO_TEST_SUITE_END()
