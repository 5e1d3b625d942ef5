#include "world.hpp"

#include "access_changes.hpp"
#include "changing_nodes.hpp"
#include "check/counter.hpp"
#include "check/guards.hpp"
#include "check/holds.hpp"
#include "check/members.hpp"
#include "check/operations.hpp"
#include "check/queues.hpp"
#include "check/rendezvous.hpp"
#include "check/shards.hpp"
#include "check/watches.hpp"
#include "drawn.hpp"
#include "limits.hpp"
#include "names/contender_name.hpp"
#include "simulated.hpp"
#include "trouble.hpp"
#include "workload/customer.hpp"
#include "workload/program.hpp"
#include "workload/scene.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace world {

using namespace std::chrono_literals;

namespace {

constexpr const char* base = "/w"; // all is below it: some clients have it as their chroot

// In times of trouble a server tells connections, too, that their clients have given up: those wake nobody.
class listener final : public observer {
public:
    listener(check::queues& to, check::holds& and_to, check::guards& of_sessions,
             check::shards& of_shards, check::members& of_group,
             check::rendezvous& of_meetings) noexcept
        : queues_{to}, holds_{and_to}, guards_{of_sessions}, shards_{of_shards}, members_{of_group},
          rendezvous_{of_meetings}
    {
    }

    void committed(const transaction& t) override
    {
        if (t.what == transaction::kind::open_session) {
            holds_.session_opened(t.session);
        } else if (t.what == transaction::kind::close_session && t.is_carried_out()) {
            guards_.session_over(t.session);
        }
        shards_.committed(t);
        queues_.committed(t);
        members_.committed(t);
        rendezvous_.committed(t);
    }
    void counted(std::int64_t session, std::chrono::milliseconds timeout) override
    {
        holds_.counted(session, timeout);
    }
    void woken(std::int64_t session, colock::watch_event_type type,
               const std::string& path) override
    {
        if (calm) {
            queues_.woken(session, type, path);
        }
    }

    bool calm = false;

private:
    check::queues& queues_;
    check::holds& holds_;
    check::guards& guards_;
    check::shards& shards_;
    check::members& members_;
    check::rendezvous& rendezvous_;
};

} // namespace

struct simulation::parts {
    explicit parts(const world_options& o)
        : options{o}, rare{o.rare ? *o.rare : draw_rarity(o.seed)}, chance{o.seed},
          notes{time, o.keeps_journal}, found{time}, cloud{notes.add_actor("ensemble")},
          net{time, chance.branch()}, servers{time, net, chance.branch(), draw_servers()},
          queues{time, found, notes, cloud}, operations{time, found, notes}, holds{time, found,
                                                                                   notes, queues},
          watches{time, found, notes, servers}, guards{time, found, notes, queues},
          shards{time, found, notes, queues}, members{time, found, notes, queues},
          rendezvous{time, found, notes}, all{time,    found,  notes,  operations, queues,    holds,
                                              watches, guards, shards, members,    rendezvous}
    {
        all.rare = rare;
        all.hosts = servers.hosts();
        all.chroot = base;
        all.tick = servers.options().tick;
        all.least_timeout = 3 * all.tick;
        all.most_timeout = (all.tick <= 1s && chance.per_mille(200) ? 8 : 5) * all.tick;
        if (rare == rarity::uneven || rare == rarity::late || rare == rarity::alone) {
            all.most_timeout = 8 * all.tick;
        } else if (rare == rarity::stalls) {
            all.most_timeout = 5 * all.tick;
        }
        if (rare == rarity::late) {
            all.least_timeout = 5 * all.tick; // answers come within two thirds of a session
        }
        all.surest_timeout = 20 * all.tick;
        for (const auto most : servers.options().most_sessions) {
            all.surest_timeout = std::min(all.surest_timeout, most);
        }
        all.too_small_ticks = o.too_small_ticks;
        all.onlookers = chance.per_mille(300);
        all.peers = chance.per_mille(300);
        all.several = chance.per_mille(600);
        all.guarded = chance.per_mille(150);
        if (rare == rarity::together) {
            all.several = true;
        } else if (rare == rarity::permissions) {
            all.guarded = false;
            all.peers = false; // they say nothing of a node that they may not delete
        } else if (rare == rarity::writes) {
            all.onlookers = true;
        } else if (rare == rarity::throttled) {
            all.onlookers = false; // for G7
            all.peers = true;
        } else if (rare == rarity::watches) {
            for (int i = 0; i < 10; ++i) {
                all.changing.push_back(base + ("/changing" + std::to_string(i)));
            }
        }
        if (rare == rarity::guards) {
            net.observe([this](const stream& by, const message& m) { guards.sent(by, m); });
        }
        servers.observe(&ear);
        for (std::size_t i = 0; i < servers.size(); ++i) {
            server_names.push_back(notes.add_actor(servers.machine_of(i).name()));
        }
        draw_places();
        draw_ends();
        draw_programs();
        draw_shared_work();
        draw_rendezvous();
        troubles = std::make_unique<trouble>(
            time, net, servers, programs, queues, holds, notes, server_names, chance.branch(),
            std::chrono::duration_cast<std::chrono::milliseconds>(all.most_timeout));
        troubles->favour(rare);
        if (all.too_small_ticks) {
            troubles->only_followers_alone();
        }
    }

