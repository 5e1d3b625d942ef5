// Clients whose users share contenders, their server and an adversary: the steps that can happen next.
#pragma once

#include "hand_off_state.hpp"

namespace colock::model::hand_off {

class world {
public:
    explicit world(laboratory& lab)
        : server_{lab.rules.users.size(), true, lab.names, lab.rules.first_number, true, false},
          clients_(lab.rules.users.size()), left_{lab.rules.cancels, lab.rules.breaks,
                                                  lab.rules.expiries, lab.rules.removals}
    {
        for (std::size_t i = 0; i != clients_.size(); ++i) {
            auto& c = clients_[i];
            c.cohort = lab.first_cohort(i);
            c.to_come = static_cast<std::uint8_t>(lab.rules.users[i]);
        }
        clients_[0].to_try = static_cast<std::uint8_t>(lab.rules.tries);
    }

    [[nodiscard]] std::vector<step> possible() const
    {
        std::vector<step> all;
        for (std::size_t i = 0; i != clients_.size(); ++i) {
            const auto& c = clients_[i];
            const auto& s = server_.sessions[i];
            const auto add = [&](step_kind kind, std::size_t which = 0) {
                all.push_back(
                    {kind, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(which)});
            };
            if (c.to_come != 0) {
                add(step_kind::arrive);
            }
            if (c.to_try != 0) {
                add(step_kind::try_arrive);
            }
            if (!c.strand.empty()) {
                add(step_kind::strand);
            }
            if (c.timer) {
                add(step_kind::linger_over);
            }
            for (const auto& d : c.drivers) {
                if (d.users != 0) {
                    add(step_kind::release, d.number);
                }
                if (d.trying && left_.cancels != 0) {
                    add(step_kind::cancel_try, d.number);
                }
            }
            // What is behind a poll is processed, whether the poll brings something new or not.
            const bool nothing_new = s.requests.size() == 1 && server_.stands_by(i);
            if (!s.requests.empty() && s.alive && !nothing_new) {
                add(step_kind::process);
            }
            if (!s.messages.empty()) {
                add(step_kind::deliver);
            }
            const bool over = is_over(c);
            if (!s.alive) {
                add(s.connected ? step_kind::notice_break : step_kind::notice_expiry);
            } else if (!s.connected) {
                add(step_kind::reconnect);
            }
            if (i != 0 || over) {
                continue;
            }
            if (left_.cancels != 0 && c.waiting != 0) {
                add(step_kind::cancel);
            }
            if (left_.breaks != 0 && s.alive && s.connected && !c.drivers.empty()) {
                add(step_kind::break_connection);
            }
            if (left_.expiries != 0 && s.alive && !c.drivers.empty()) {
                add(step_kind::expire);
            }
        }
        for (std::size_t at = 0; left_.removals != 0 && at != server_.nodes.size(); ++at) {
            all.push_back(
                {step_kind::remove_node, server_.nodes[at].client, static_cast<std::uint8_t>(at)});
        }
        return all;
    }

    void take(const step& s, laboratory& lab)
    {
        lab_ = &lab;
        i_ = s.client;
        auto& c = clients_[i_];
        switch (s.kind) {
        case step_kind::arrive:
            --c.to_come;
            arrive();
            break;
        case step_kind::try_arrive:
            --c.to_try;
            try_arrive();
            break;
        case step_kind::release: end_turn(*c.find(s.which)); break;
        case step_kind::strand: {
            const auto next = c.strand.front();
            c.strand.erase(c.strand.begin());
            next.asks ? ask() : reconcile(next);
            break;
        }
        case step_kind::linger_over: linger_over(); break;
        case step_kind::process: server_.process(i_, lab.text); break;
        case step_kind::deliver: deliver(); break;
        case step_kind::break_connection: --left_.breaks; [[fallthrough]];
        case step_kind::notice_break: suspend(); break;
        case step_kind::notice_expiry:
            server_.new_session(i_);
            for_each_driver([&](driver& d) { run(d, {.kind = input_kind::expired}); });
            break;
        case step_kind::reconnect:
            server_.connect(i_, true);
            for_each_driver([&](driver& d) {
                run(d, {.kind = input_kind::connected, .session = server_.sessions[i_].id});
                holder_input(d, [](protocol::cohort& all) { return all.look_again(); });
            });
            break;
        case step_kind::cancel:
            --left_.cancels;
            withdraw();
            break;
        case step_kind::cancel_try: {
            --left_.cancels;
            auto& d = *c.find(s.which);
            d.trying = false;
            leave(d);
            break;
        }
        case step_kind::expire:
            --left_.expiries;
            server_.expire(i_);
            break;
        case step_kind::remove_node:
            --left_.removals;
            c.robbed = server_.nodes[s.which].name;
            server_.remove(s.which);
            break;
        }
        forget_gone();
        check();
    }

