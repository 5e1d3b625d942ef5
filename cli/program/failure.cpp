#include "program/failure.hpp"

#include <colock/log.hpp>

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace colock::cli {

namespace {

struct advice {
    exit_status status;
    std::string_view what_to_do;
};

// Whether the servers are those that colock tries when nobody names others.
bool& tries_default_servers() noexcept
{
    static bool is_so = false;
    return is_so;
}

advice advice_for(const error_code& ec)
{
    if (ec == errc::unknown_host || ec == errc::no_server || ec == errc::connect_timeout ||
        ec == errc::disconnected || ec == errc::no_answer || ec == errc::not_connected ||
        ec == zookeeper_errc::connection_loss) {
        return {no_zookeeper, tries_default_servers()
                                  ? "no servers are named, so this is the default, "
                                    "localhost:2181; name yours by --servers or COLOCK_SERVERS, "
                                    "or start `colock serve`"
                                  : "check --servers (or COLOCK_SERVERS) and the network; "
                                    "`colock doctor` tells more"};
    }
    if (ec == errc::tls_failed) {
        return {no_zookeeper, "check --tls-ca, --tls-cert, --tls-server-name and the port"};
    }
    if (ec == errc::no_chroot) {
        return {refused,
                "create the node that --servers names behind the last server: `colock root`, given "
                "it as PATH, and --servers without it, makes a protected one"};
    }
    if (ec == zookeeper_errc::auth_failed) {
        return {refused, "check the file of --auth"};
    }
    if (ec == zookeeper_errc::session_closed_require_sasl_auth) {
        return {refused, "use --sasl, --auth or --tls-cert, with an identity of a scheme in the "
                         "servers' enforce.auth.schemes"};
    }
    if (ec == zookeeper_errc::ephemeral_on_local_session) {
        return {refused, "set localSessionsUpgradingEnabled=true, or leave out "
                         "localSessionsEnabled, in the servers' zoo.cfg"};
    }
    if (ec == zookeeper_errc::no_auth) {
        return {refused, "use --auth with an identity that may, or change the access control list"};
    }
    if (ec == errc::conflicting_kind) {
        return {refused, "use the kind of lock that the others use, or another path"};
    }
    if (ec == condition::lock_lost) {
        return {lost, {}};
    }
    if (ec == errc::invalid_path || ec == errc::invalid_hosts || ec == errc::invalid_option ||
        ec == errc::too_many_permits) {
        return {usage, {}};
    }
    if (ec.category() == boost::system::system_category() ||
        ec.category() == boost::system::generic_category()) {
        return {usage, {}}; // this machine, such as too many open files
    }
    return {refused, {}};
}

// Longer names before those that they contain.
constexpr std::pair<std::string_view, std::string_view> option_names[] = {
    {"; check that node's access control list and client_options::credentials",
     ""}, // see advice_for()
    {"; check the node's access control list and client_options::credentials", ""},
    {"; check client_options::credentials", ""},
    {"; use the same kind, or another path", ""},
    {"; create that node first", ""},
    {" (client_options::max_session_size)", ""},
    {"client_options::hosts", "--servers"},
    {"hosts: ", "--servers: "},
    {"another lock object of this client uses", "others use"},
    {"client_options::chroot", "the chroot of --servers"},
    {"client_options::tick", "--tick"},
    {"client_options::connect_timeout", "--connect-timeout"},
    {"client_options::credentials", "--auth"},
    {"set client_options::acl to creator_acl()", "give --acl creator"},
    {"replace the list by client::async_set_acl", "replace the list (`colock root --take-over`)"},
    {"client_options::acl", "--acl"},
    {"client_options::max_request_size", "what the servers take by default"},
    {"set shards_options::redefine", "give --redefine"},
    {"and the context has none", "and there is none; give --tls-cert and --tls-key"},
    {"await async_connect() first", "that is a fault of colock"},
    {"the diagnostics of the operation say which", "see --help"},
    {"; the diagnostics of the operation say why, of the last server", ""},
    {"the single_node_mutex", "the lock of a single node"},
    {"close_timeout is ", "--release-timeout is "},
    {"connect_timeout is ", "--connect-timeout is "},
    {"session_timeout", "--session-timeout"},
    {"safety_margin", "--safety-margin"},
    {"owner_data", "the data of the lock's node"},
    {"tick is ", "--tick is "},
};

bool is_of_a_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '/' || c == ':';
}

} // namespace

void advise_on_default_servers() noexcept
{
    tries_default_servers() = true;
}

std::string in_own_words(std::string_view text)
{
    std::string out;
    while (!text.empty()) {
        const bool begins_word = out.empty() || !is_of_a_word(out.back());
        const auto* const known = std::ranges::find_if(
            option_names, [&](const auto& n) { return text.starts_with(n.first); });
        const bool is_name =
            known != std::end(option_names) && (begins_word || !is_of_a_word(text.front()));
        out += is_name ? known->second : text.substr(0, 1);
        text.remove_prefix(is_name ? known->first.size() : 1);
    }
    return out;
}

namespace {

// A path of thousands of characters hides what is said of it.
std::string with_short_words(std::string_view text)
{
    constexpr std::size_t longest = 240, beginning = 160, end = 40;
    std::string out;
    while (!text.empty()) {
        const auto word = text.substr(0, text.find(' '));
        if (word.size() > longest) {
            out += word.substr(0, beginning);
            out += "...";
            out += word.substr(word.size() - end);
        } else {
            out += word;
        }
        text.remove_prefix(word.size());
        const auto blanks = std::min(text.find_first_not_of(' '), text.size());
        out += text.substr(0, blanks);
        text.remove_prefix(blanks);
    }
    return out;
}

} // namespace

failure failure_of(const error_code& ec, std::string_view detail)
{
    const auto [status, what_to_do] = advice_for(ec);
    auto text = with_short_words(detail.empty() ? ec.message() : detail);
    if (detail.size() >= longest_line) { // the library has cut off what follows a path
        text += ": " + ec.message();
    }
    auto line = in_own_words(printable(text, longest_line));
    if (!what_to_do.empty()) {
        line += "; ";
        line += what_to_do;
    }
    return {status, line};
}

failure failure_of(const std::exception_ptr& thrown)
{
    try {
        std::rethrow_exception(thrown);
    } catch (const failure& e) {
        return e;
    } catch (const boost::system::system_error& e) {
        return failure_of(e.code(), e.what());
    } catch (const std::exception& e) {
        return {usage, e.what()};
    }
}

} // namespace colock::cli