    [[nodiscard]] ensemble_options draw_servers();
    void draw_places();
    void draw_programs();
    void draw_shared_work();
    void draw_rendezvous();
    [[nodiscard]] bool is_apt_for_more() const;
    void draw_ends();
    void make_by_hand(const std::string& path, const std::string& data = {},
                      colock::create_mode mode = colock::create_mode::persistent);
    void bring_to_the_end();
    void change_lists();
    void live();
    void calm();
    void kill_calmly(workload::program& which, bool again);
    void come_to_an_end();
    [[nodiscard]] bool is_quiet() const;

    const world_options options;
    const rarity rare;
    random chance;
    timeline time;
    check::journal notes;
    check::findings found;
    check::journal::actor cloud;
    network net;
    ensemble servers;
    check::queues queues;
    check::operations operations;
    check::holds holds;
    check::watches watches;
    check::guards guards;
    check::shards shards;
    check::members members;
    check::rendezvous rendezvous;
    listener ear{queues, holds, guards, shards, members, rendezvous};
    workload::scene all;
    std::vector<check::journal::actor> server_names;
    std::vector<std::unique_ptr<machine>> machines;
    limits counters{time, servers, notes, cloud, chance.branch()};
    std::optional<changing_nodes> changing;
    std::optional<access_changes> lists;
    // A directory that has had very many nodes already.
    struct old_directory {
        std::string path;
        std::int32_t next;   // number
        bool is_replaceable; // it has no data
    };
    std::optional<old_directory> old;
    bool thronged = false; // by thousands of clients, for a shorter time
    trouble::programs programs;
    std::unique_ptr<trouble> troubles;
};

// An ensemble that is set up anew may give numbers again. It takes longer than a session lasts.
ensemble_options simulation::parts::draw_servers()
{
    auto o = draw_ensemble(chance, rare);
    if (rare == rarity::guards) {
        o.old_session = [this, drawn = random{options.seed}](std::size_t server) mutable {
            constexpr auto longest_close = 6s;
            return drawn.per_mille(700)
                       ? guards.take_old(server, all.most_timeout * 102 / 100 + longest_close,
                                         [this](auto id) { return workload::is_known(all, id); })
                       : 0;
        };
    }
    return o;
}

