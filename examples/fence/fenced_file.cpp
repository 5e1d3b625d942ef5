// A fence for a file: it is replaced as a whole, unless a later holder has presented its token.
//
//     fenced_file FILE [HOST:PORT]
//
#include <colock/fence/file.hpp>

#include "note.hpp"

#include <fstream>
#include <string>

namespace asio = boost::asio;
namespace file = colock::fence::file;

asio::awaitable<void> write(const std::string& path, const colock::unique_lock& held)
{
    const auto text = note::ask("what shall the note say?");
    // No earlier holder changes what is read after this.
    colock::fenced(held, [&](const std::string& token) { return file::present(path, token); });
    std::string old;
    std::getline(std::ifstream{path}, old);
    note::ask("instead of '" + old + "'?");
    colock::fenced(held,
                   [&](const std::string& token) { return file::replace(path, token, text); });
    co_return;
}

int main(int argc, char** argv)
{
    const std::string path = argc > 1 ? argv[1] : "note.txt";
    return note::under_lock(argc > 2 ? argv[2] : "localhost:2181",
                            [&](auto&, const auto& held) { return write(path, held); });
}
