#include "guard/guarded_session.hpp"

#include "zk/frame_fields.hpp"
#include "zk/secret.hpp"

#include <algorithm>
#include <utility>

namespace colock::guard {

namespace {

using zk::append;

// Of what is said, not of colock: to be changed with encode(), and with material_of().
constexpr std::string_view version = "colock session guard 3";

} // namespace

guarded_session::~guarded_session()
{
    zk::wipe(identity);
    zk::wipe(credentials);
}

std::string encode(const guarded_session& s)
{
    std::size_t size = 256 + version.size() + s.hosts.size() + s.tls_server_name.size() +
                       s.identity.password.size();
    for (const auto& each : s.credentials) {
        size += each.scheme.size() + each.secret.size() + 16;
    }
    std::string message;
    message.reserve(size); // one that grows would leave copies of secrets
    append(message, version);
    append(message, s.client);
    append(message, s.identity.id);
    append(message, std::string_view{s.identity.password.data(), s.identity.password.size()});
    append(message, std::int64_t{s.timeout.count()});
    append(message, s.hosts);
    append(message, std::uint64_t{s.credentials.size()});
    for (const auto& each : s.credentials) {
        append(message, each.scheme);
        append(message, each.secret);
    }
    append(message, s.last);
    append(message, s.tls);
    append(message, s.tls_server_name);
    append(message, static_cast<std::int32_t>(s.tls_verify));
    return message;
}

std::optional<guarded_session> decode(std::string_view message)
{
    zk::frame_fields from{message};
    if (from.counted() != version) {
        return std::nullopt;
    }
    std::optional<guarded_session> s{std::in_place};
    s->client = static_cast<std::uint64_t>(from.longer());
    s->identity.id = from.longer();
    const auto password = from.counted();
    if (password.size() != s->identity.password.size()) {
        return std::nullopt;
    }
    std::ranges::copy(password, s->identity.password.begin());
    s->timeout = std::chrono::milliseconds{from.longer()};
    s->hosts = from.counted();
    const auto credentials = static_cast<std::uint64_t>(from.longer());
    if (credentials > message.size()) {
        return std::nullopt;
    }
    s->credentials.resize(credentials); // a vector that grows would leave copies of secrets
    for (auto& each : s->credentials) {
        each.scheme = from.counted();
        each.secret = from.counted();
    }
    s->last = from.boolean();
    s->tls = from.boolean();
    s->tls_server_name = from.counted();
    s->tls_verify = static_cast<tls_verification>(from.integer());
    return !from.cut() && from.left() == 0 ? std::move(s) : std::nullopt;
}

} // namespace colock::guard
