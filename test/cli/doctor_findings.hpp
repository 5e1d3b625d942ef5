// What `colock doctor` finds, for tests.
#ifndef COLOCK_TEST_CLI_DOCTOR_FINDINGS_HPP
#define COLOCK_TEST_CLI_DOCTOR_FINDINGS_HPP

#include "colock_process.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test {

namespace json = boost::json;

/// What `colock doctor --json` has said.
struct looked {
    int status = -1;
    json::object said;
    std::string err;

    /// "warning: text" of each finding about the subject, a line each.
    std::string about(std::string_view subject) const
    {
        std::string out;
        for (const auto& f : said.at("findings").as_array()) {
            if (f.at("subject").as_string() == subject) {
                out += std::string{f.at("severity").as_string()} + ": " +
                       std::string{f.at("text").as_string()} + '\n';
            }
        }
        return out;
    }
    std::int64_t count(const char* what) const { return said.at(what).to_number<std::int64_t>(); }

    /// Those that follow the findings about the subject, a line each.
    std::string commands_for(std::string_view subject) const
    {
        std::string out;
        for (const auto& f : said.at("findings").as_array()) {
            const auto* const command = f.as_object().if_contains("command");
            if (command && f.at("subject").as_string() == subject) {
                out += std::string{command->as_string()} + '\n';
            }
        }
        return out;
    }
};

/// What no command mends: the configuration of a server, a machine, a choice of those who write a program, or what only they
/// know: a name, an identity. A word of the text, where there are others about the subject.
inline bool is_mended_by_hand(std::string_view subject, std::string_view text, bool has_identity)
{
    struct kind {
        std::string_view subject, part;
    };
    static constexpr kind all[] = {
        {"access", "name the PATH"},
        {"access", "name a PATH further down"},
        {"access", "cannot read"},
        {"certificate", ""},
        {"connection", "not everything"},
        {"container", ""},
        {"guard", ""},
        {"latency", ""},
        {"leader", ""},
        {"leftover", "looked at"},
        {"nodes", ""},
        {"server", ""},
        {"session", ""},
        {"tick", "cannot be told"},
    };
    // A root is for those who show who they are.
    return (!has_identity && subject == "access") || std::ranges::any_of(all, [&](const kind& k) {
               return subject == k.subject && text.find(k.part) != text.npos;
           });
}

inline looked look(const std::string& servers, std::vector<std::string> arguments = {},
                   std::vector<std::string> environment = {})
{
    const bool has_identity = std::ranges::any_of(
        environment, [](const std::string& each) { return each.starts_with("COLOCK_AUTH"); });
    arguments.insert(arguments.begin(), {"doctor", "--json"});
    const auto r = run_colock(servers, std::move(arguments), std::move(environment));
    looked l;
    l.status = r.status;
    l.err = r.err;
    BOOST_TEST_REQUIRE(!r.out.empty(), r.err);
    l.said = json::parse(r.out).as_object();
    for (const auto& f : l.said.at("findings").as_array()) {
        const bool is_told =
            f.at("severity").as_string() == "ok" || f.as_object().contains("command") ||
            is_mended_by_hand(f.at("subject").as_string(), f.at("text").as_string(), has_identity);
        BOOST_TEST(is_told, f.at("subject").as_string() << ": " << f.at("text").as_string());
    }
    return l;
}

} // namespace colock::test

#endif
