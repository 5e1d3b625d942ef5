#ifndef COLOCK_TEST_SUPPORT_TLS_QUESTION_HPP
#define COLOCK_TEST_SUPPORT_TLS_QUESTION_HPP

#include "blocking_socket.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace colock::test {

class certificate_authority;

/// Asks a server over TLS what its plain port does not tell: of the connections at its secure one.
/**
 * As a client with a certificate of the authority. Different threads may ask at the same time.
 */
class tls_questioner {
public:
    explicit tls_questioner(certificate_authority const& authority);
    tls_questioner(tls_questioner const&) = delete;
    tls_questioner& operator=(tls_questioner const&) = delete;
    ~tls_questioner();

    /// All that it says until it closes the connection. Throws `std::runtime_error`, also when it
    /// has not closed it at the deadline.
    std::string ask(host_and_port const& where, std::string_view words, time_limit until) const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace colock::test

#endif
