// Credentials that are added while the client runs.
#pragma once

#include <colock/detail/operation.hpp>

#include "session/credentials.hpp"
#include "session/request_queue.hpp"
#include "zk/secret.hpp"

#include <memory>
#include <vector>

namespace colock::detail {

// Servers take credentials in as they come, before they look at the requests after them. A server that refuses them closes
// the connection. So the answer to any request after them says that they are accepted. The C client's own callback
// for credentials would not do: the first answer of the server completes all of them. On the strand.
class credential_trials {
public:
    credential_trials(client_basics& basics, request_queue& requests)
        : basics_{basics}, requests_{requests}, all_{basics.options.credentials}
    {
    }

    // All that a connection gets when it is opened. tell() sends the first one after open().
    [[nodiscard]] const std::vector<credential>& open() noexcept;

    [[nodiscard]] const std::vector<credential>& all() const noexcept { return all_.all(); }

    // The operation completes when a server has accepted them. Until then they are on trial, by the request that is returned and
    // has to follow tell(); null when the operation is over already.
    [[nodiscard]] request_ptr add(zk::secret_credential c, operation_ptr<error_code> op);
    // Tells the connection, once it is established, the credentials that it does not know yet. False: it takes none, because
    // requests wait to be written. The next connection gets all of them.
    [[nodiscard]] bool tell();

    [[nodiscard]] bool are_on() const noexcept { return all_.has_on_trial(); }
    // Of those on trial. The next connection is opened without them.
    void refuse();
    // Destroys the operations, without a word.
    void discard() noexcept;

private:
    struct trial {
        zk::secret_credential value;
        operation_ptr<error_code> op; // empty once it is answered
    };

    void end(const std::shared_ptr<trial>& t, const error_code& ec);

    client_basics& basics_;
    request_queue& requests_;
    credentials all_;
    std::vector<std::shared_ptr<trial>> trials_;
};

} // namespace colock::detail
