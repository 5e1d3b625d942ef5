// ZooKeeper, as far as the semaphore of test/model/permits.hpp depends on it.
#pragma once

#include "permits.hpp"

#include <algorithm>

namespace colock::model::permits {

class server {
public:
    explicit server(laboratory& lab)
        : left_{lab.rules}, directory_{lab.rules.directory_exists},
          maximum_{static_cast<std::uint8_t>(lab.rules.elsewhere)}, limit_{
                                                                        static_cast<std::uint8_t>(
                                                                            lab.rules.permits)}
    {
        for (std::size_t i = 0; i != left_.sessions; ++i) {
            auto& s = sessions_.emplace_back();
            s.id = static_cast<std::uint8_t>(i + 1);
            for (std::size_t who = 0; who != left_.acquisitions; ++who) {
                s.all.emplace_back().state = lab.first(i, who);
            }
        }
    }

protected:
    template <class List, class Predicate>
    static std::size_t erase_if(List& list, Predicate unwanted)
    {
        const auto from = std::remove_if(list.begin(), list.end(), unwanted);
        const auto count = static_cast<std::size_t>(list.end() - from);
        list.erase(from, list.end());
        return count;
    }

    static void require(bool truth, const char* what)
    {
        if (!truth) {
            throw violation{what};
        }
    }

    template <class Function>
    void for_each(Function function)
    {
        for (auto& s : sessions_) {
            for (auto& a : s.all) {
                function(s, a);
            }
        }
    }

    static std::uint8_t number_of(const session& s, const acquisition& a)
    {
        return static_cast<std::uint8_t>(&a - s.all.data());
    }
    [[nodiscard]] std::size_t index_of(const session& s) const
    {
        return static_cast<std::size_t>(&s - sessions_.data());
    }
    [[nodiscard]] std::uint8_t guid_of(const session& s, const acquisition& a) const
    {
        return static_cast<std::uint8_t>(index_of(s) * max_acquisitions + number_of(s, a));
    }
    static bool is_over(const acquisition& a)
    {
        return a.gone && !a.removing && (a.outcome != outcome_of::granted || a.released);
    }

    void process(session& s, laboratory& lab)
    {
        const auto r = s.requests.front();
        s.requests.erase(s.requests.begin());
        auto& a = s.all[r.who];
        message m{r.op, r.who};
        m.wanted = r.wanted;
        const auto listed = [&] {
            m.answer = directory_ ? code::ok : code::no_node;
            m.found = leases_;
            m.number = list_version_;
            m.limit = directory_ ? made_ : 0;
        };
        switch (r.op) {
        case operation::join:
            if (place_of(s.id) == queue_.size()) {
                queue_.emplace_back(s.id, ++places_);
            }
            if (queue_.front().first == s.id) {
                s.messages.push_back({.op = operation::granted, .number = queue_.front().second});
            }
            return;
        case operation::try_join:
            m.op = queue_.empty() ? operation::granted : operation::busy;
            if (queue_.empty()) {
                queue_.emplace_back(s.id, ++places_);
                m.number = places_;
            }
            break;
        case operation::leave:
            if (place_of(s.id) != queue_.size()) {
                remove_place(s.id);
            }
            break;
        case operation::check_place:
            if (place_of(s.id) != queue_.size()) {
                return;
            }
            m.op = operation::place_gone;
            break;
        case operation::list: listed(); break;
        case operation::list_and_watch:
            listed();
            a.list.armed |= directory_ && r.wanted;
            break;
        case operation::read_maximum:
            m.answer = directory_ ? code::ok : code::no_node;
            m.limit = maximum_;
            m.number = made_;
            break;
        case operation::list_siblings: m.limit = rival_ != rival::none ? 1 : 0; break;
        case operation::read_limit:
            m.limit = limit_;
            m.number = limit_version_;
            a.limit.armed |= r.wanted;
            break;
        case operation::create:
            m.answer = create(s, a, r, lab);
            m.number = r.low;
            break;
        case operation::make_directory:
            if (!directory_) {
                directory_ = true;
                ++made_;
                maximum_ =
                    static_cast<std::uint8_t>(lab.rules.counter ? 0 : lab.permits_of(index_of(s)));
                leases_changed();
            }
            break;
        case operation::remove_directory:
            if (r.number != 0 && !has_place(s.id, r.number)) {
                return;
            }
            if (directory_ && leases_.empty()) {
                directory_ = false;
                leases_changed();
            }
            return;
        case operation::remove_leases: {
            const auto before = leases_.size();
            erase_if(leases_,
                     [&](const lease& l) { return l.high == guid_of(s, a) && l.low == r.low; });
            if (leases_.size() != before) {
                leases_changed();
            }
            break;
        }
        case operation::renew_list:
            if (r.number == list_version_) {
                a.list.armed = a.list.alive;
                return;
            }
            m.op = operation::list_changed;
            break;
        case operation::renew_limit:
            if (r.number == limit_version_) {
                a.limit.armed = a.limit.alive;
                return;
            }
            m.op = operation::limit_changed;
            break;
        default: throw std::logic_error{"no request"};
        }
        s.messages.push_back(m);
    }

