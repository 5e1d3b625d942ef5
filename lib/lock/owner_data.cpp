// The data of a lock's nodes, which name the owner.
#include <colock/queue_view.hpp>

#include "names/revocation.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno> // program_invocation_short_name
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace colock {

namespace {

constexpr std::string_view host_key = "host=", pid_key = " pid=", under_key = " under=/",
                           program_key = " program=";

std::string in_one_line(std::string text)
{
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return text;
}

} // namespace

// A forked child has another one than its parent, to whose text others may refer.
const std::string& default_owner_data()
{
    struct known_text {
        pid_t process;
        std::string text;
        const known_text* before;
    };
    static std::atomic<const known_text*> last{nullptr};
    const auto* known = last.load();
    const auto process = ::getpid();
    while (known == nullptr || known->process != process) {
        char host[256] = "";
        ::gethostname(host, sizeof host - 1);
        auto made = std::make_unique<const known_text>(
            known_text{process,
                       std::string{host_key} + in_one_line(host) + std::string{pid_key} +
                           std::to_string(process) + std::string{program_key} +
                           in_one_line(program_invocation_short_name),
                       known});
        if (last.compare_exchange_strong(known, made.get())) {
            known = made.release();
        }
    }
    return known->text;
}

bool queue_entry::is_revoked() const
{
    return protocol::was_asked_for(data);
}

owner_info parse_owner(std::string_view data)
{
    data = protocol::without_mark(data);
    owner_info o{.text = std::string{data}};
    const auto pid_at = data.find(pid_key);
    const auto program_at = data.find(program_key, pid_at);
    if (!data.starts_with(host_key) || program_at == data.npos) {
        return o;
    }
    auto digits = data.substr(pid_at + pid_key.size(), program_at - pid_at - pid_key.size());
    std::optional<std::string> under;
    if (const auto at = digits.find(under_key); at != digits.npos) {
        under = digits.substr(at + under_key.size() - 1); // with its '/'
        digits = digits.substr(0, at);
    }
    std::int64_t pid = 0;
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
    if (ec != std::errc{} || end != digits.data() + digits.size()) {
        return o;
    }
    o.host = data.substr(host_key.size(), pid_at - host_key.size());
    o.pid = pid;
    o.under = std::move(under);
    o.program = data.substr(program_at + program_key.size()); // the last one: it may contain blanks
    return o;
}

} // namespace colock
