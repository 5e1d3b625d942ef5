#include "certificates.hpp"

#include "subprocess.hpp"

#ifdef COLOCK_TEST_TLS
#include <openssl/opensslv.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace colock::test {

namespace {

std::string content_of(std::string const& path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// One call makes a key and a certificate for it.
std::vector<std::string> request(std::string const& directory, std::string const& stem,
                                 std::string const& name, std::string const& more = {})
{
    // The system's configuration would add what it takes for usual.
    auto const config = directory + "/request.cnf";
    if (!std::filesystem::exists(config))
        write_file(config, "[req]\nprompt = no\ndistinguished_name = subject\n[subject]\n");
    std::string subject = "/CN=";
    for (char const each : name)
        subject += (each == '/' || each == '\\' || each == '+' ? "\\" : "") + std::string(1, each);
    subject += more;
    return {"openssl",
            "req",
            "-x509",
            "-config",
            config,
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-utf8",
            "-keyout",
            directory + "/" + stem + ".key",
            "-out",
            directory + "/" + stem + ".pem",
            "-subj",
            subject};
}

void run_openssl(std::vector<std::string> line, std::string const& directory)
{
    auto const log = directory + "/openssl.log";
    subprocess_options how;
    how.output_file = log;
    bool done;
    try {
        done = subprocess(std::move(line), how).wait().success();
    } catch (std::runtime_error const& failure) {
        throw std::runtime_error(std::string(failure.what()) + "; install openssl");
    }
    if (!done)
        throw std::runtime_error("certificate_authority: openssl says: " + content_of(log));
    ::unlink(log.c_str());
}

// What file names may be made of.
std::string as_file_name(std::string name)
{
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '/' || c == ' '; }, '_');
    return name;
}

std::vector<std::string> until_yesterday()
{
#if defined(OPENSSL_VERSION_NUMBER) && OPENSSL_VERSION_NUMBER >= 0x30400000L
    using namespace std::chrono_literals;
    auto const at = [](std::chrono::hours ago) {
        auto const t = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() - ago);
        std::tm parts{};
        ::gmtime_r(&t, &parts);
        char text[32];
        std::strftime(text, sizeof text, "%Y%m%d%H%M%SZ", &parts);
        return std::string(text);
    };
    return {"-not_before", at(48h), "-not_after", at(24h)};
#else
    return {"-days", "-1"}; // which later ones refuse
#endif
}

std::string alternative_names(certificate_subject const& subject)
{
    std::string all;
    auto const add = [&](char const* kind, std::vector<std::string> const& names) {
        for (auto const& each : names)
            all += (all.empty() ? "subjectAltName=" : ",") + std::string(kind) + each;
    };
    add("DNS:", subject.dns_names);
    add("IP:", subject.addresses);
    return all;
}

} // namespace

certificate_authority::certificate_authority(std::string name)
    : own_(std::make_unique<temporary_directory>()), directory_(own_->path())
{
    make_own(name);
}

certificate_authority::certificate_authority(std::string name, std::string directory)
    : directory_(std::move(directory))
{
    make_own(name);
}

void certificate_authority::make_own(std::string const& name) const
{
    auto line = request(directory_, "ca", name);
    line.insert(line.end(), {"-days", "30", "-addext", "basicConstraints=critical,CA:TRUE",
                             "-addext", "keyUsage=critical,keyCertSign"});
    run_openssl(std::move(line), directory_);
}

std::string certificate_authority::certificate_file() const
{
    return directory_ + "/ca.pem";
}

certificate certificate_authority::issue(certificate_subject const& to) const
{
    return make(to, true);
}

certificate certificate_authority::self_signed(certificate_subject const& subject) const
{
    return make(subject, false);
}

certificate certificate_authority::make(certificate_subject const& subject, bool issued) const
{
    auto stem = as_file_name(subject.name);
    if (auto const number = ++issued_[stem]; number > 1)
        stem += "-" + std::to_string(number);

    auto line = request(directory_, stem, subject.name, subject.more);
    if (issued && !subject.expired)
        line.insert(line.end(), {"-CA", certificate_file(), "-CAkey", directory_ + "/ca.key"});
    line.insert(line.end(), {"-days", "30", "-addext", "basicConstraints=critical,CA:FALSE"});
    if (auto const names = alternative_names(subject); !names.empty())
        line.insert(line.end(), {"-addext", names});
    run_openssl(std::move(line), directory_);

    auto const path = directory_ + "/" + stem;
    if (subject.expired) { // openssl wants a self-signed one to begin with
        std::vector<std::string> signing{"openssl",
                                         "x509",
                                         "-in",
                                         path + ".pem",
                                         "-out",
                                         path + ".pem",
                                         "-CA",
                                         certificate_file(),
                                         "-CAkey",
                                         directory_ + "/ca.key",
                                         "-CAcreateserial"};
        auto const end = until_yesterday();
        signing.insert(signing.end(), end.begin(), end.end());
        run_openssl(std::move(signing), directory_);
    }
    certificate made{path + ".pem", path + ".key", path + "-with-key.pem"};
    write_file(made.with_key, content_of(made.key) + content_of(made.file));
    using std::filesystem::perms;
    std::filesystem::permissions(made.with_key, perms::owner_read | perms::owner_write);
    return made;
}

certificate issue_to_server(certificate_authority const& authority, std::vector<std::string> names,
                            std::vector<std::string> addresses)
{
    names.push_back("localhost");
    if (std::find(addresses.begin(), addresses.end(), "127.0.0.1") == addresses.end())
        addresses.push_back("127.0.0.1");
    return authority.issue(
        {.name = "server", .dns_names = std::move(names), .addresses = std::move(addresses)});
}

} // namespace colock::test
