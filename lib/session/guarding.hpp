// Tells the session guard of the session, so that this ends with the process.
#pragma once

#include "guard/helper.hpp"
#include "guard/tls_material.hpp"
#include "session/client_basics.hpp"
#include "session/client_timer.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::detail {

// On the strand. Without client_options::session_guard it does nothing. What fails costs a warning, and is tried again after a
// pause: meanwhile the servers would end the session by its time-out.
class guarding {
public:
    explicit guarding(client_basics& basics);
    guarding(const guarding&) = delete;
    guarding& operator=(const guarding&) = delete;
    ~guarding();

    // What the guard needs of the context, as far as there is to be one. Any thread.
    [[nodiscard]] static guard::tls_material material_for(const client_options& options,
                                                          asio::ssl::context& context);
    // From the next session() on.
    void use_tls(guard::tls_material&& material) noexcept { tls_ = std::move(material); }

    // There is this session now, and the client presents these.
    void session(const zk::session_identity& identity, std::chrono::milliseconds timeout,
                 const std::vector<credential>& credentials);
    // The servers have ended it.
    void session_ended();
    // The client has left it to the servers, which end it by its time-out.
    void session_left();

    void discard() noexcept;

private:
    void forget_session();
    void tell();
    [[nodiscard]] std::string start();
    void died();
    [[nodiscard]] std::string last_words_or(const char* otherwise) const;
    void try_later(const std::string& why);

    client_basics& basics_;
    const std::uint64_t number_; // of this client in the process
    guard::tls_material tls_;
    std::unique_ptr<guard::guarded_session> known_; // what the guard has to know; null: nothing
    // A copy: the program may close its own, and another file may have the number when the next guard starts.
    int consent_ = -1;
    std::shared_ptr<guard::helper> helper_;
    std::chrono::steady_clock::time_point began_;
    std::unique_ptr<guard::helper::watcher> watcher_; // of helper_
    client_timer retry_;
    unsigned failures_ = 0;
};

} // namespace colock::detail
