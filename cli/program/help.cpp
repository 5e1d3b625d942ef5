#include "program/help.hpp"

#include "program/program.hpp"

namespace colock::cli {

namespace {

std::string padded(std::string_view text, std::size_t width)
{
    std::string out{text};
    out.resize(std::max(width, out.size() + 2), ' ');
    return out;
}

} // namespace

std::string exit_status_table()
{
    return "Exit status: that of the command, 128 and the number when a signal ended it, or\n"
           "  120  the lock was lost before the command and its processes had ended\n"
           "  121  no ZooKeeper server could be reached, or spoken to\n"
           "  122  refused: a permission is missing, or the path is a lock of another kind\n"
           "  123  --try: somebody has the lock (-E changes it)\n"
           "  124  --timeout has passed (-E changes it)\n"
           "  125  bad usage, an unreadable file, or a fault of colock\n"
           "  126  the command is not executable\n"
           "  127  there is no such command\n";
}

std::string help_of(const program& p)
{
    std::string out = "colock: distributed locks on ZooKeeper, for the shell\n\n"
                      "usage: colock COMMAND [options] ...\n\n";
    for (const auto& c : p.commands()) {
        out += "  " + padded(c.text.name, 12) + std::string{c.text.summary} + '\n';
    }
    out += "\n`colock COMMAND --help` tells the rest, with examples. The servers are those of "
           "--servers,\n"
           "or of the variable COLOCK_SERVERS: \"host:2181,other:2181/chroot\".\n";
    return out;
}

std::string help_of(const command& c)
{
    std::string out = std::string{c.text.summary} + "\n\nusage: colock " +
                      std::string{c.text.name} + ' ' + std::string{c.text.synopsis} + "\n\n" +
                      std::string{c.text.description};
    out += '\n';
    for (const auto* option : c.options->get_options()) {
        auto name = option->get_name(option->get_positional(), !option->get_positional());
        if (!option->get_type_name().empty() && !option->get_positional()) {
            name += ' ' + option->get_type_name();
        }
        auto text = option->get_description();
        if (!option->get_envname().empty()) {
            text += " [" + option->get_envname() + ']';
        }
        if (!option->get_default_str().empty()) {
            text += " (" + option->get_default_str() + ')';
        }
        // One that is too long for its column has a line of its own.
        constexpr std::size_t column = 28;
        out += "  ";
        out += name.size() + 2 > column ? name + "\n  " + std::string(column, ' ')
                                        : padded(name, column);
        for (const auto ch : text) {
            out += ch;
            if (ch == '\n') {
                out += std::string(column + 2, ' ');
            }
        }
        out += '\n';
    }
    out += "\nExamples:\n";
    for (const auto& e : c.text.examples) {
        out += "  " + std::string{e.line} + "\n      " + std::string{e.what} + '\n';
    }
    return out;
}

} // namespace colock::cli
