// Who frees what OpenSSL makes.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace colock::testing {

template <auto free>
struct freed_by {
    template <class T>
    void operator()(T* p) const noexcept
    {
        free(p);
    }
};

using certificate_ptr = std::unique_ptr<X509, freed_by<&X509_free>>;
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<&EVP_PKEY_free>>;

// With what OpenSSL says of it.
[[noreturn]] inline void fail(const std::string& what)
{
    const char* const why = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    throw std::runtime_error{what + (why != nullptr ? std::string{": "} + why : "")};
}

} // namespace colock::testing
