#include "admin_session.hpp"

#include "jute.hpp"
#include "wire_connection.hpp"

#include <algorithm>
#include <utility>

namespace colock::test {

namespace {

constexpr int error_no_node = -101;
constexpr int error_node_exists = -110;
constexpr int connection_loss = -4;
constexpr int session_expired = -112;

admin_session::stat read_stat(jute_reader& in)
{
    admin_session::stat s;
    s.czxid = in.longer();
    s.mzxid = in.longer();
    s.ctime = in.longer();
    s.mtime = in.longer();
    s.version = in.integer();
    s.cversion = in.integer();
    s.aversion = in.integer();
    s.ephemeral_owner = in.longer();
    s.data_length = in.integer();
    s.num_children = in.integer();
    s.pzxid = in.longer();
    return s;
}

void write_acl(jute_writer& out, std::vector<admin_session::acl_entry> const& acl)
{
    out.integer(static_cast<std::int32_t>(acl.size()));
    for (auto const& entry : acl)
        out.integer(entry.permissions).text(entry.scheme).text(entry.id);
}

} // namespace

std::string describe_zookeeper_error(int code)
{
    auto const name = [code] {
        switch (code) {
        case 0: return "ok";
        case -2: return "runtime inconsistency";
        case connection_loss: return "connection lost, outcome unknown";
        case -5: return "marshalling error";
        case -6: return "unimplemented";
        case -8: return "bad arguments";
        case error_no_node: return "no node";
        case -102: return "no authority (the ACL forbids it)";
        case -103: return "bad version";
        case -108: return "no children for ephemerals";
        case error_node_exists: return "node exists";
        case -111: return "not empty";
        case session_expired: return "session expired";
        case -114: return "invalid ACL";
        case -115: return "authentication failed";
        case -118: return "session moved";
        default: return "error";
        }
    }();
    return std::string(name) + " (" + std::to_string(code) + ")";
}

struct admin_session::impl {
    std::vector<host_and_port> hosts;
    options chosen;
    session_identity session;
    std::optional<wire_connection> connection;
    std::vector<std::pair<std::string, std::string>> credentials;
    time_limit last_contact{};
    bool has_ephemerals = false;

    [[noreturn]] static void fail(int code, std::string const& what, std::string const& why = {})
    {
        throw admin_error(code, "admin_session: " + what + ": " +
                                    (why.empty() ? describe_zookeeper_error(code) : why));
    }

    void connect(session_identity const& wanted, time_limit until)
    {
        std::string reasons;
        for (auto const& host : hosts) {
            try {
                connection.emplace(host, wanted, until);
                if (!connection->refused())
                    session = connection->session();
                last_contact = std::chrono::steady_clock::now();
                return;
            } catch (std::runtime_error const& failure) {
                connection.reset();
                reasons += reasons.empty() ? failure.what() : std::string("; ") + failure.what();
            }
        }
        fail(connection_loss, "connect", reasons);
    }

    // Leaves a usable connection. An idle one is tried first, so that an operation does not end in
    // "outcome unknown" only because the server was restarted since the last one.
    void ensure_connected(time_limit until)
    {
        if (connection && !connection->looks_broken()) {
            if (std::chrono::steady_clock::now() - last_contact < session.timeout / 3)
                return;
            try {
                connection->call(opcode::ping, {}, until);
                last_contact = std::chrono::steady_clock::now();
                return;
            } catch (std::runtime_error const&) {
                // below
            }
        }
        connection.reset();
        connect(session, until);
        if (connection->refused()) {
            if (has_ephemerals)
                fail(session_expired, "connect again",
                     "the session expired, and with it the ephemeral nodes that were made in it");
            session = {};
            connect({0, {}, chosen.session_timeout}, until);
            if (connection->refused())
                fail(session_expired, "connect", "the server refuses a new session");
        }
        for (auto const& [scheme, secret] : credentials)
            authenticate(scheme, secret, until);
    }

