#include "script.hpp"

#include "simulated.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

namespace world::conversation {

namespace {

using namespace std::chrono_literals;
using colock::create_mode;
using colock::transaction_op;
using colock::zk::call;
using colock::zk::opcode;

constexpr std::size_t sessions = 4;
constexpr std::size_t guest = sessions;    // another connection of one of them
constexpr std::size_t unheard = 1'000'000; // the numbers from there on: answers that are left out

const std::array<std::vector<colock::credential>, sessions> credentials{
    {{}, {{"digest", "me:secret"}}, {{"digest", "you:secret"}, {"digest", "me too:secret"}}, {}}};

class speaker {
public:
    speaker(side& to, std::uint64_t seed)
        : root{"/c" + std::to_string(seed)}, side_{to}, random_{seed}
    {
        for (std::size_t s = 0; s != sessions; ++s) {
            open(s);
        }
        // From which transactions are counted.
        say(0, {{.op = opcode::create, .path = root, .acl = colock::open_acl()}});
    }

    void open(std::size_t s, const colock::zk::session_identity& as = {})
    {
        at_[s] = random_.below(side_.servers());
        const bool known = side_.open(s, at_[s], credentials[s], as);
        open_[s] = known;
        text.opened(s, known ? side_.identity(s) : as, known);
    }

    void say(std::size_t s, const std::vector<call>& calls)
    {
        for (std::size_t i = 0; i != calls.size(); ++i) {
            text.asked(s, number_ + i, calls[i]);
        }
        side_.ask(s, calls, number_);
        number_ += calls.size();
        hear(true, s);
    }

    // All that is on its way to the others comes before the answers to what they ask.
    void hear(bool in_order, std::size_t who = sessions)
    {
        for (std::size_t s = 0; s != sessions; ++s) {
            if (s != who && open_[s]) {
                side_.ask(s,
                          {{.op = opcode::sync, .path = "/"}, {.op = opcode::exists, .path = "/"}},
                          unheard);
            }
        }
        auto all = side_.take();
        std::erase_if(all, [](const heard& h) {
            const auto* a = std::get_if<answer>(&h.what);
            return a != nullptr && a->number >= unheard;
        });
        text.told(std::move(all), in_order);
    }

    void close(std::size_t s)
    {
        text.note(std::to_string(s) + " closes");
        side_.close(s);
        open_[s] = false;
        hear(false);
    }

    void drop(std::size_t s)
    {
        side_.drop(s);
        open_[s] = false;
    }

    void expire(std::size_t s)
    {
        text.note(std::to_string(s) + " expires");
        say(s, {{.op = opcode::create,
                 .path = "/alive",
                 .mode = create_mode::ephemeral,
                 .acl = colock::open_acl()}});
        drop(s);
        wait_until_gone((s + 1) % sessions, "/alive");
        hear(false);
    }

    // Its session is taken over at another server; the connection that it has does not know.
    void move(std::size_t s)
    {
        text.note(std::to_string(s) + " is somewhere else");
        const auto as = side_.identity(s);
        static_cast<void>(side_.open(guest, (at_[s] + 1) % side_.servers(), credentials[s], as));
        say(guest, {{.op = opcode::create,
                     .path = root + "/moved",
                     .mode = create_mode::ephemeral_sequential,
                     .acl = colock::open_acl()}});
        say(s, {{.op = opcode::create, .path = root + "/moved", .acl = colock::open_acl()},
                {.op = opcode::exists, .path = root + "/moved"}});
        drop(s);
        side_.drop(guest);
        open(s, as);
    }

    void wait_until_gone(std::size_t asker, const std::string& path)
    {
        std::vector<heard> others;
        for (int i = 0; i != 400; ++i) {
            side_.ask(asker, {{.op = opcode::exists, .path = path}}, unheard);
            auto all = side_.take();
            const auto answered = std::ranges::find_if(all, [](const heard& h) {
                const auto* a = std::get_if<answer>(&h.what);
                return a != nullptr && a->number == unheard;
            });
            const bool gone =
                std::get<answer>(answered->what).body.error == colock::zookeeper_errc::no_node;
            all.erase(answered);
            others.insert(others.end(), all.begin(), all.end());
            if (gone) {
                text.told(std::move(others), false);
                return;
            }
            side_.pass(50ms);
        }
        throw std::runtime_error{path + " does not go away"};
    }

