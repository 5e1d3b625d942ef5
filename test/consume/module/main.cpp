#include <colock/testing/server.hpp>

#include <string>

bool is_locked(const std::string& hosts); // lock.cpp

int main()
{
    const colock::testing::server server;
    return is_locked(server.hosts()) ? 0 : 1;
}