    void authenticate(std::string const& scheme, std::string const& secret, time_limit until)
    {
        auto const body = jute_writer().integer(0).text(scheme).text(secret).bytes();
        auto const answer = exchange(opcode::auth, body, "add_auth " + scheme, until);
        if (answer.error)
            fail(answer.error, "add_auth " + scheme);
    }

    wire_connection::reply exchange(opcode which, std::string_view body, std::string const& what,
                                    time_limit until)
    {
        try {
            auto answer = connection->call(which, body, until);
            last_contact = std::chrono::steady_clock::now();
            return answer;
        } catch (std::runtime_error const& failure) {
            connection.reset();
            fail(connection_loss, what, std::string(failure.what()) + " (outcome unknown)");
        }
    }

    wire_connection::reply call(opcode which, std::string_view body, std::string_view path)
    {
        auto const until = after(chosen.deadline);
        ensure_connected(until);
        return exchange(which, body, name(which, path), until);
    }

    static std::string name(opcode which, std::string_view path)
    {
        return std::string(name_of(which)) + " " + std::string(path);
    }

    std::string require(opcode which, std::string_view body, std::string_view path)
    {
        auto answer = call(which, body, path);
        if (answer.error)
            fail(answer.error, name(which, path));
        return std::move(answer.body);
    }
};

admin_session::admin_session(std::string_view connect_string)
    : admin_session(connect_string, options())
{
}

admin_session::admin_session(std::string_view connect_string, options const& chosen)
    : impl_(std::make_unique<impl>())
{
    impl_->hosts = parse_hosts(connect_string);
    impl_->chosen = chosen;
    impl_->connect({0, {}, chosen.session_timeout}, after(chosen.deadline));
    if (impl_->connection->refused())
        impl::fail(session_expired, "connect", "the server refuses a new session");
}

admin_session::admin_session(admin_session&& other) noexcept = default;

// A swap: the session that was here is closed by the other object's destructor.
admin_session& admin_session::operator=(admin_session&& other) noexcept
{
    impl_.swap(other.impl_);
    return *this;
}

admin_session::~admin_session()
{
    if (!impl_)
        return;
    // A server that does not answer must not hold up the end of a test for long.
    impl_->chosen.deadline = std::min(impl_->chosen.deadline, std::chrono::milliseconds(2000));
    try {
        close();
    } catch (std::exception const&) {
        // Nobody is there to be told; the session ends by its time-out.
    }
}

std::string admin_session::create(std::string_view path, std::string_view data, mode how,
                                  std::vector<acl_entry> const& acl)
{
    jute_writer out;
    out.text(path).text(data);
    write_acl(out, acl);
    out.integer(static_cast<std::int32_t>(how));
    bool const ephemeral = how == mode::ephemeral || how == mode::ephemeral_sequential;
    // Set first: also a node whose reply is lost must not be lost silently.
    impl_->has_ephemerals = impl_->has_ephemerals || ephemeral;
    auto const which = how == mode::container ? opcode::create_container : opcode::create;
    auto const body = impl_->require(which, out.bytes(), path);
    return std::string(jute_reader(body).text());
}

void admin_session::create_path(std::string_view path)
{
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        auto const part = path.substr(0, end);
        try {
            create(part);
        } catch (admin_error const& failure) {
            if (failure.code() != error_node_exists)
                throw;
        }
        if (end == path.npos)
            return;
    }
}

void admin_session::remove(std::string_view path, std::int32_t version)
{
    impl_->require(opcode::remove, jute_writer().text(path).integer(version).bytes(), path);
}

bool admin_session::remove_if_there(std::string_view path)
{
    try {
        remove(path);
        return true;
    } catch (admin_error const& failure) {
        if (failure.code() != error_no_node)
            throw;
        return false;
    }
}

void admin_session::remove_tree(std::string_view path)
{
    try {
        for (auto const& child : children(path))
            remove_tree((path == "/" ? "" : std::string(path)) + "/" + child);
    } catch (admin_error const& failure) {
        if (failure.code() != error_no_node)
            throw;
        return;
    }
    remove_if_there(path);
}