void simulation::parts::draw_places()
{
    using workload::lock_kind;
    const auto count = 1 + chance.below(4);
    for (std::size_t i = 0; i < count; ++i) {
        constexpr lock_kind kinds[] = {lock_kind::mutex,
                                       lock_kind::mutex,
                                       lock_kind::recursive_mutex,
                                       lock_kind::shared_mutex,
                                       lock_kind::single_node_mutex,
                                       lock_kind::semaphore,
                                       lock_kind::election};
        workload::place p;
        p.kind = kinds[chance.below(std::size(kinds))];
        p.path = base + ("/lock" + std::to_string(i));
        p.layout = p.kind == lock_kind::shared_mutex ? colock::curator_shared_layout()
                   : p.kind == lock_kind::election   ? colock::curator_latch_layout()
                                                     : colock::curator_layout();
        if (p.kind == lock_kind::mutex && chance.per_mille(200)) {
            p.layout = chance.per_mille(500) ? colock::kazoo_layout() : colock::named_layout("x");
        }
        if (p.kind != lock_kind::single_node_mutex && p.kind != lock_kind::semaphore) {
            p.written = base + ("/written" + std::to_string(i));
        }
        check::queues::place q;
        q.path = p.path;
        q.marker = p.layout.marker;
        q.shared_marker = p.layout.shared_marker;
        q.written = p.written;
        q.has_onlookers = all.onlookers || p.kind == lock_kind::election;
        if (p.kind == lock_kind::single_node_mutex) {
            q.type = check::queues::kind::single_node;
        } else if (p.kind == lock_kind::semaphore) {
            p.permits = chance.between(1, 4);
            if (chance.per_mille(400)) {
                p.counter = base + ("/limit" + std::to_string(i));
                counters.add(p.counter, p.permits);
                all.expected.push_back(colock::errc::invalid_counter);
            }
            q.path = p.path + "/locks";
            queues.add(q);
            q.path = p.path + "/leases";
            q.marker = "lease-";
            q.type = check::queues::kind::leases;
            q.permits = p.permits;
            q.counter = p.counter;
        }
        p.queue = queues.add(std::move(q));
        all.places.push_back(std::move(p));
    }
}

void simulation::parts::draw_programs()
{
    // Seldom there are very many, and very seldom thousands. Each member of a group reads what all others say.
    const bool crowded =
        (chance.per_mille(10) && rare != rarity::shards && rare != rarity::rendezvous) ||
        options.thronged;
    thronged = crowded && (chance.per_mille(100) || options.thronged);
    // Each release of a single_node_mutex wakes all who wait: the square of thousands is too much.
    if (std::ranges::any_of(all.places, [](const auto& p) {
            return p.kind == workload::lock_kind::single_node_mutex;
        })) {
        thronged = false;
    }
    const auto count = crowded ? 20 + chance.below(20) : 2 + chance.below(5);
    for (std::size_t i = 0; i < count; ++i) {
        const auto name = "p" + std::to_string(i);
        machines.push_back(std::make_unique<machine>(time, name, some_drift(chance)));
        workload::program::habits h;
        h.clients = thronged  ? 30 + chance.below(50)
                    : crowded ? 1 + chance.below(20)
                              : 1 + chance.below(2);
        h.users = 1 + chance.below(thronged ? 2 : 4);
        h.restless = chance.per_mille(500);
        h.is_peer = all.peers && chance.per_mille(400);
        programs.push_back(std::make_unique<workload::program>(
            all, *machines.back(), net, notes.add_actor(name), chance.branch(), h));
    }
}

bool simulation::parts::is_apt_for_more() const
{
    return !options.too_small_ticks && programs.size() < 10 &&
           (rare == rarity::none || rare == rarity::uneven || rare == rarity::together ||
            rare == rarity::watches || rare == rarity::guards);
}

// One world in three has shards, or a group, or both. Drawn apart, so that the others keep their histories.
void simulation::parts::draw_shared_work()
{
    random own{options.seed ^ 0x7368617265640000u};
    const auto drawn = own.below(100);
    if (rare != rarity::shards && (!is_apt_for_more() || drawn >= 33)) {
        return;
    }
    if (drawn % 3 != 0 || rare == rarity::shards) {
        all.group = base + std::string{"/group"};
        members.add(all.group);
    }
    if (drawn % 3 == 1) {
        return;
    }
    all.shared = draw_shards(base + std::string{"/shards"}, all.least_timeout, own, queues, shards);
}

// One world in six has latches and a barrier.
void simulation::parts::draw_rendezvous()
{
    random own{options.seed ^ 0x72656e64657a0000u};
    if (rare == rarity::rendezvous || (is_apt_for_more() && own.below(6) == 0)) {
        all.meeting = draw_meeting(base, own);
        rendezvous.add(*all.meeting);
    }
}

