#include "guard/session_guard.hpp"

#include "report/boot_clock.hpp"
#include "zk/secret.hpp"

namespace colock::guard {

namespace {

std::chrono::nanoseconds now()
{
    return detail::boot_clock::now();
}

} // namespace

session_guard::session_guard(const asio::any_io_executor& executor, bool needs_consent,
                             std::function<bool()> owner_lives,
                             std::function<void(std::vector<ending>)> end,
                             std::function<void()> exit)
    : owner_lives_{std::move(owner_lives)}, end_{std::move(end)}, exit_{std::move(exit)},
      timer_{executor}, rules_{needs_consent}
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
        sessions_.erase(client);
        auto& [session, tls] =
            sessions_.emplace(client, std::pair{std::move(*said), guard::tls_material{}})
                .first->second;
        tls.text.swap(tls_material);
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
    if (!d.end.empty()) {
        std::vector<ending> all;
        for (const auto& [client, until] : d.end) {
            auto& [session, tls] = sessions_.at(client);
            all.push_back({std::move(session), std::move(tls), until});
        }
        end_(std::move(all));
        return;
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

} // namespace colock::guard