std::optional<admin_session::stat> admin_session::exists(std::string_view path)
{
    auto const answer =
        impl_->call(opcode::exists, jute_writer().text(path).boolean(false).bytes(), path);
    if (answer.error == error_no_node)
        return std::nullopt;
    if (answer.error)
        impl::fail(answer.error, impl::name(opcode::exists, path));
    jute_reader in(answer.body);
    return read_stat(in);
}

std::string admin_session::get(std::string_view path, stat* details)
{
    auto const body =
        impl_->require(opcode::get_data, jute_writer().text(path).boolean(false).bytes(), path);
    jute_reader in(body);
    std::string data(in.text());
    if (details)
        *details = read_stat(in);
    return data;
}

void admin_session::watch(std::string_view path)
{
    impl_->require(opcode::get_data, jute_writer().text(path).boolean(true).bytes(), path);
}

admin_session::stat admin_session::set(std::string_view path, std::string_view data,
                                       std::int32_t version)
{
    auto const body = impl_->require(
        opcode::set_data, jute_writer().text(path).text(data).integer(version).bytes(), path);
    jute_reader in(body);
    return read_stat(in);
}

std::vector<std::string> admin_session::children(std::string_view path)
{
    auto const body =
        impl_->require(opcode::get_children, jute_writer().text(path).boolean(false).bytes(), path);
    jute_reader in(body);
    std::vector<std::string> names;
    for (auto count = in.integer(); count > 0; --count)
        names.emplace_back(in.text());
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<admin_session::acl_entry> admin_session::open_to_all()
{
    return {acl_entry{}};
}

std::vector<admin_session::acl_entry> admin_session::get_acl(std::string_view path)
{
    auto const body = impl_->require(opcode::get_acl, jute_writer().text(path).bytes(), path);
    jute_reader in(body);
    std::vector<acl_entry> acl;
    for (auto count = in.integer(); count > 0; --count) {
        acl_entry entry;
        entry.permissions = in.integer();
        entry.scheme = in.text();
        entry.id = in.text();
        acl.push_back(std::move(entry));
    }
    return acl;
}

admin_session::stat admin_session::set_acl(std::string_view path, std::vector<acl_entry> const& acl,
                                           std::int32_t version)
{
    jute_writer out;
    out.text(path);
    write_acl(out, acl);
    out.integer(version);
    auto const body = impl_->require(opcode::set_acl, out.bytes(), path);
    jute_reader in(body);
    return read_stat(in);
}

void admin_session::add_auth(std::string_view scheme, std::string_view credentials)
{
    auto const until = after(impl_->chosen.deadline);
    impl_->ensure_connected(until);
    impl_->authenticate(std::string(scheme), std::string(credentials), until);
    impl_->credentials.emplace_back(scheme, credentials);
}

void admin_session::reconfigure(std::string_view joining, std::string_view leaving)
{
    impl_->require(opcode::reconfig,
                   jute_writer().text(joining).text(leaving).integer(-1).longer(-1).bytes(),
                   "/zookeeper/config");
}

void admin_session::sync(std::string_view path)
{
    impl_->require(opcode::sync, jute_writer().text(path).bytes(), path);
}

void admin_session::ping()
{
    impl_->require(opcode::ping, {}, {});
}

void admin_session::set_deadline(std::chrono::milliseconds deadline)
{
    impl_->chosen.deadline = deadline;
}

std::int64_t admin_session::session_id() const
{
    return impl_->session.id;
}

std::string admin_session::password() const
{
    return impl_->session.password;
}

std::chrono::milliseconds admin_session::session_timeout() const
{
    return impl_->session.timeout;
}

void admin_session::close()
{
    auto const finished = std::move(impl_);
    if (finished->connection)
        finished->exchange(opcode::close, {}, "close", after(finished->chosen.deadline));
}

void admin_session::abandon()
{
    impl_.reset();
}

} // namespace colock::test
