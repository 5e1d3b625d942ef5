#include "run/shard_options.hpp"

#include "connect/duration.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

#include <CLI/CLI.hpp>
#include <string_view>
#include <utility>

namespace colock::cli {

namespace {

using namespace std::chrono_literals;

body_end end_from(std::string_view word)
{
    return word == "restart"   ? body_end::restart
           : word == "release" ? body_end::release
                               : body_end::fail;
}

} // namespace

void add_shard_options(CLI::App& to, shard_run_options& o)
{
    constexpr const char* group = "Options with --shards";
    to.add_option("--shards", o.count,
                  "spread N shards over all that run this with the same PATH and N: a command for "
                  "each shard that this process owns, with the shard's number in the place of {}")
        ->type_name("N")
        ->check(CLI::Range(1, 100'000));
    to.add_option("--member", o.member,
                  "the name of this process among the members, which each has alone; by default "
                  "host and process id")
        ->type_name("NAME")
        ->group(group);
    to.add_option("--weight", o.weight, "get shards in proportion to it; 0 for none [default 1]")
        ->type_name("NUMBER")
        ->check(CLI::Range(0, 1'000'000))
        ->group(group);
    add_duration(to, "--settle", o.settle,
                 "move shards that have an owner only when no member has come or gone for so long "
                 "[default 5s]")
        ->group(group);
    to.add_option("--moves", o.moves, "so many of them move at a time [default 16]")
        ->type_name("NUMBER")
        ->check(CLI::Range(1, 100'000))
        ->group(group);
    to.add_option("--when-ended", o.when_ended,
                  "what it means that a command has ended by itself. fail: colock ends all, with "
                  "its status. restart: it is started again, after a pause that grows up to half a "
                  "minute. release: the shard goes to another member [default fail]")
        ->type_name("fail|restart|release")
        ->check(CLI::IsMember({"fail", "restart", "release"}))
        ->group(group);
    add_duration(to, "--leave-timeout", o.leave_timeout,
                 "when asked to end, hand shards on for so long; then end the commands that are "
                 "left [default 5s]")
        ->group(group);
    to.add_flag("--redefine", o.redefine,
                "replace another number of shards, when no member with that one is left")
        ->group(group);
}

void refuse_without_shards(const shard_run_options& o)
{
    const std::pair<bool, const char*> given[]{{!o.member.empty(), "--member"},
                                               {o.weight.has_value(), "--weight"},
                                               {o.settle.has_value(), "--settle"},
                                               {o.moves.has_value(), "--moves"},
                                               {!o.when_ended.empty(), "--when-ended"},
                                               {o.leave_timeout.has_value(), "--leave-timeout"},
                                               {o.redefine, "--redefine"}};
    for (const auto& [is_given, name] : given) {
        if (is_given) {
            throw failure{usage, std::string{name} +
                                     " is about shards; say how many there are with --shards N"};
        }
    }
}

shard_supervision supervision_of(const run_options& common, const shard_run_options& o,
                                 const std::string& name, const program& p)
{
    const std::pair<bool, const char*> senseless[]{
        {common.timeout.has_value(),
         "--timeout is for one lock, and a member waits for its shards as long as it lives; leave "
         "it out"},
        {common.busy_status.has_value(),
         "-E is the status when a lock was not granted in time, which shards do not have; leave it "
         "out"},
        {common.retries.value_or(0) != 0,
         "--retry is for one lock, and a member takes its shards again by itself; leave it out, "
         "and give --connect-timeout for servers that are late"},
        {!common.leave.empty(),
         "--leave is for one command; leave it out: what a shard has left would work on beside the "
         "next owner"},
        {!common.name.empty(),
         "--name is for one lock; give --member, by which the others know this process"}};
    for (const auto& [is_given, text] : senseless) {
        if (is_given) {
            throw failure{usage, text};
        }
    }
    shard_supervision s{basis_of(common, name, p)};
    s.path = common.paths.front();
    s.leave_limit = o.leave_timeout.value_or(5s);
    auto& shards = s.shards;
    shards.count = *o.count;
    shards.member = o.member;
    shards.weight = o.weight.value_or(shards.weight);
    shards.settle = o.settle.value_or(shards.settle);
    shards.moves_at_a_time = o.moves.value_or(shards.moves_at_a_time);
    shards.when_body_ends = end_from(o.when_ended);
    shards.redefine = o.redefine;
    shards.safety_margin = std::chrono::duration_cast<std::chrono::milliseconds>(s.terms.margin);
    shards.body_grace = common.grace + 1s; // a command may take so long
    return s;
}

} // namespace colock::cli