    code create(const session& s, const acquisition& a, const request& r, const laboratory& lab)
    {
        if (!has_place(s.id, r.number)) {
            return code::no_place;
        }
        if (lab.rules.counter && r.limit_version != -1 && r.limit_version != limit_version_) {
            return code::other_limit;
        }
        if (!directory_) {
            return code::no_node;
        }
        require(queue_.front().first == s.id, "G2: permits are taken out of turn");
        const auto index = index_of(s);
        for (const auto& l : leases_) {
            require(lab.permits_of(l.high / max_acquisitions) == lab.permits_of(index),
                    "G1: permits beside those of another number");
        }
        for (std::int64_t i = 0; i != lab.rules.wanted[index]; ++i) {
            leases_.push_back({s.id, guid_of(s, a), r.low, static_cast<std::uint8_t>(i)});
        }
        const auto most = lab.rules.counter ? limit_ : lab.permits_of(index);
        require(static_cast<std::int64_t>(leases_.size()) <= most,
                "G1: more permits are held than there are");
        leases_changed();
        return code::ok;
    }

    void leases_changed()
    {
        ++list_version_;
        for_each([&](session& s, acquisition& a) {
            if (std::exchange(a.list.armed, false)) {
                s.messages.push_back({operation::list_changed, number_of(s, a)});
            }
        });
    }

    [[nodiscard]] std::size_t place_of(std::uint8_t id) const
    {
        return static_cast<std::size_t>(
            std::ranges::find(queue_, id, &std::pair<std::uint8_t, std::uint8_t>::first) -
            queue_.begin());
    }

    [[nodiscard]] bool has_place(std::uint8_t id, std::uint8_t number) const
    {
        return place_of(id) != queue_.size() && queue_[place_of(id)].second == number;
    }

    // Tells its session, and the next one.
    void remove_place(std::uint8_t id)
    {
        const auto at = place_of(id);
        queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(at));
        for (auto& s : sessions_) {
            if (!s.connected || !s.alive) {
                continue;
            }
            if (s.id == id && s.place != place_state::leaving) {
                s.messages.push_back({.op = operation::place_gone});
            }
            if (at == 0 && !queue_.empty() && queue_.front().first == s.id) {
                s.messages.push_back({.op = operation::granted, .number = queue_.front().second});
            }
        }
    }

    // What belongs to this session goes.
    void forget(std::uint8_t id)
    {
        if (erase_if(leases_, [&](const lease& l) { return l.session == id; }) != 0) {
            leases_changed();
        }
        if (place_of(id) != queue_.size()) {
            remove_place(id);
        }
    }

    [[nodiscard]] bool is_ghost(std::uint8_t id) const
    {
        return std::ranges::none_of(sessions_,
                                    [&](const session& s) { return s.id == id && s.alive; });
    }
    [[nodiscard]] bool has_ghosts() const
    {
        return std::ranges::any_of(leases_, [&](const lease& l) { return is_ghost(l.session); }) ||
               std::ranges::any_of(queue_, [&](const auto& each) { return is_ghost(each.first); });
    }
    void sweep()
    {
        for (std::uint8_t id = 1; id != 64; ++id) {
            if (is_ghost(id)) {
                forget(id);
            }
        }
    }

    scenario left_; // of the budgets
    bool directory_;
    std::uint8_t made_ = 1;    // which directory it is
    std::uint8_t maximum_ = 0; // written into it; 0: none
    // A lock of another kind, which has its queue at the semaphore's path.
    enum class rival : std::uint8_t { none, there, granted } rival_ = rival::none;
    std::uint8_t limit_;
    std::uint8_t limit_version_ = 0, list_version_ = 0;
    std::uint8_t places_ = 0; // numbers in the queue that were given
    boost::container::static_vector<std::pair<std::uint8_t, std::uint8_t>, 8> queue_;
    leases leases_;
    boost::container::static_vector<session, max_sessions> sessions_;
};

} // namespace colock::model::permits
