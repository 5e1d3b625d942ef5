#include "fake_names.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>

#include <algorithm>
#include <mutex>

namespace colock::test {

namespace {

std::mutex mutex;
std::vector<fake_names::lookup> record; // guarded by mutex

bool is_number(const char* node)
{
    in6_addr address{};
    return ::inet_pton(AF_INET, node, &address) == 1 || ::inet_pton(AF_INET6, node, &address) == 1;
}

} // namespace

std::vector<fake_names::lookup> fake_names::lookups()
{
    const std::lock_guard lock{mutex};
    return record;
}

std::size_t fake_names::count(const std::string& name)
{
    const auto all = lookups();
    return static_cast<std::size_t>(std::ranges::count(all, name, &lookup::name));
}

bool fake_names::any_in_this_thread()
{
    const auto all = lookups();
    return std::ranges::find(all, std::this_thread::get_id(), &lookup::thread) != all.end();
}

} // namespace colock::test

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** result)
{
    using namespace colock::test;
    using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
    static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    if (node == nullptr || is_number(node))
        return real(node, service, hints, result);
    const std::string name = node;
    {
        const std::lock_guard lock{mutex};
        record.push_back({name, std::this_thread::get_id()});
    }
    if (name == "slow.test")
        std::this_thread::sleep_for(fake_names::slowness);
    else if (name == "failing.test")
        return EAI_AGAIN;
    else if (name != "good.test" && name != "other.test")
        return EAI_NONAME;
    return real("127.0.0.1", service, hints, result);
}