    void step()
    {
        const auto s = random_.below(sessions);
        if (!open_[s]) {
            open(s);
        } else if (const auto kind = random_.below(1000); kind < 20) {
            close(s);
        } else if (kind < 40) {
            const auto as = side_.identity(s);
            drop(s);
            text.note(std::to_string(s) + " comes again");
            open(s, as);
        } else if (kind < 50) {
            auto as = side_.identity(s);
            as.password[7] ^= 1;
            drop(s);
            text.note(std::to_string(s) + " comes with a wrong password");
            open(s, as);
            side_.drop(s);
            // Else it would expire at any time.
            as.password[7] ^= 1;
            open(s, as);
        } else if (kind < 54 && others_are_open(s)) {
            const auto as = side_.identity(s);
            expire(s);
            open(s, as);
        } else if (kind < 74 && side_.servers() > 1) {
            move(s);
        } else {
            std::vector<call> calls;
            const auto count = random_.per_mille(700) ? 1 : 2 + random_.below(3);
            while (calls.size() != count) {
                calls.push_back(any_call(count == 1));
            }
            say(s, calls);
        }
    }

    // Of one of this script's nodes, at all servers when it returns.
    void set_acl()
    {
        auto path = root;
        for (auto depth = random_.below(3); depth != 0; --depth) {
            path += "/" + std::string(1, static_cast<char>('a' + random_.below(4)));
        }
        const auto acl = any_acl(400);
        const auto version = random_.per_mille(700) ? -1 : static_cast<int>(random_.below(3));
        text.acl_set(path, acl, version, side_.set_acl(path, acl, version));
        hear(true);
    }

    side& to() noexcept { return side_; }
    random& chance() noexcept { return random_; }

    transcript finish()
    {
        for (std::size_t s = 0; s != sessions; ++s) {
            if (open_[s]) {
                close(s);
            }
        }
        return std::move(text);
    }

    const std::string root; // of this script's nodes
    transcript text;

private:
    [[nodiscard]] bool others_are_open(std::size_t s) const { return open_[(s + 1) % sessions]; }

    std::string any_path()
    {
        if (random_.per_mille(20)) {
            constexpr std::array special{"/", "/zookeeper", "/zookeeper/quota",
                                         "/zookeeper/config"};
            // What the servers know of each other is in the last one.
            return special[random_.below(special.size() - (side_.servers() > 1 ? 1 : 0))];
        }
        auto path = root;
        for (auto depth = random_.below(100) < 10 ? 0 : 1 + random_.below(2); depth != 0; --depth) {
            path += random_.per_mille(800)
                        ? "/" + std::string(1, static_cast<char>('a' + random_.below(4)))
                        : "/n-000000000" + std::to_string(random_.below(6));
        }
        return path;
    }

    std::string any_data() { return std::string(random_.below(12), 'x'); }

    std::int32_t any_version()
    {
        constexpr std::array versions{-1, -1, -1, -1, 0, 0, 1, 2};
        return versions[random_.below(versions.size())];
    }

    colock::access_control_list any_acl(unsigned open = 800)
    {
        using namespace colock;
        const std::array<access_control_list, 14> lists{
            {read_only_acl(),
             creator_acl(),
             {{permission_all & ~permission_create, "world", "anyone"}},
             {{permission_all & ~permission_delete, "world", "anyone"}},
             {{permission_all & ~permission_read, "world", "anyone"}},
             {{permission_all, "digest", "me:L9MYgZIu0uAQbm4oYhM6PMbbPNE="}},
             {{permission_read, "world", "anyone"}, {permission_all, "auth", ""}},
             {{permission_read, "world", "anyone"}, {permission_read, "world", "anyone"}},
             {{permission_all, "ip", "127.0.0.1"}},
             {{permission_all, "ip", "10.9.8.7"}},
             {{permission_all, "world", "somebody"}},
             {{permission_all, "digest", "no colon"}},
             {{permission_all, "unheard of", "x"}},
             {}}};
        return random_.per_mille(open) ? open_acl() : lists[random_.below(lists.size())];
    }

