// What another client of the ensemble can do to a lock. Under the recipe of docs/security.md each attempt is refused, and
// the lock goes on. With the open list, which is the default, each has the effect that the documentation tells, and there
// are never two holders.
#include "strangers.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace colock::test::attacks_test {

using mode = admin_session::mode;

namespace {

const std::string guid = "_c_5f6b3a52-8d1c-4f0e-9c0a-3a1d2b4c5e6f";

const std::vector<admin_session::acl_entry> strangers_only{{permission_all, "auth", ""}};

using scene = strangers_scene;

struct attack {
    std::string name;
    kind_of_lock kind;
    std::function<void(scene&)> strike;
    std::function<void(scene&)> when_open;
};

// A node in the queue, with this end of its name.
auto plant(std::string end, mode how = mode::persistent)
{
    return [end = std::move(end), how](scene& s) {
        s.attempt([&](admin_session& a) { a.create(s.queue_path() + "/" + end, "", how); });
    };
}

void delete_by_hand(scene& s, const std::string& end)
{
    s.admin.remove(s.queue_path() + "/" + end);
}

// The others are granted on the event of their predecessor, and do not see what has come into the queue meanwhile. Where
// a writer may have left a reader's node behind, a writer lists.
bool looks_again(const scene& s)
{
    return s.kind.name == a_writer().name;
}

// The holder's node is deleted: the guard says so, and nobody else believes to hold the lock before.
void delete_holders_node(scene& s)
{
    s.attempt([&](admin_session& a) { a.remove(s.held.node); });
}
void holder_hears(scene& s)
{
    s.check_holder_is_told(errc::node_deleted);
    s.check_waiter_is_next();
    s.check_newcomer({});
}

// The number of the creation after the next one. The servers count creations, and show twice that less the number of
// children.
std::string number_after_next(scene& s)
{
    const auto stat = s.admin.exists(s.queue_path());
    const auto number = std::to_string((stat->cversion + stat->num_children) / 2 + 1);
    return std::string(10 - std::min<std::size_t>(10, number.size()), '0') + number;
}

std::vector<attack> attacks_on_queues()
{
    std::vector<attack> all;
    const struct {
        kind_of_lock kind;
        std::string marker;
    } queues[] = {{a_mutex(), "-lock-"},
                  {a_writer(), "__WRIT__"},
                  {a_reader(), "__WRIT__"},
                  {an_election(), "-latch-"}};
    for (const auto& [kind, marker] : queues) {
        const auto early = guid + marker + "0000000000";
        all.push_back(
            {"squats on a number before all others", kind, plant(early), [early](scene& s) {
                 if (looks_again(s)) {
                     s.held = {};
                     go_on(s.io, 50ms);
                     BOOST_TEST(!s.waiting.done());
                     delete_by_hand(s, early);
                 }
                 s.check_waiter_is_next();
                 if (!looks_again(s)) {
                     s.check_newcomer_is_blocked();
                     delete_by_hand(s, early);
                 }
                 s.check_newcomer({});
             }});
        all.push_back({"squats on a number behind all others", kind,
                       plant(guid + marker + "2000000000"), [](scene& s) { s.check_goes_on(); }});
        all.push_back(
            {"plants a negative number", kind, plant(guid + marker + "-0000000007"), [](scene& s) {
                 if (looks_again(s)) {
                     s.held = {};
                     BOOST_TEST(code_of(s.io, s.waiting) == errc::sequence_exhausted);
                 } else {
                     s.check_waiter_is_next();
                 }
                 s.check_newcomer(errc::sequence_exhausted, "sequence numbers");
             }});
        all.push_back({"stands in the queue, and does not leave it", kind,
                       plant(guid + marker, mode::ephemeral_sequential), [](scene& s) {
                           s.check_waiter_is_next();
                           s.check_newcomer_is_blocked();
                       }});
        all.push_back({"stands in the queue where nobody can read it", kind,
                       [own = marker](scene& s) {
                           s.attempt([&](admin_session& a) {
                               a.create(s.queue_path() + "/" + guid + own, "",
                                        mode::ephemeral_sequential, strangers_only);
                           });
                       },
                       [](scene& s) {
                           s.check_waiter_is_next();
                           s.check_newcomer(zookeeper_errc::no_auth,
                                            "lacks READ on " + s.path + "/" + guid);
                       }});
        all.push_back({"deletes the node of the holder", kind, delete_holders_node, holder_hears});
        all.push_back({"asks the holder to let go", kind,
                       [](scene& s) {
                           s.attempt([&](admin_session& a) { a.set(s.held.node, "__REVOKE__"); });
                       },
                       [](scene& s) { s.check_goes_on(); }}); // it is a request: no more
        all.push_back({"takes the directory for himself", kind,
                       [](scene& s) {
                           s.attempt([&](admin_session& a) { a.set_acl(s.path, strangers_only); });
                       },
                       [](scene& s) {
                           s.check_one_holder();
                           s.check_newcomer(zookeeper_errc::no_auth, "lacks CREATE on " + s.path);
                           s.waiting = {};
                           s.held = {};
                           BOOST_TEST(s.until([&] {
                               return s.logged(
                                   "a node may remain until the session ends: ZooKeeper: "
                                   "no permission: this client lacks DELETE on " +
                                   s.path);
                           }));
                       }});
        all.push_back({"writes into the directory", kind,
                       [](scene& s) {
                           s.attempt([&](admin_session& a) {
                               a.set(s.path, "made by colock, to be deleted when it is empty\n"
                                             "nobody is left up to /lock-2000000000");
                           });
                       },
                       [](scene& s) { s.check_goes_on(); }}); // nobody reads it
    }
    all.push_back({"takes the number that comes next", a_mutex(),
                   [](scene& s) {
                       s.attempt([&](admin_session& a) {
                           a.create(s.path + "/" + guid + "-lock-" + number_after_next(s));
                       });
                   },
                   [](scene& s) {
                       s.check_waiter_is_next();
                       s.check_newcomer(errc::duplicate_sequence, "same number");
                   }});
    all.push_back({"plants a reader in the queue of a mutex", a_mutex(),
                   plant(guid + "__READ__0000000000"), [](scene& s) {
                       s.check_waiter_is_next();
                       s.check_newcomer(errc::conflicting_kind);
                   }});
    all.push_back({"plants the directories of a semaphore", a_mutex(),
                   [](scene& s) {
                       plant("locks")(s);
                       plant("leases")(s);
                   },
                   [](scene& s) {
                       s.check_waiter_is_next();
                       s.check_newcomer(errc::conflicting_kind);
                   }});
    all.push_back({"plants a mutex in the queue of readers", a_reader(),
                   plant(guid + "-lock-0000000000"), [](scene& s) {
                       s.check_one_holder();
                       s.held = {};
                       s.check_newcomer(errc::conflicting_kind);
                   }});
    return all;
}

std::vector<attack> attacks_on_others()
{
    return {
        {"takes a permit, and does not give it back", a_semaphore(),
         plant(guid + "-lease-", mode::ephemeral_sequential),
         [](scene& s) {
             s.held = {};
             go_on(s.io, 50ms);
             BOOST_TEST(!s.waiting.done());
             s.check_newcomer_is_blocked();
         }},
        {"deletes a permit", a_semaphore(), delete_holders_node, holder_hears},
        {"writes another number of permits", a_semaphore(),
         [](scene& s) {
             s.attempt([&](admin_session& a) { a.set(s.path + "/leases", "permits=1000"); });
         },
         [](scene& s) {
             s.check_waiter_is_next();
             s.check_newcomer({}); // nobody has a permit, so it writes its own number there
         }},
        {"stands in the queue for permits", a_semaphore(),
         [](scene& s) {
             s.attempt([&](admin_session& a) {
                 a.create(s.path + "/locks/" + guid + "-lock-", "", mode::ephemeral_sequential);
             });
         },
         [](scene& s) {
             s.check_waiter_is_next();
             s.check_newcomer_is_blocked();
         }},
        {"hides the permits", a_semaphore(),
         [](scene& s) {
             s.attempt([&](admin_session& a) { a.set_acl(s.path + "/leases", strangers_only); });
         },
         [](scene& s) {
             s.held = {};
             BOOST_TEST(s.until(
                 [&] { return s.logged("this client lacks DELETE on " + s.path + "/leases"); }));
             // A watch whose node may not be read any more is silent: see G4. The waiter has the queue of all others.
             s.check_newcomer_is_blocked();
         }},
        {"deletes the node of the holder", a_single_node(), delete_holders_node, holder_hears},
        {"deletes it, and puts one there that stays", a_single_node(),
         [](scene& s) {
             s.attempt([&](admin_session& a) {
                 a.remove(s.path);
                 a.create(s.path);
             });
         },
         [](scene& s) {
             s.check_holder_is_told(errc::node_deleted);
             const auto ec = code_of(s.io, s.waiting);
             // It may have been quicker than the stranger, who was refused then.
             BOOST_TEST((ec == errc::not_ephemeral || s.refused == 1));
             if (ec) {
                 s.check_newcomer(errc::not_ephemeral);
             }
         }},
        {"writes into the node of the holder", a_single_node(),
         [](scene& s) { s.attempt([&](admin_session& a) { a.set(s.path, "x"); }); },
         [](scene& s) { s.check_goes_on(); }},
        {"gives himself out as the leader", an_election(),
         [](scene& s) { s.attempt([&](admin_session& a) { a.set(s.held.node, "the stranger"); }); },
         [](scene& s) {
             outcome<std::optional<std::string>> leader;
             election{s.first, s.path, "a candidate"}.async_leader(leader.handler());
             BOOST_TEST((value_of(s.io, leader) == "the stranger"));
             s.check_goes_on();
         }},
    };
}

void run_attacks(const std::vector<attack>& all, access_to_locks access)
{
    const bool by_recipe = access == access_to_locks::by_recipe;
    for (const auto& each : all) {
        BOOST_TEST_CONTEXT("a stranger " << each.name << ": " << each.kind.name
                                         << (by_recipe ? ", by the recipe" : ", open to all"))
        {
            scene s{each.kind, access};
            try {
                s.begin();
                each.strike(s);
                BOOST_TEST(s.attempts > 0);
                if (by_recipe) {
                    BOOST_TEST(s.refused == s.attempts);
                    s.check_goes_on();
                } else {
                    each.when_open(s);
                }
            } catch (const std::exception& e) { // the other attacks are tried all the same
                BOOST_ERROR(e.what());
            }
            s.held = {};
            s.waiting = {};
        }
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(attacks)

BOOST_AUTO_TEST_CASE(queues_by_the_recipe)
{
    run_attacks(attacks_on_queues(), access_to_locks::by_recipe);
}

BOOST_AUTO_TEST_CASE(queues_that_are_open_to_all)
{
    run_attacks(attacks_on_queues(), access_to_locks::open);
}

// Nothing in the data of a directory is believed, so WRITE on it is no power over the lock, nor is READ on its nodes.
BOOST_AUTO_TEST_CASE(queues_whose_directory_all_may_read_and_write)
{
    for (const auto& each : attacks_on_queues()) {
        BOOST_TEST_CONTEXT("a stranger " << each.name << ": " << each.kind.name)
        {
            scene s{each.kind, access_to_locks::by_recipe};
            s.begin();
            s.give_to_all(s.queue_path(), permission_read | permission_write);
            for (const auto& node : s.queue_of(s.queue_path())) {
                s.give_to_all(s.queue_path() + "/" + node, permission_read);
            }
            each.strike(s);
            BOOST_TEST(s.attempts > 0);
            s.check_goes_on();
            s.held = {};
            s.waiting = {};
        }
    }
}

BOOST_AUTO_TEST_CASE(other_locks_by_the_recipe)
{
    run_attacks(attacks_on_others(), access_to_locks::by_recipe);
}

BOOST_AUTO_TEST_CASE(other_locks_that_are_open_to_all)
{
    run_attacks(attacks_on_others(), access_to_locks::open);
}

// Also that of the reader that a writer becomes, and parents that are missing.
BOOST_AUTO_TEST_CASE(all_nodes_of_a_lock_have_the_list_of_its_client)
{
    for (const auto& kind :
         {a_mutex(), a_writer(), a_reader(), a_single_node(), an_election(), a_semaphore()}) {
        BOOST_TEST_CONTEXT(kind.name)
        {
            scene s{kind, access_to_locks::by_recipe};
            s.begin();
            s.check_lists(s.directory);
            outcome<some_guard> far;
            kind.acquire(s.first, s.directory + "/far/away/lock", {}, s.why, far.handler());
            const auto held = value_of(s.io, far);
            s.check_lists(s.directory);
            if (kind.name == a_writer().name) {
                shared_mutex rw{s.first, s.directory + "/rw"};
                outcome<unique_lock> writing;
                outcome<shared_lock> reading;
                rw.async_lock(writing.handler());
                rw.async_downgrade(value_of(s.io, writing), reading.handler());
                const auto reader = value_of(s.io, reading);
                s.check_lists(s.directory);
            }
        }
    }
}

// Servers list what no client can keep in mind. It costs who asks for it the answer, and nobody a connection.
BOOST_AUTO_TEST_CASE(a_list_of_endless_names)
{
    // Its memory is full of these names for as long as it keeps the last transactions.
    zookeeper_server server{link_servers()};
    scene s{a_mutex(), access_to_locks::open, server};
    s.held = s.acquire(s.first);
    std::vector<std::string> names;
    for (int i = 0; i != 34; ++i) {
        names.push_back(s.path + "/" + std::string(1'000'000, 'x') + std::to_string(i));
        s.attempt([&](admin_session& a) { a.create(names.back()); });
        s.sync(s.first); // who holds the lock does not wait for all of them
    }
    BOOST_TEST(s.refused == 0);
    auto& newcomer = s.user();
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(code_of(s.io, s.start(newcomer)) == zookeeper_errc::marshalling_error);
    }
    BOOST_TEST(s.logged("too many for one list"));
    s.sync(newcomer);
    BOOST_TEST(newcomer.stats().connections == 1U);
    BOOST_TEST(static_cast<bool>(s.held), s.held.loss_reason().message());
    for (const auto& each : names) {
        s.attempt([&](admin_session& a) { a.remove(each); });
    }
    s.held = {};
    s.check_newcomer({});
}

// Nobody uses the lock, so its directory is empty.
BOOST_AUTO_TEST_CASE(the_empty_directory_is_replaced)
{
    for (const auto access : {access_to_locks::open, access_to_locks::by_recipe}) {
        scene s{a_mutex(), access};
        s.acquire(s.first) = {};
        s.drained();
        s.attempt([&](admin_session& a) {
            a.remove(s.path);
            a.create(s.path, "", mode::persistent, strangers_only);
        });
        BOOST_TEST(s.refused == (s.by_recipe ? 1 : 0));
        s.check_newcomer(s.by_recipe ? error_code{} : zookeeper_errc::no_auth,
                         s.by_recipe ? "" : "lacks CREATE on " + s.path);
    }
}

// Each client has a list of its own: they may stand in one queue, but not read each other's nodes. No event of these
// would reach them.
BOOST_AUTO_TEST_CASE(who_may_not_read_the_others_is_told_so)
{
    for (const auto& kind : {a_mutex(), a_writer(), a_reader(), a_single_node(), an_election()}) {
        BOOST_TEST_CONTEXT(kind.name)
        {
            scene s{kind, access_to_locks::open};
            if (kind.name != a_single_node().name) {
                s.admin.create(s.path);
            }
            const auto alone = [&](const std::string& user) -> client& {
                return s.connect(
                    {.credentials = {{"digest", user + ":secret"}}, .acl = creator_acl()});
            };
            s.held = s.acquire(alone("one"));
            auto& other = alone("other");
            const auto o = s.start(other);
            if (kind.name == a_reader().name) { // is not blocked by a reader
                BOOST_TEST(code_of(s.io, o) == error_code{});
                continue;
            }
            BOOST_TEST(code_of(s.io, o) == zookeeper_errc::no_auth);
            BOOST_TEST(s.why.message().find("this client lacks READ on " + s.held.node) !=
                           std::string::npos,
                       s.why.message());
            BOOST_TEST(s.until([&] { return other.stats().contenders == 0; }));
            BOOST_TEST(static_cast<bool>(s.held));
        }
    }
}

// What no list prevents: docs/security.md. The number of a session stands in what exists tells of its nodes.
BOOST_AUTO_TEST_CASE(a_session_is_ended_by_a_stranger_and_its_holder_is_told)
{
    for (const auto access : {access_to_locks::open, access_to_locks::by_recipe}) {
        scene s{a_mutex(), access};
        s.begin();
        // Servers before 3.8.4 and 3.9.2 show it to everybody, with the node; it is no secret with later ones, either.
        const auto session = s.first.session_id();
        const auto refused = kill_session(s.server.connect_string(), session, password_of(s.first));
        BOOST_REQUIRE_MESSAGE(!refused, refused.value_or(""));
        BOOST_TEST(s.until([&] { return !s.held; }));
        BOOST_TEST(static_cast<bool>(value_of(s.io, s.waiting))); // the next one has it
    }
}

// The servers send no event of a node that a client may not read, also when it could read it before: G4 of
// docs/guarantees.md. The next connection looks again.
BOOST_AUTO_TEST_CASE(a_contender_hides_behind_the_watch_and_goes)
{
    scene s{a_mutex(), access_to_locks::open};
    s.acquire(s.first) = {};
    s.drained();
    tcp_proxy proxy{s.server.connect_string()};
    auto& c = s.connect_through(proxy);
    const auto node =
        s.stranger.create(s.path + "/" + guid + "-lock-", "", mode::ephemeral_sequential);
    const auto waiting = s.start(c);
    BOOST_TEST(s.until([&] { return s.watches_of(c).contains(node); }));
    s.stranger.set_acl(node, strangers_only);
    s.stranger.remove(node);
    go_on(s.io, 50ms);
    proxy.cut();
    BOOST_TEST(static_cast<bool>(value_of(s.io, waiting)));
}

// The answer to the create is lost, and strangers use its guid before the client lists.
BOOST_AUTO_TEST_CASE(a_lost_create_does_not_take_the_node_of_a_stranger)
{
    for (const bool is_cancelled : {false, true}) {
        scene s{a_mutex(), access_to_locks::open};
        s.admin.create(s.path);
        tcp_proxy proxy{s.server.connect_string()};
        mutex lock{s.connect_through(proxy), s.path};
        auto lost = proxy.on_reply(any_create(), reaction::hold, {.error = 0});
        asio::cancellation_signal stop;
        outcome<unique_lock> locked;
        lock.async_lock(asio::bind_cancellation_slot(stop.slot(), locked.handler()));
        BOOST_TEST(s.until([&] { return lost.fired() == 1U; }));
        proxy.refuse(true);
        proxy.cut();
        const auto own = s.path + "/" + s.queue_of(s.path).front();
        for (int i = 10; i != 20; ++i) {
            s.stranger.create(own.substr(0, own.size() - 2) + std::to_string(i));
        }
        stop.emit(is_cancelled ? asio::cancellation_type::terminal : asio::cancellation_type::none);
        proxy.refuse(false);
        BOOST_TEST(code_of(s.io, locked) ==
                   (is_cancelled ? error_code{asio::error::operation_aborted} : error_code{}));
        locked = {};
        BOOST_TEST(s.until([&] { return s.queue_of(s.path).empty(); }));
    }
}

// The name of a writer's node tells what its reader's node will be called. A client that made the stranger's node its own would
// leave the writer's in the queue, until the session ends.
BOOST_AUTO_TEST_CASE(a_downgrade_does_not_take_the_node_of_a_stranger)
{
    for (const bool is_answered : {true, false}) {
        scene s{a_writer(), access_to_locks::open};
        tcp_proxy proxy{s.server.connect_string()};
        shared_mutex lock{s.connect_through(proxy), s.path};
        outcome<unique_lock> locked;
        lock.async_lock(locked.handler());
        auto held = value_of(s.io, locked);
        auto twin = held.node();
        twin.replace(twin.find("__WRIT__"), 8, "__READ__");
        s.stranger.create(twin);
        std::optional<tcp_proxy::rule> lost;
        if (!is_answered) {
            lost.emplace(proxy.on_reply(opcode::multi, reaction::drop_and_cut));
        }
        outcome<shared_lock> reading;
        lock.async_downgrade(std::move(held), reading.handler());
        BOOST_TEST(code_of(s.io, reading) == zookeeper_errc::node_exists);
        const auto next = s.start(s.connect());
        s.stranger.remove(twin);
        BOOST_TEST(static_cast<bool>(value_of(s.io, next)));
    }
}

namespace {

// By transactions of a client, a thousand at a time. One behind the other: the heartbeats of all others wait with what the
// servers have not carried out yet, and on a slow machine a hundred thousand creates take longer than a session.
error_code flood(scene& s, client& by, std::size_t names)
{
    error_code first;
    for (std::size_t i = 0; i < names; i += 1000) {
        std::vector<transaction_op> ops;
        for (std::size_t k = i; k != i + 1000; ++k) {
            ops.push_back(create_op(s.queue_path() + "/" + guid + "-lock-" +
                                    std::to_string(1'000'000'000 + k)));
        }
        outcome<std::vector<transaction_result>> made;
        by.async_multi(std::move(ops), made.handler());
        if (const auto ec = code_of(s.io, made); ec && !first) {
            first = ec;
        }
    }
    return first;
}

void run_flood(std::size_t names, access_to_locks access)
{
    scene s{a_mutex(), access};
    s.begin();
    const auto expected = s.by_recipe ? error_code{zookeeper_errc::no_auth} : error_code{};
    BOOST_TEST(flood(s, s.connect(), names) == expected);
    s.check_goes_on();
    s.held = {};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_flood_of_names_by_the_recipe)
{
    run_flood(1'000, access_to_locks::by_recipe);
}

BOOST_AUTO_TEST_CASE(a_flood_of_100_000_names_only_makes_the_lock_slow)
{
    run_flood(100'000, access_to_locks::open);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::attacks_test
