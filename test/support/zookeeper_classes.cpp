// zookeeper_classes DIRECTORY: what the Java machine makes of a server's classes, kept there (Java's class data sharing). A
// server that starts with it needs half of the processor's time for that. zookeeper_server looks for it.
#include "admin_session.hpp"
#include "certificates.hpp"
#include "temporary_directory.hpp"
#include "zookeeper_server.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

using namespace colock::test;

namespace {

void keep_classes(zookeeper_options options, std::string const& file)
{
    std::filesystem::remove(file);
    options.jvm_flags = {"-XX:ArchiveClassesAtExit=" + file};
    zookeeper_server server(options);
    admin_session admin(server.connect_string());
    admin.create("/a", "data");
    admin.remove("/a");
    server.mntr();
    server.shutdown();
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc != 2)
        throw std::runtime_error("usage: zookeeper_classes DIRECTORY");
    std::filesystem::create_directories(argv[1]);
    keep_classes({}, std::string(argv[1]) + "/nio.jsa");
    temporary_directory const scratch{storage::memory};
    keep_classes({.tls = std::make_shared<certificate_authority const>("classes", scratch.path())},
                 std::string(argv[1]) + "/netty.jsa");
} catch (std::exception const& failure) {
    // Servers start more slowly, that is all.
    std::fprintf(stderr, "zookeeper_classes: %s\n", failure.what());
}
