#ifndef COLOCK_TEST_SUPPORT_CERTIFICATES_HPP
#define COLOCK_TEST_SUPPORT_CERTIFICATES_HPP

#include "temporary_directory.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace colock::test {

/// A certificate and its private key, as PEM files.
struct certificate {
    std::string file;
    std::string key;
    std::string with_key; ///< Both in one file, which ZooKeeper takes for a key store.
};

/// Whom a certificate is for, for designated initialisers.
struct certificate_subject {
    std::string name;                        ///< "CN", as a server's access control shows it.
    std::vector<std::string> dns_names = {}; ///< The names and addresses of a server.
    std::vector<std::string> addresses = {};
    std::string more = {}; ///< Of its name, as `openssl req -subj` has it: "/O=shop".
    bool expired = false;  ///< It was valid until yesterday; only if it is issued.
};

/// An authority that issues certificates to whom a test likes, and is forgotten with it.
/**
 * Two of them do not trust each other, even if they have the same name. Keys are of the curve
 * P-256, because they are made in no time. Files are named after whom they are for: "server.pem",
 * "server.key" and "server-with-key.pem", the next ones "server-2.pem" and so on. The authority's
 * own certificate is "ca.pem".
 *
 * Needs the program `openssl`. Functions throw `std::runtime_error` with what it says. Different
 * threads may not use the same authority at a time.
 */
class certificate_authority {
public:
    /// The files go with the authority.
    explicit certificate_authority(std::string name = "colock test authority");

    /// The files go into a directory that is there, and stay. They overwrite those of the same name.
    certificate_authority(std::string name, std::string directory);

    certificate_authority(certificate_authority const&) = delete;
    certificate_authority& operator=(certificate_authority const&) = delete;

    std::string const& directory() const noexcept { return directory_; }

    /// What those have to know who trust the authority.
    std::string certificate_file() const;

    certificate issue(certificate_subject const& to) const;

    /// A certificate that nobody has issued but its subject. The authority lends the directory.
    certificate self_signed(certificate_subject const& subject) const;

private:
    void make_own(std::string const& name) const;
    certificate make(certificate_subject const& subject, bool issued) const;

    std::unique_ptr<temporary_directory> own_;
    std::string directory_;
    mutable std::map<std::string, int> issued_; // by the beginning of their files' names
};

/// A certificate for a server at 127.0.0.1 and localhost, and at further names and addresses.
certificate issue_to_server(certificate_authority const& authority,
                            std::vector<std::string> names = {},
                            std::vector<std::string> addresses = {});

} // namespace colock::test

#endif
