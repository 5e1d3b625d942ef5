#include "guard/guarded_session.hpp"

#include "guard/fields.hpp"
#include "zk/secret.hpp"

#include <algorithm>

namespace colock::guard {

namespace {

// Of what is said, not of colock: to be changed with encode(). Numbers are in the machine's own order.
constexpr std::string_view version = "colock session guard 1";

} // namespace

guarded_session::~guarded_session()
{
    zk::wipe(identity);
    zk::wipe(credentials);
}

guarded_session& guarded_session::operator=(guarded_session&& other) noexcept
{
    std::swap(client, other.client);
    std::swap(identity, other.identity);
    std::swap(timeout, other.timeout);
    hosts.swap(other.hosts);
    chroot.swap(other.chroot);
    credentials.swap(other.credentials);
    std::swap(last, other.last);
    std::swap(tls, other.tls);
    tls_server_name.swap(other.tls_server_name);
    std::swap(tls_verify, other.tls_verify);
    return *this; // what was here is overwritten with `other`
}

std::string encode(const guarded_session& s)
{
    std::size_t size = 256 + version.size() + s.hosts.size() + s.chroot.size() +
                       s.tls_server_name.size() + s.identity.password.size();
    for (const auto& each : s.credentials) {
        size += each.scheme.size() + each.secret.size() + 16;
    }
    std::string message;
    message.reserve(size); // one that grows would leave copies of secrets
    field_writer to{message};
    to.add(version);
    to.add(s.client);
    to.add(s.identity.id);
    to.add(std::string_view{s.identity.password.data(), s.identity.password.size()});
    to.add(std::int64_t{s.timeout.count()});
    to.add(s.hosts);
    to.add(s.chroot);
    to.add(std::uint64_t{s.credentials.size()});
    for (const auto& each : s.credentials) {
        to.add(each.scheme);
        to.add(each.secret);
    }
    to.add(s.last);
    to.add(s.tls);
    to.add(s.tls_server_name);
    to.add(static_cast<int>(s.tls_verify));
    return message;
}

std::optional<guarded_session> decode(std::string_view message)
{
    field_reader from{message};
    if (from.text() != version) {
        return std::nullopt;
    }
    std::optional<guarded_session> s{std::in_place};
    s->client = from.number<std::uint64_t>();
    s->identity.id = from.number<std::int64_t>();
    const auto password = from.text();
    if (password.size() != s->identity.password.size()) {
        return std::nullopt;
    }
    std::ranges::copy(password, s->identity.password.begin());
    s->timeout = std::chrono::milliseconds{from.number<std::int64_t>()};
    s->hosts = from.text();
    s->chroot = from.text();
    const auto credentials = from.number<std::uint64_t>();
    if (credentials > message.size()) {
        return std::nullopt;
    }
    s->credentials.resize(credentials); // a vector that grows would leave copies of secrets
    for (auto& each : s->credentials) {
        each.scheme = from.text();
        each.secret = from.text();
    }
    s->last = from.number<bool>();
    s->tls = from.number<bool>();
    s->tls_server_name = from.text();
    s->tls_verify = static_cast<tls_verification>(from.number<int>());
    return from.is_at_end() ? std::move(s) : std::nullopt;
}

} // namespace colock::guard