// Seldom one of the directories is so old that its numbers come to their end.
void simulation::parts::draw_ends()
{
    const auto& p = all.places[chance.below(all.places.size())];
    if (!chance.per_mille(120) || p.kind == workload::lock_kind::single_node_mutex) {
        return;
    }
    const bool last = chance.per_mille(300);
    const auto from = last ? colock::protocol::last_number : colock::protocol::late_from_number;
    old = old_directory{p.kind == workload::lock_kind::semaphore ? p.path + "/locks" : p.path,
                        static_cast<std::int32_t>(from - chance.between(0, 100)),
                        chance.per_mille(800)};
    queues.ends(old->path);
    if (last) {
        all.expected.push_back(colock::errc::sequence_exhausted);
    }
}

void simulation::parts::bring_to_the_end()
{
    if (old->path.ends_with("/locks")) {
        make_by_hand(old->path.substr(0, old->path.rfind('/')));
    }
    make_by_hand(old->path, old->is_replaceable ? std::string{} : std::string{"somebody's"},
                 old->is_replaceable ? colock::create_mode::container
                                     : colock::create_mode::persistent);
    time.run_until(time.now() + 1s);
    servers.set_counter(old->path, old->next);
    // What is created now has the new number in all logs.
    const auto first = old->path + "/first-";
    servers.by_hand({.op = opcode::create,
                     .path = first,
                     .mode = colock::create_mode::persistent_sequential,
                     .acl = colock::open_acl()});
    time.run_until(time.now() + 1s);
    servers.remove_by_hand(first + std::to_string(old->next));
    time.run_until(time.now() + 1s);
}

void simulation::parts::make_by_hand(const std::string& path, const std::string& data,
                                     colock::create_mode mode)
{
    while (servers.decided().find(path) == nullptr) {
        servers.by_hand({.op = opcode::create,
                         .path = path,
                         .data = data,
                         .mode = mode,
                         .acl = colock::open_acl()});
        time.run_until(time.now() + 100ms);
    }
}

void simulation::parts::change_lists()
{
    lists.emplace(time, servers, queues, holds, notes, cloud, random{options.seed});
    for (const auto& p : all.places) {
        if (p.kind == workload::lock_kind::semaphore) {
            lists->add(p.path + "/locks", false);
            lists->add(p.path + "/leases", true);
        } else if (p.kind != workload::lock_kind::single_node_mutex) {
            lists->add(p.path, false);
        }
    }
    lists->begin();
}

void simulation::parts::live()
{
    const auto whole = std::chrono::minutes{options.minutes};
    // The servers find a leader, then an operator makes what all need.
    time.run_until(time.now() + 1s);
    while (!servers.leader()) {
        time.run_until(time.now() + 100ms);
    }
    make_by_hand(base);
    for (const auto& p : all.places) {
        if (!p.written.empty()) {
            make_by_hand(p.written);
        }
        if (!p.counter.empty()) {
            make_by_hand(p.counter, check::bytes_of(p.permits));
        }
    }
    if (old) {
        bring_to_the_end();
    }
    for (auto& p : programs) {
        p->start();
    }
    counters.begin();
    if (!all.changing.empty()) {
        changing.emplace(time, servers, random{options.seed});
        changing->begin(all.changing);
    }
    if (rare == rarity::permissions) {
        change_lists();
    }
    const auto trouble_ends =
        thronged ? time.now() + 5s : whole - 2 * std::chrono::nanoseconds{all.most_timeout} - 15s;
    constexpr std::chrono::milliseconds apart[] = {200ms, 500ms, 1s, 2s, 5s, 10s};
    const auto drawn = apart[chance.below(std::size(apart))];
    troubles->begin(trouble_ends, all.too_small_ticks ? 1s : drawn);
    while (time.now() < trouble_ends) {
        time.run_until(std::min<instant>(trouble_ends, time.now() + 1s));
        holds.look(all.most_timeout + all.tick);
        if (lists) {
            lists->tidy(all.most_timeout, all.may_leave_nodes);
        }
    }
    if (lists) {
        lists->end();
    }
    if (changing) {
        changing->end();
    }
    troubles->end();
    all.calm = true;
    const auto trouble_ended = time.now();
    // Sessions of processes that were killed expire, and the others settle.
    const auto settled = time.now() + 2 * std::chrono::nanoseconds{all.most_timeout};
    while (time.now() < settled) {
        time.run_until(std::min<instant>(settled, time.now() + 1s));
        if (lists) {
            lists->tidy(1s, all.may_leave_nodes);
        }
    }
    shards.calm(trouble_ended);
    members.calm();
    rendezvous.calm();
    calm();
    come_to_an_end();
}

