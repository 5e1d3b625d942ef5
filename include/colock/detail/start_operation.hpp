// The beginning of every asynchronous operation.
#ifndef COLOCK_DETAIL_START_OPERATION_HPP
#define COLOCK_DETAIL_START_OPERATION_HPP

#include <boost/asio/async_result.hpp>

#include <type_traits>
#include <utility>

namespace colock::detail {

// Names the mistake in the compiler's first lines. The public functions do not constrain their tokens: then the compiler
// would only say that no function matches.
template <class CompletionToken, class Signature, class Initiation, class... Args>
decltype(auto) start_operation(Initiation&& initiation,
                               std::remove_reference_t<CompletionToken>& token, Args&&... args)
{
    static_assert(boost::asio::completion_token_for<CompletionToken, Signature>,
                  "The last argument has to be a completion token for the signature that the "
                  "function documents: asio::use_awaitable, asio::deferred, or a callback, whose "
                  "first parameter is an error_code, or a std::exception_ptr where a body runs");
    return boost::asio::async_initiate<CompletionToken, Signature>(
        std::forward<Initiation>(initiation), token, std::forward<Args>(args)...);
}

} // namespace colock::detail

#endif