    void check_end(laboratory&) const
    {
        for (const auto& c : clients_) {
            require(c.waiting == 0, "G4: a user waits for ever");
            for (const auto& d : c.drivers) {
                require(d.cancelled == 0 && !d.trying, "G4: a user who has given up is not told");
            }
            require(c.drivers.empty(), "G3: a contender does not end");
            require(c.watches.empty(), "G3: an entry of the watch table is left");
        }
        require(server_.nodes.empty(), "G3: a node is left");
        for (const auto& s : server_.sessions) {
            require(s.watches.empty(), "G3: a watch is left");
        }
    }

    void write(std::string& to) const;

private:
    // ---- what local_queue does, on any thread

    struct outcome {
        work on_the_strand;
        bool reconcile = false;
    };

    template <class Change>
    auto decide(client& c, Change&& change)
    {
        auto all = lab_->cohorts[c.cohort];
        const auto result = change(all);
        c.cohort = lab_->number_of(all);
        return result;
    }
    template <class Change>
    void holder_input(driver& d, Change&& change)
    {
        auto& c = clients_[i_];
        if (c.holder == d.number) {
            outcome out;
            apply(decide(c, change), out);
            carry_out(out, true);
        }
    }

    void arrive();
    void try_arrive();
    void ask();
    void withdraw();
    void end_turn(driver& d);
    void linger_over();
    void apply(const protocol::cohort::actions& v, outcome& out);
    void admit();
    void drop_lost_holder(outcome& out);
    void drop_holder(outcome& out);
    void drop_former_holder(outcome& out);
    void carry_out(outcome& out, bool on_strand);
    void reconcile(work w);

    // ---- what becomes of contenders, on the strand

    void granted(driver& d);
    void lost(driver& d);
    void failed(driver& d);
    void met(driver& d, protocol::remote_contention what);

    // ---- what contender_driver does for one contender

    template <class Each>
    void for_each_driver(Each&& each)
    {
        boost::container::static_vector<serial, 6> all;
        for (const auto& d : clients_[i_].drivers) {
            all.push_back(d.number);
        }
        for (const auto number : all) {
            if (auto* const d = clients_[i_].find(number)) {
                each(*d);
            }
        }
    }
    driver& new_driver();
    void leave(driver& d);
    std::optional<protocol::remote_contention> run(driver& d, input in);
    void perform(driver& d, const output& o);
    void leave_behind_create(driver& d);
    void send(driver& d, operation op, const output& o);
    void suspend();
    void forget_gone();

    // ---- watches and answers

    [[nodiscard]] static bool is_watch(operation op)
    {
        return op == operation::watch || op == operation::list_and_watch ||
               op == operation::watch_newcomers;
    }
    client::watch_entry& entry(text_id name);
    void settle(text_id name);
    void unwatch(const driver& d, text_id name);
    void deliver();

    // ---- what has to be true

    [[nodiscard]] bool is_lost(const client& c, const driver& d) const
    {
        return d.told || !server_.sessions[index_of(c)].alive; // by the clock
    }
    [[nodiscard]] std::size_t index_of(const client& c) const
    {
        return static_cast<std::size_t>(&c - clients_.data());
    }
    [[nodiscard]] static bool is_over(const client& c)
    {
        return c.to_come == 0 && c.to_try == 0 && c.waiting == 0 && c.drivers.empty() &&
               c.strand.empty();
    }
    [[nodiscard]] bool others_queue(std::size_t than) const;
    [[nodiscard]] bool is_quiet() const;
    void check();
    void check_quiet();

    struct budget {
        unsigned cancels, breaks, expiries, removals;
    };

    laboratory* lab_ = nullptr; // during a step: and the client whose step it is
    std::size_t i_ = 0;
    bool suspending_ = false;
    zookeeper server_;
    boost::container::static_vector<client, 3> clients_;
    budget left_;
};

} // namespace colock::model::hand_off