// No trouble, but programs that come and go, and holders and nodes that linger for some seconds.
void simulation::parts::calm()
{
    ear.calm = true;
    // Whoever takes several locks has some of them for long before it is told of all, and holds up those that wait.
    if (!all.several) {
        holds.calm(all.rare == rarity::throttled);
    }
    for (int i = 0; i < 10; ++i) {
        if (rare == rarity::guards && i % 4 == 0) {
            kill_calmly(*programs.front(), i != 0);
        }
        time.run_until(time.now() + 1s);
        watches.look(5s);
        shards.look();
        members.look();
        rendezvous.look();
        if (lists) {
            lists->tidy(1s, all.may_leave_nodes);
        }
        if (!all.several) {
            queues.report_waiting(15s,
                                  [&](const std::string& node) { return holds.is_held(node); });
        }
    }
    holds.look(all.most_timeout + all.tick);
}

// `again`: the process has begun in the calm, and its guard with it.
void simulation::parts::kill_calmly(workload::program& which, bool again)
{
    const bool guarded = again && which.guard() != nullptr;
    which.kill();
    time.after(all.least_timeout / 2, [this, guarded, life = which.life()] {
        if (guarded) {
            guards.look_whether_ended(*life);
        }
    });
    time.after(2 * all.least_timeout / 3, [&which] { which.start(); });
}

bool simulation::parts::is_quiet() const
{
    for (const auto& p : programs) {
        if (!p->is_done()) {
            return false;
        }
    }
    return true;
}

void simulation::parts::come_to_an_end()
{
    all.draining = true;
    counters.end();
    auto latest = time.now() + 2 * std::chrono::nanoseconds{all.most_timeout} + 60s;
    while (!is_quiet() && time.now() < latest) {
        time.run_until(time.now() + 250ms);
        if (lists && lists->tidy(1s, all.may_leave_nodes)) {
            latest += 2s; // a crowd may have left hundreds of nodes, one behind the other
        }
    }
    if (!is_quiet()) {
        operations.report_pending("G4 stuck");
        for (const auto& p : programs) {
            if (!p->is_done()) {
                found.add("G4 stuck", notes.name_of(p->name()) + " does not come to its end");
            }
        }
    } else {
        operations.report_pending("G6 pending");
    }
    // Sessions of processes that were killed expire.
    const auto expired = time.now() + all.most_timeout * 3 / 2 + 2 * all.tick;
    while (queues.left() > 0 && time.now() < expired) {
        time.run_until(time.now() + 250ms);
    }
    queues.report_left();
}

simulation::simulation(const world_options& options) : parts_{std::make_unique<parts>(options)}
{
}

simulation::~simulation() = default;

outcome simulation::run()
{
    auto& p = *parts_;
    try {
        p.live();
    } catch (const std::exception& e) {
        p.found.add("exception", e.what());
    }
    p.programs.clear();
    outcome o;
    o.seed = p.options.seed;
    o.hash = p.notes.hash();
    o.violations = p.found.count();
    o.first = p.found.first();
    o.end = p.time.now();
    o.grants = p.holds.grants();
    o.operations = p.operations.started();
    o.transactions = static_cast<std::uint64_t>(p.servers.decided().last_zxid() & 0xffffffff);
    o.troubles = p.troubles->count();
    return o;
}

const check::journal& simulation::journal() const
{
    return parts_->notes;
}

} // namespace world