    create_mode any_mode(bool in_transaction)
    {
        const auto m = static_cast<create_mode>(random_.below(in_transaction ? 4 : 7));
        return m;
    }

    call any_call(bool alone)
    {
        constexpr std::array kinds{
            opcode::create, opcode::create, opcode::create,   opcode::create,
            opcode::create, opcode::remove, opcode::remove,   opcode::remove,
            opcode::exists, opcode::exists, opcode::get,      opcode::get,
            opcode::set,    opcode::set,    opcode::children, opcode::children,
            opcode::sync,   opcode::multi,  opcode::multi,    opcode::forget_watches,
            opcode::get_acl};
        call c{.op = kinds[random_.below(kinds.size())]};
        if (c.op == opcode::forget_watches && !alone) {
            c.op = opcode::get; // the C client looks at once whether it has any
        }
        c.path = any_path();
        switch (c.op) {
        case opcode::create:
            c.mode = any_mode(false);
            c.data = any_data();
            c.acl = any_acl();
            if (c.mode == create_mode::persistent_with_ttl ||
                c.mode == create_mode::persistent_sequential_with_ttl) {
                c.ttl = 1000h; // the C client refuses what is not positive
            }
            number(c.path, c.mode);
            break;
        case opcode::set: c.data = any_data(); [[fallthrough]];
        case opcode::remove: c.version = any_version(); break;
        case opcode::exists:
        case opcode::get:
        case opcode::children: c.watch = random_.per_mille(400); break;
        case opcode::forget_watches:
            c.kind = random_.per_mille(500) ? colock::zk::watch_kind::data
                                            : colock::zk::watch_kind::children;
            break;
        case opcode::sync:
        case opcode::get_acl:
        case opcode::set_acl: break; // a list is set by the operator
        case opcode::multi:
            c.path.clear();
            c.acl = any_acl();
            for (auto count = 1 + random_.below(4); count != 0; --count) {
                c.ops.push_back(any_op());
            }
            break;
        }
        return c;
    }

    transaction_op any_op()
    {
        transaction_op op{.type = static_cast<transaction_op::kind>(random_.below(4)),
                          .path = any_path(),
                          .data = any_data(),
                          .version = any_version()};
        if (op.type == transaction_op::kind::create) {
            op.create.mode = any_mode(true);
            if (random_.per_mille(300)) {
                op.create.acl = any_acl();
            }
            number(op.path, op.create.mode);
        }
        return op;
    }

    static void number(std::string& path, create_mode mode)
    {
        if (mode == create_mode::persistent_sequential ||
            mode == create_mode::ephemeral_sequential ||
            mode == create_mode::persistent_sequential_with_ttl) {
            path += path == "/" ? "zookeeper/n-" : "/n-";
        }
    }

