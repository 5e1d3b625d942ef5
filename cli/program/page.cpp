#include "program/page.hpp"

#include "program/settings.hpp"
#include "program/text.hpp"

#include <algorithm>

namespace colock::cli {

namespace {

std::vector<std::string> split(const std::string& text, char at)
{
    std::vector<std::string> parts;
    for (std::size_t begin = 0;;) {
        const auto end = text.find(at, begin);
        parts.push_back(text.substr(begin, end - begin));
        if (end == text.npos) {
            return parts;
        }
        begin = end + 1;
    }
}

std::string in_one_line(std::string text)
{
    std::ranges::replace(text, '\n', ' ');
    return text;
}

// "Run a command": behind a name and a colon, or in a table, it is no sentence.
std::string in_lower_case(std::string_view summary)
{
    std::string out{summary};
    if (out.size() > 1 && out[1] >= 'a' && out[1] <= 'z' && out[0] >= 'A' && out[0] <= 'Z') {
        out[0] = static_cast<char>(out[0] - 'A' + 'a');
    }
    return out;
}

shown_option facts_of(const CLI::Option& option)
{
    shown_option s;
    for (const auto& name : option.get_snames()) {
        s.names.push_back('-' + name);
    }
    for (const auto& name : option.get_lnames()) {
        s.names.push_back("--" + name);
    }
    if (option.get_positional()) {
        s.value = option.get_name(true);
        if (option.get_type_name().find('|') != std::string::npos) {
            s.choices = split(option.get_type_name(), '|');
        }
    } else if (option.get_items_expected_max() > 0) {
        const auto type = option.get_type_name();
        s.value = type.substr(0, type.find(':')); // behind it stands what CLI11 checks
        s.is_file = s.value == "FILE" || s.value == "DIRECTORY";
        if (s.value.find('|') != s.value.npos) {
            s.choices = split(s.value, '|');
        }
        if (option.get_expected_min() == 0) {
            s.value = "[=" + s.value + ']';
        }
    }
    s.text = in_one_line(option.get_description());
    s.variable = option.get_envname();
    s.default_value = option.get_default_str();
    s.group = option.get_group();
    return s;
}

void add_options(page& to, const CLI::App& from)
{
    for (const auto* option : from.get_options()) {
        auto s = facts_of(*option);
        if (s.group.empty()) { // hidden
            continue;
        }
        (s.is_argument() ? to.arguments : to.options).push_back(std::move(s));
    }
    // Those of the command itself first, --help the last of them.
    const auto rank = [&](const shown_option& s) {
        return s.group != "Options" ? 2 : s.names.back() == "--help" ? 1 : 0;
    };
    std::ranges::stable_sort(to.options, {}, rank);
}

const shown_option* find(const page& in, std::string_view name)
{
    const auto at = std::ranges::find_if(in.options, [&](const shown_option& s) {
        return std::ranges::find(s.names, name) != s.names.end();
    });
    return at == in.options.end() ? nullptr : &*at;
}

void add_environment(page& to, bool starts)
{
    const std::string not_for_command =
        starts ? " The command does not inherit it without `--keep-identity`." : "";
    for (const auto& option : to.options) {
        if (!option.variable.empty()) {
            to.environment.push_back(
                {option.variable, "As `" + option.names.back() + "`, which is stronger."});
        }
    }
    if (find(to, "--auth")) {
        to.environment.push_back(
            {"COLOCK_AUTH", "What could stand in the file of `--auth`, without "
                            "such a file: a secret. Whoever may read the "
                            "environment of the process can read it." +
                                not_for_command});
    }
    if (find(to, "--tls-key")) {
        to.environment.push_back(
            {"COLOCK_TLS_KEY_PASSWORD",
             "The password of the key of `--tls-key`: a secret." + not_for_command});
    }
    if (starts) {
        to.environment.push_back(
            {"COLOCK_PATH", "Set for the command: the path of the lock or election."});
        to.environment.push_back(
            {"COLOCK_TOKEN", "Set for the command: the fencing token of this grant. Later grants "
                             "have larger ones."});
        to.environment.push_back(
            {"COLOCK_SAFE_UNTIL",
             "Set for the command: until when the lock was safe when the command began, in seconds "
             "since 1970. The time moves on while the servers answer."});
        to.environment.push_back(
            {"COLOCK_NODE", "Set for the command: the node that stands for the lock."});
        if (find(to, "--shards")) { // `run`
            to.environment.push_back(
                {"COLOCK_PATHS", "Set for the command where there are several PATHs: all of them, "
                                 "with tabs between. COLOCK_PATH, COLOCK_NODE and COLOCK_TOKEN are "
                                 "those of the first."});
            to.environment.push_back(
                {"COLOCK_TOKENS", "Set for the command where there are several PATHs: the fencing "
                                  "token of each, in the same order."});
            to.environment.push_back(
                {"COLOCK_SHARD",
                 "Set for the command with `--shards`: the number of its shard, from "
                 "0."});
            to.environment.push_back(
                {"COLOCK_SHARDS", "Set for the command with `--shards`: how many there are."});
        }
        to.environment.push_back(
            {"COLOCK_NODES",
             "Set for the command: the same of each colock under which the command runs, the "
             "outermost first, with tabs between them. A colock that would wait for one of these "
             "locks refuses to."});
    }
}

void add_settings(page& to)
{
    const auto names = '`' + joined(setting_names(), "`, `") + '`';
    to.files.push_back(
        {"/etc/colock.conf, ~/.config/colock.conf",
         "Settings, one a line, such as `servers = zk1:2181,zk2:2181`: those options of this "
         "command that neither the command line nor a variable gives. They are named as the "
         "options are, without dashes: " +
             names +
             ". A line that begins with # is a comment. The user's file, which is in "
             "$XDG_CONFIG_HOME where that is set, is stronger than the system's; --config FILE is "
             "read in place of both. Files that it names may be relative to it. It holds no "
             "secrets."});
}

void add_files(page& to)
{
    if (find(to, "--config")) {
        add_settings(to);
    }
    if (find(to, "--auth")) {
        to.files.push_back(
            {"the FILE of `--auth`",
             "Who we are, one identity a line: a scheme, a blank, and the secret, such as \"digest "
             "orders:password\". Empty lines and lines that begin with # say nothing. Only its "
             "owner should be able to read it: colock warns otherwise."});
    }
    if (find(to, "--tls-ca")) {
        to.files.push_back({"the FILEs of `--tls-ca`, `--tls-cert` and `--tls-key`",
                            "Certificates and a key, in PEM format."});
    }
}

void add_statuses(page& to, const subcommand& c)
{
    const bool starts = starts_a_command(c);
    const bool asks_servers = find(to, "--servers") != nullptr;
    auto& all = to.statuses;
    const auto add = [&](bool is_usual, const char* status, const char* text) {
        const auto own = std::ranges::find(c.text.statuses, status, &meaning::name);
        if (own != c.text.statuses.end()) {
            text = own->what.data();
        }
        if (text && (is_usual || own != c.text.statuses.end())) {
            all.push_back({status, text});
        }
    };
    add(starts, "that of the command", "The command ended by itself.");
    add(!starts, "0", "Done.");
    add(false, "1", nullptr);
    add(starts, "120", "The lock was lost before the command and its processes had ended.");
    add(asks_servers, "121", "No ZooKeeper server could be reached, or spoken to.");
    add(asks_servers, "122",
        "Refused: a permission is missing, or the path is a lock of another kind.");
    add(starts, "123", "With `--try`: somebody has the lock. `-E` changes it.");
    add(starts, "124", "The time of `--timeout` has passed. `-E` changes it.");
    add(true, "125", "Bad usage, an unreadable file, or a fault of colock.");
    add(starts, "126", "The command is not executable.");
    add(starts, "127", "There is no such command.");
    add(starts || asks_servers, "128+N",
        starts ? "Signal N ended the command, or colock while it waited."
               : "Signal N ended colock.");
}

} // namespace

bool starts_a_command(const subcommand& c)
{
    return c.text.synopsis.find(" -- COMMAND") != c.text.synopsis.npos;
}

page page_of(const program& p)
{
    page all;
    all.name = "colock";
    all.synopsis = "COMMAND [options] ...";
    all.summary = "distributed locks on ZooKeeper, for the shell";
    all.description =
        "colock runs commands under locks that machines share, shows who holds and who waits, and "
        "looks whether the servers suit. The locks are nodes on ZooKeeper servers, in the same "
        "queues as those of programs that use the library colock, and of Apache Curator.";
    for (const auto& c : p.commands()) {
        all.commands.push_back({std::string{c.text.name}, in_lower_case(c.text.summary)});
    }
    add_options(all, p.app());
    for (const auto& c : p.commands()) { // which share most of them
        for (auto& row : page_of(c).environment) {
            if (std::ranges::find(all.environment, row.name, &shown_row::name) ==
                all.environment.end()) {
                all.environment.push_back(std::move(row));
            }
        }
    }
    all.statuses = {{"0 ... 119", "That of the command that was run; 0 of others that are done, 1 "
                                  "when they found what they warn of."},
                    {"120 ... 127", "colock's own; the page of each command lists them."},
                    {"128+N", "Signal N ended the command, or colock while it waited."}};
    all.examples = {{"colock run /locks/nightly -- ./nightly", "Run it on one machine at a time."},
                    {"colock why /locks/nightly", "Say who holds the lock, and who waits."},
                    {"colock doctor /locks", "Look whether servers and permissions suit locks."}};
    return all;
}

page page_of(const subcommand& c)
{
    page one;
    one.name = "colock " + std::string{c.text.name};
    one.synopsis = c.text.synopsis;
    one.summary = in_lower_case(c.text.summary);
    one.description = c.text.description;
    add_options(one, *c.options);
    add_environment(one, starts_a_command(c));
    add_files(one);
    add_statuses(one, c);
    one.examples = c.text.examples;
    return one;
}

std::string heading_of(const shown_option& option)
{
    auto out = joined(option.names, ", ");
    if (!option.value.empty()) {
        out += (out.empty() || option.value.starts_with('[') ? "" : " ") + option.value;
    }
    return out;
}

std::string whole_text_of(const shown_option& option)
{
    auto out = option.text;
    std::string more;
    if (!option.default_value.empty()) {
        more = "default " + option.default_value;
    }
    if (!option.variable.empty()) {
        more += (more.empty() ? "$" : ", $") + option.variable;
    }
    if (!more.empty()) {
        out += " [" + more + ']';
    }
    return out;
}

} // namespace colock::cli
