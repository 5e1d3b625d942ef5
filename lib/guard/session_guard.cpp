#include "guard/session_guard.hpp"

#include "guard/session_ending.hpp"
#include "report/boot_clock.hpp"
#include "zk/secret.hpp"

#include <boost/asio/post.hpp>

#include <memory>
#include <utility>

namespace colock::guard {

namespace {

std::chrono::nanoseconds now()
{
    return detail::boot_clock::now();
}

} // namespace

session_guard::session_guard(asio::any_io_executor executor, bool needs_consent,
                             std::function<bool()> owner_lives, std::function<void()> exit)
    : executor_{std::move(executor)}, strand_{zk::strand_base{executor_}}, owner_lives_{std::move(
                                                                               owner_lives)},
      exit_{std::move(exit)}, timer_{executor_}, rules_{needs_consent}
{
    decide(); // the owner lives now
}

bool session_guard::told(std::string_view message, std::string& tls_material)
{
    auto said = decode(message);
    if (!said) {
        return false;
    }
    const auto client = said->client;
    if (said->identity.id == 0) {
        rules_.has_none(client);
    } else {
        said->last ? rules_.has_left_session(client, said->timeout, now())
                   : rules_.has_session(client, said->timeout);
        auto& known = sessions_[client];
        known.session = std::move(*said);
        known.tls.text.swap(tls_material);
    }
    zk::wipe(tls_material);
    decide();
    return true;
}

void session_guard::channel_ended()
{
    rules_.channel_ended(now());
    decide();
}

void session_guard::owner_died()
{
    rules_.owner_died(now());
    decide();
}

void session_guard::consented(bool yes)
{
    yes ? rules_.consented() : rules_.consent_denied();
    decide();
}

void session_guard::decide()
{
    if (const auto then = now(); owner_lives_()) {
        rules_.owner_lived(then);
    }
    const auto d = rules_.decide(now());
    std::erase_if(sessions_, [this](const auto& each) { return !rules_.knows(each.first); });
    if (d.exit) {
        exit_();
        return;
    }
    for (const auto& [client, until] : d.end) {
        ++endings_;
        end(sessions_.at(client), until);
    }
    if (d.next) {
        timer_.expires_after(*d.next - now());
        timer_.async_wait([this](const error_code& ec) {
            if (!ec) {
                decide();
            }
        });
    }
}

void session_guard::end(known_session& known, rules::time until)
{
    auto context = known.session.tls ? context_of_material(known.tls.text) : nullptr;
    if (known.session.tls && !context) {
        ended();
        return;
    }
    std::make_shared<session_ending>(executor_, strand_, std::move(known.session),
                                     std::move(context))
        ->start(until, [this] { ended(); });
}

void session_guard::ended()
{
    if (--endings_ == 0) {
        asio::post(executor_, [this] {
            if (endings_ == 0) {
                exit_();
            }
        });
    }
}

} // namespace colock::guard
