#include "zk/hosts.hpp"

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <charconv>

namespace colock::zk {

namespace {

constexpr std::string_view default_port = "2181";

bool valid_port(std::string_view text) noexcept
{
    unsigned port = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
    return failed == std::errc{} && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

bool valid_name(std::string_view name) noexcept
{
    return !name.empty() && name.size() <= 253 && std::ranges::all_of(name, [](unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '.' || c == '_';
    });
}

// Some resolvers take it for an address: 6 for 0.0.0.6.
bool is_number(std::string_view name) noexcept
{
    return !name.empty() &&
           std::ranges::all_of(name, [](unsigned char c) { return c >= '0' && c <= '9'; });
}

bool is_control(unsigned char c) noexcept
{
    return c < 0x20 || c == 0x7f;
}

// The C client's form: an IPv6 address has no brackets.
std::string numeric(const std::string& address, const std::string& port)
{
    return address + ':' + port;
}

// Empty detail: the item is fine.
std::string parse_item(std::string_view item, host& out)
{
    auto quoted = '"' + std::string{item} + '"';
    std::ranges::replace_if(quoted, is_control, '?');
    if (item.empty()) {
        return "an entry is empty; write \"host:port,host:port\"";
    }
    // Whatever reads an address may stop at the one, or take the other for the scope of an IPv6 address.
    if (std::ranges::any_of(item, is_control)) {
        return quoted + " contains a control character";
    }
    if (const auto scheme = item.find("://"); scheme != item.npos) {
        return quoted + " begins like an address of the web; write the servers alone, without \"" +
               std::string{item.substr(0, scheme)} + "://\", such as \"host:port,host:port\"";
    }
    if (item.find('/') != item.npos) {
        return quoted + " contains a slash; the chroot is an option of its own";
    }
    std::string_view name = item;
    std::string_view port = default_port;
    const bool bracketed = item.front() == '[';
    if (bracketed) {
        const auto close = item.find(']');
        if (close == std::string_view::npos) {
            return quoted + " lacks the closing bracket";
        }
        name = item.substr(1, close - 1);
        const auto rest = item.substr(close + 1);
        if (!rest.empty()) {
            if (rest.front() != ':') {
                return quoted + " has something other than a port after the bracket";
            }
            port = rest.substr(1);
        }
    } else if (const auto colon = item.find(':'); colon != std::string_view::npos) {
        if (item.find(':', colon + 1) != std::string_view::npos) {
            return quoted +
                   " has more than one colon; write an IPv6 address in brackets, \"[::1]:2181\"";
        }
        name = item.substr(0, colon);
        port = item.substr(colon + 1);
    }
    if (is_number(name)) {
        return quoted + " has a number in place of a host; write \"host:port,host:port\"";
    }
    if (!valid_port(port)) {
        return quoted + " has a port that is not a number from 1 to 65535";
    }
    error_code not_an_address;
    const auto address = asio::ip::make_address(std::string{name}, not_an_address);
    const bool literal = !not_an_address;
    if (bracketed && (!literal || !address.is_v6())) {
        return quoted + " has no IPv6 address in its brackets";
    }
    if (!literal && !valid_name(name)) {
        return quoted + " is neither a host name nor an address";
    }
    out = {std::string{name}, std::string{port}, literal};
    return {};
}

// Other clients take blanks around an entry, too.
std::string_view without_blanks(std::string_view text) noexcept
{
    constexpr std::string_view blanks = " \t";
    const auto begin = std::min(text.find_first_not_of(blanks), text.size());
    const auto end = text.find_last_not_of(blanks) + 1; // 0 when there is nothing else
    return text.substr(begin, end - std::min(begin, end));
}

} // namespace

bool is_host(std::string_view text)
{
    error_code not_an_address;
    asio::ip::make_address(std::string{text}, not_an_address);
    return !not_an_address || (valid_name(text) && !text.starts_with('.') && !text.ends_with('.'));
}

parsed_hosts parse_hosts(std::string_view list)
{
    parsed_hosts parsed;
    const auto fail = [&](std::string detail) {
        parsed.hosts.clear();
        parsed.error = errc::invalid_hosts;
        parsed.detail = "hosts: " + std::move(detail);
        return parsed;
    };
    list = without_blanks(list);
    if (list.empty()) {
        return fail("the list is empty; write \"host:port,host:port\"");
    }
    if (list.size() > 1 && list.ends_with(',')) { // as other clients do
        list.remove_suffix(1);
    }
    for (std::size_t begin = 0; begin <= list.size();) {
        const auto end = std::min(list.find(',', begin), list.size());
        host parsed_host;
        if (auto detail = parse_item(without_blanks(list.substr(begin, end - begin)), parsed_host);
            !detail.empty()) {
            return fail(std::move(detail));
        }
        parsed.hosts.push_back(std::move(parsed_host));
        begin = end + 1;
    }
    return parsed;
}

address_book::~address_book()
{
    forget_lookups();
}

void address_book::assign(std::vector<host> hosts)
{
    if (std::ranges::equal(hosts, entries_, {}, {}, &entry::from)) {
        return; // what is known of them stays
    }
    forget_lookups();
    auto before = std::exchange(entries_, {});
    for (auto& h : hosts) {
        if (const auto at = std::ranges::find(before, h, &entry::from); at != before.end()) {
            entries_.push_back(std::move(*at)); // what is known of it stays
            continue;
        }
        auto& added = entries_.emplace_back();
        if (h.literal) {
            added.addresses.push_back(numeric(h.name, h.port));
        }
        added.from = std::move(h);
    }
}

void address_book::refresh(std::function<void()> changed)
{
    changed_ = std::move(changed);
    for (const auto& each : entries_) {
        const auto& name = each.from.name;
        if (!each.from.literal && !lookups_.contains(name)) {
            lookups_[name] =
                look_up(strand_, name, [weak = weak_from_this(), name](const found_addresses& all) {
                    if (const auto self = weak.lock()) {
                        self->answered(name, all.error, all.addresses);
                    }
                });
        }
    }
    if (pending()) {
        work_ = asio::prefer(executor_, asio::execution::outstanding_work.tracked);
    }
}

void address_book::answered(const std::string& name, const error_code& ec,
                            const std::vector<std::string>& addresses)
{
    lookups_.erase(name);
    if (ec) {
        // What was known of the name stays: a failing name server is no reason to forget it.
        last_failure_ = "host " + name + ": " + ec.message();
    } else {
        for (auto& each : entries_) {
            if (each.from.name == name) {
                each.former = std::exchange(each.addresses, {});
                for (const auto& address : addresses) {
                    each.addresses.push_back(numeric(address, each.from.port));
                }
            }
        }
    }
    if (!pending()) {
        work_.reset();
    }
    if (changed_) {
        changed_();
    }
}

std::vector<std::string> address_book::addresses()
{
    std::vector<std::string> all;
    for (const auto& e : entries_) {
        all.insert(all.end(), e.addresses.begin(), e.addresses.end());
    }
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::ranges::shuffle(all, random_);
    return all;
}

std::vector<std::string> address_book::names_of(const std::string& address) const
{
    std::vector<std::string> names;
    for (const auto& e : entries_) {
        const bool stands_for = std::ranges::find(e.addresses, address) != e.addresses.end() ||
                                std::ranges::find(e.former, address) != e.former.end();
        if (stands_for && std::ranges::find(names, e.from.name) == names.end()) {
            names.push_back(e.from.name);
        }
    }
    return names;
}

void address_book::cancel()
{
    changed_ = nullptr;
    work_.reset();
}

void address_book::forget_lookups() noexcept
{
    for (const auto& [name, lookup] : lookups_) {
        lookup->forget();
    }
    lookups_.clear();
}

} // namespace colock::zk
