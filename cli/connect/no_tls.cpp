// In place of tls_context.cpp and tls_question.cpp where colock was built without TLS.
#include "connect/four_letter_word.hpp"
#include "connect/tls_context.hpp"
#include "program/failure.hpp"

#include <utility>

namespace colock::cli {

void add_tls(client_options&, const server_options& o)
{
    if (o.tls || !o.tls_ca.empty() || !o.tls_cert.empty() || !o.tls_key.empty()) {
        throw failure{usage, "this colock was built without TLS; build it with -D COLOCK_TLS=ON"};
    }
}

boost::asio::awaitable<std::string> ask_as_client(const client_options&, endpoint at,
                                                  std::string word, std::chrono::milliseconds limit)
{
    return ask_server(std::move(at.host), std::move(at.port), std::move(word), limit);
}

} // namespace colock::cli
