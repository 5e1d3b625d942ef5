// The identities that a client presents on each of its connections.
#pragma once

#include <colock/client_options.hpp>
#include <colock/detail/operation.hpp>

#include "session/request_queue.hpp"
#include "zk/secret.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace colock::detail {

// Those of the options, and those that are added while the client runs. Servers take credentials in as they come, before they
// look at the requests after them. A server that refuses one closes the connection, and does not say which one it means. So
// those that were added are on trial until a request after them is answered: a refusal is about them. The C client's own
// callback for credentials would not do: the first answer of the server completes all of them. On the strand.
class credential_trials {
public:
    credential_trials(client_basics& basics, request_queue& requests)
        : basics_{basics}, requests_{requests}, all_{basics.options.credentials}, accepted_{
                                                                                      all_.size()}
    {
    }

    // All that a connection gets when it is opened. tell() sends the first one after open().
    [[nodiscard]] const std::vector<credential>& open() noexcept;

    [[nodiscard]] const std::vector<credential>& all() const noexcept { return all_; }

    // The operation completes when a server has accepted them. Until then they are on trial, by the request that is returned and
    // has to follow tell(); null when the operation is over already.
    [[nodiscard]] request_ptr add(zk::secret_credential c, operation_ptr<error_code> op);
    // Tells the connection, once it is established, the credentials that it does not know yet. False: it takes none, because
    // requests wait to be written. The next connection gets all of them.
    [[nodiscard]] bool tell();

    [[nodiscard]] bool are_on() const noexcept { return accepted_ != all_.size(); }
    // Of those on trial. The next connection is opened without them.
    void refuse();
    // Destroys the operations, without a word.
    void discard() noexcept;

private:
    struct trial {
        std::size_t number; // of them, and of those before them, which the answer is about, too
        operation_ptr<error_code> op; // empty once it is answered
    };
    struct secrets : std::vector<credential> {
        secrets() = default;
        explicit secrets(const std::vector<credential>& of) : vector(of) {}
        ~secrets() { zk::wipe(*this); }
    };

    void keep(const credential& c);
    void end(const std::shared_ptr<trial>& t, const error_code& ec);

    client_basics& basics_;
    request_queue& requests_;
    secrets all_;
    std::size_t accepted_; // how many of them, from the first on
    std::size_t told_ = 0; // how many of them the present connection was told
    std::vector<std::shared_ptr<trial>> trials_;
};

} // namespace colock::detail