    side& side_;
    random random_;
    std::array<bool, sessions> open_{};
    std::array<std::size_t, sessions> at_{}; // which server
    std::size_t number_ = 1;
};

} // namespace

transcript anything(side& to, std::uint64_t seed, std::size_t steps)
{
    speaker s{to, seed};
    for (; steps != 0; --steps) {
        s.step();
    }
    return s.finish();
}

transcript lists_that_change(side& to, std::uint64_t seed, std::size_t steps)
{
    to.begin_operator();
    speaker s{to, seed};
    for (; steps != 0; --steps) {
        s.step();
        if (s.chance().per_mille(300)) {
            s.set_acl();
        }
    }
    auto said = s.finish();
    to.end_operator();
    return said;
}

counters near_the_end()
{
    constexpr auto last = std::numeric_limits<std::int32_t>::max();
    return {{"/end-0", last}, {"/end-1", last - 1}, {"/end-3", last - 3}, {"/over", -5}};
}

// Requests one by one: what is asked for at once sees the numbers that are being decided.
transcript the_end_of_the_numbers(side& to, std::uint64_t seed)
{
    speaker s{to, seed};
    auto& chance = s.chance();
    std::vector<std::string> directories;
    for (const auto& [path, counter] : near_the_end()) {
        directories.push_back(path);
    }
    for (int i = 0; i != 60; ++i) {
        const auto& directory = chance.pick(directories);
        const auto session = chance.below(sessions);
        const auto mode = chance.per_mille(500) ? create_mode::persistent_sequential
                                                : create_mode::ephemeral_sequential;
        const auto prefix = directory + (chance.per_mille(700) ? "/n-" : "/m-");
        switch (chance.below(5)) {
        case 0:
        case 1:
            s.say(
                session,
                {{.op = opcode::create, .path = prefix, .mode = mode, .acl = colock::open_acl()}});
            break;
        case 2: {
            call c{.op = opcode::multi, .acl = colock::open_acl()};
            for (auto count = 1 + chance.below(3); count != 0; --count) {
                c.ops.push_back(colock::create_op(prefix, "", {.mode = mode}));
            }
            s.say(session, {c});
            break;
        }
        case 3: s.say(session, {{.op = opcode::children, .path = directory}}); break;
        default:
            s.say(session,
                  {{.op = opcode::remove,
                    .path = prefix + (chance.per_mille(500) ? "2147483647" : "-2147483648")}});
            break;
        }
    }
    return s.finish();
}

transcript what_the_server_removes(side& to)
{
    speaker s{to, 1};
    const auto open = colock::open_acl();
    s.say(0, {{.op = opcode::create,
               .path = s.root + "/new",
               .mode = create_mode::container,
               .acl = open}});
    s.say(1, {{.op = opcode::children, .path = s.root, .watch = true}});
    for (const bool ephemeral : {false, true}) {
        s.say(0, {{.op = opcode::create,
                   .path = s.root + "/used",
                   .mode = create_mode::container,
                   .acl = open},
                  {.op = opcode::create,
                   .path = s.root + "/used/x",
                   .mode = ephemeral ? create_mode::ephemeral : create_mode::persistent,
                   .acl = open},
                  {.op = opcode::get, .path = s.root + "/used", .watch = true},
                  {.op = opcode::children, .path = s.root + "/used", .watch = true}});
        s.say(2, {{.op = opcode::children, .path = s.root + "/used", .watch = true}});
        s.to().pass(500ms); // it has a child
        s.say(3, {{.op = opcode::exists, .path = s.root + "/used", .watch = true}});
        if (ephemeral) {
            s.text.note("0 closes");
            s.drop(0);
            s.wait_until_gone(1, s.root + "/used");
        } else {
            // The server may be quicker than the next question.
            s.to().ask(0, {{.op = opcode::remove, .path = s.root + "/used/x"}}, 0);
            s.wait_until_gone(1, s.root + "/used");
        }
        s.hear(false);
    }
    s.say(1, {{.op = opcode::create,
               .path = s.root + "/ttl",
               .mode = create_mode::persistent_with_ttl,
               .ttl = 300ms,
               .acl = open},
              {.op = opcode::get, .path = s.root + "/ttl", .watch = true}});
    s.wait_until_gone(2, s.root + "/ttl");
    s.hear(false);
    s.say(1, {{.op = opcode::create,
               .path = s.root + "/ttl",
               .mode = create_mode::persistent_sequential_with_ttl,
               .ttl = 1h,
               .acl = open},
              {.op = opcode::children, .path = s.root}});
    s.to().pass(500ms);
    s.say(1, {{.op = opcode::children, .path = s.root},
              {.op = opcode::exists, .path = s.root + "/new"}});
    return s.finish();
}

} // namespace world::conversation
