#include "session/guarding.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

namespace colock::detail {

namespace {

constexpr std::chrono::seconds first_restart_pause{1};
constexpr unsigned most_doublings = 6;       // 64 s
constexpr std::chrono::minutes long_life{1}; // after it, pauses begin anew

bool is_wanted(const client_options& o) noexcept
{
    return !o.session_guard.helper.empty();
}

std::uint64_t next_number() noexcept
{
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

} // namespace

guarding::guarding(client_basics& basics)
    : basics_{basics}, number_{next_number()}, retry_{basics.strand}
{
}

guarding::~guarding()
{
    if (consent_ != -1) {
        ::close(consent_);
    }
}

guard::tls_material guarding::material_for(const client_options& options,
                                           asio::ssl::context& context)
{
    return is_wanted(options) ? guard::material_of(context) : guard::tls_material{};
}

void guarding::session(const zk::session_identity& identity, std::chrono::milliseconds timeout,
                       const std::vector<credential>& credentials)
{
    const auto& o = basics_.options;
    if (!is_wanted(o)) {
        return;
    }
    known_ = std::make_unique<guard::guarded_session>();
    known_->client = number_;
    known_->identity = identity;
    known_->timeout = timeout;
    known_->hosts = o.hosts;
    known_->credentials = credentials;
    known_->tls = !tls_.text.empty();
    known_->tls_server_name = o.tls_server_name;
    known_->tls_verify = o.tls_verify;
    tell();
}

void guarding::session_ended()
{
    if (known_ && helper_) {
        guard::guarded_session none;
        none.client = number_;
        helper_->send(none, {}); // if it is lost, the guard finds that there is no such session
    }
    forget_session();
}

void guarding::session_left()
{
    if (known_ && helper_) {
        known_->last = true;
        helper_->send(*known_, tls_.text);
    }
    forget_session();
}

// What waits for the guard, too: else the executor would have work after the client is closed.
void guarding::forget_session()
{
    basics_.count.session_guarded = false;
    known_ = nullptr;
    watcher_ = nullptr;
    retry_.stop();
}

void guarding::tell()
{
    retry_.stop();
    auto why = watcher_ ? std::string{} : start();
    if (helper_ && !helper_->send(*known_, tls_.text)) {
        why = last_words_or("it does not take what it is told"); // it may have died meanwhile
    }
    basics_.count.session_guarded = why.empty();
    if (!why.empty()) {
        try_later(why);
    }
}

std::string guarding::start()
{
    if (!helper_) {
        const auto& o = basics_.options.session_guard;
        if (consent_ == -1 && o.consent != -1) {
            consent_ = ::fcntl(o.consent, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
            if (consent_ == -1) { // -1 would mean that no consent is needed
                return "consent: " + std::generic_category().message(errno);
            }
        }
        auto found = guard::find_helper(o.helper, consent_);
        if (!found.process) {
            return std::move(found.fault);
        }
        helper_ = std::move(found.process);
        began_ = std::chrono::steady_clock::now();
    }
    watcher_ = helper_->watch(*basics_.strand, [client = basics_.strand.client(), this] {
        if (const auto alive = client.lock()) {
            died();
        }
    });
    if (!watcher_) {
        helper_ = nullptr;
        return "no descriptor for it";
    }
    return {};
}

std::string guarding::last_words_or(const char* otherwise) const
{
    auto words = helper_->last_words();
    return words.empty() ? otherwise : words;
}

void guarding::died()
{
    const auto why = last_words_or("it has died");
    watcher_ = nullptr;
    helper_ = nullptr;
    basics_.count.session_guarded = false;
    if (std::chrono::steady_clock::now() - began_ > long_life) {
        failures_ = 0;
    }
    if (known_) {
        try_later(why);
    }
}

void guarding::try_later(const std::string& why)
{
    basics_.log.write(
        log_level::warning,
        "no session guard: " + why +
            "; until there is one, the session of a dead process ends by its time-out");
    retry_.start(first_restart_pause * (1U << std::min(failures_++, most_doublings)), [this] {
        if (known_) {
            tell();
        }
    });
}

void guarding::discard() noexcept
{
    watcher_ = nullptr;
    retry_.discard();
    tls_ = {};
}

} // namespace colock::detail

std::string colock::installed_session_guard()
{
    return COLOCK_SESSION_GUARD;
}
