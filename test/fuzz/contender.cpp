// A contender whose servers answer what they like. It keeps its promises to the driver, and leaves when it is told to.
#include "queue/contender.hpp"

#include "input.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

using namespace colock;
using namespace colock::protocol;

namespace {

using kind = command::kind;

bool is_request(kind k) noexcept
{
    return k <= kind::look;
}

const error_code& code(std::uint8_t choice)
{
    static const error_code codes[] = {{},
                                       {},
                                       zookeeper_errc::no_node,
                                       zookeeper_errc::node_exists,
                                       zookeeper_errc::throttled_op,
                                       zookeeper_errc::no_auth,
                                       zookeeper_errc::bad_version,
                                       zookeeper_errc::not_empty,
                                       zookeeper_errc::invalid_acl,
                                       zookeeper_errc::session_moved,
                                       zookeeper_errc::runtime_inconsistency,
                                       zookeeper_errc::unimplemented};
    return codes[choice % std::size(codes)];
}

// Carries out what the contender wants, with answers from the input; and holds it to its contract.
class driver {
public:
    driver(fuzz::input& in, const contender::settings& s)
        : in_{in}, contender_{s, guid{1, 2}}, exclusive_{!s.shared &&
                                                         !s.layout->shared_marker.empty()}
    {
    }

    void join(bool try_only)
    {
        const auto connected = connected_ = in_.flag();
        feed([&](auto& out) {
            try_only ? contender_.try_join(connected, session_, out)
                     : contender_.join(connected, session_, out);
        });
    }

    void step()
    {
        switch (in_.byte() % 16) {
        case 0: leave(); break;
        case 1:
            if (contender_.holds()) {
                feed([&](auto& out) { contender_.watch_own_node(out); });
            }
            break;
        case 2:
            if (contender_.holds() && !left_ && !stepped_down_ && exclusive_) {
                stepped_down_ = true;
                feed([&](auto& out) { contender_.step_down(out); });
            }
            break;
        case 3: break_connection(false); break;
        case 4: break_connection(true); break;
        case 5: connect(); break;
        case 6:
            if (connected_ && std::exchange(to_prove_, false)) {
                safe_ = true;
                feed([&](auto& out) { contender_.proved(out); });
            }
            break;
        case 7: safe_ = in_.flag(); break;
        case 8:
            if (contender_.holds()) {
                feed([&](auto& out) { static_cast<void>(contender_.look_around(out)); });
            }
            break;
        case 9:
        case 10: fire(); break;
        default: answer_next(); break;
        }
    }

    // From now on the servers behave. What was left behind is found, removed, or gone.
    void end()
    {
        leave();
        safe_ = true;
        for (int i = 0; i != 100 && !contender_.is_gone(); ++i) {
            connect();
            if (open_.empty()) {
                break;
            }
            const auto next = open_.front();
            open_.pop_front();
            answer(next, next.type != kind::watch ? error_code{} : zookeeper_errc::no_node, {});
        }
        fuzz::require(contender_.is_gone());
    }

private:
    template <class Input>
    void feed(Input&& input)
    {
        commands out;
        contender_.assume_safe(safe_);
        const bool was_gone = contender_.is_gone();
        input(out);
        fuzz::require(!was_gone || out.empty());
        fuzz::require(out.size() <= 12);
        for (std::size_t i = 0; i != out.size(); ++i) {
            take(out[i], i + 1 == out.size());
        }
        fuzz::require(contender_.is_gone() == gone_);
    }

    void take(const command& c, bool last)
    {
        fuzz::require(!gone_);
        if (is_request(c.type)) {
            fuzz::require(connected_);
            fuzz::require(c.type == kind::make_directory || c.type == kind::list ||
                          c.type == kind::list_again || c.type == kind::list_and_watch ||
                          c.type == kind::watch_newcomers || !c.name.empty());
            open_.push_back(c);
            return;
        }
        switch (c.type) {
        case kind::unwatch:
            std::erase(armed_, c.name);
            for (auto& open : open_) {
                if (open.type == kind::watch && open.name == c.name) {
                    open.type = kind::unwatch; // its answer is dropped
                }
            }
            break;
        case kind::prove: to_prove_ = true; break;
        case kind::granted:
            fuzz::require(safe_ && !left_ && !granted_ && !refused_);
            granted_ = true;
            break;
        case kind::busy:
        case kind::failed:
            fuzz::require(!granted_ && !refused_);
            refused_ = true;
            break;
        case kind::shared: fuzz::require(stepped_down_ && !std::exchange(shared_, true)); break;
        case kind::lost: fuzz::require(granted_ && !std::exchange(lost_, true)); break;
        case kind::gone:
            fuzz::require(last && (granted_ || refused_ || left_));
            gone_ = true;
            break;
        default: break;
        }
    }

    void leave()
    {
        left_ = true;
        feed([&](auto& out) { contender_.leave(out); });
    }

    void connect()
    {
        if (!connected_) {
            connected_ = true;
            feed([&](auto& out) { contender_.connected(session_, out); });
        }
    }

    void break_connection(bool expired)
    {
        while (connected_ && !open_.empty()) {
            const auto next = open_.front();
            open_.pop_front();
            answer(next, zookeeper_errc::connection_loss, {});
        }
        armed_.clear();
        newcomers_ = false;
        to_prove_ = false;
        if (std::exchange(connected_, false)) {
            contender_.suspended();
        }
        if (expired) {
            ++session_;
            feed([&](auto& out) { contender_.expired(out); });
        }
    }

    void fire()
    {
        if (std::exchange(newcomers_, false)) {
            feed([&](auto&) { static_cast<void>(contender_.newcomer()); });
        } else if (!armed_.empty()) {
            const auto at =
                armed_.begin() + in_.byte() % static_cast<std::ptrdiff_t>(armed_.size());
            const auto name = *at;
            armed_.erase(at);
            feed([&](auto& out) { contender_.fired(name, in_.flag(), out); });
        }
    }

    void answer_next()
    {
        if (!connected_ || open_.empty()) {
            return;
        }
        const auto next = open_.front();
        open_.pop_front();
        const auto& ec = code(in_.byte());
        std::vector<std::string> names;
        if ((next.type == kind::list || next.type == kind::list_again ||
             next.type == kind::list_and_watch || next.type == kind::watch_newcomers) &&
            !ec) {
            for (int n = in_.byte() % 6; n != 0; --n) {
                names.push_back(some_name());
            }
        }
        answer(next, ec, names);
        if (outcome_unknown(ec) || ec == zookeeper_errc::session_moved) {
            break_connection(false); // as the client does, whoever says so
        }
    }

    void answer(const command& to, const error_code& ec, const std::vector<std::string>& children)
    {
        const auto identity = [&]() -> node_identity {
            return {in_.byte() % 4, in_.flag() ? session_ : 1 + in_.byte() % 3};
        };
        feed([&](auto& out) {
            switch (to.type) {
            case kind::make_directory: contender_.directory_made({&ec, 1}, out); break;
            case kind::create:
                created_ = ec ? created_ : name_for(std::string{to.name});
                contender_.created(ec, ec ? "" : created_, identity(), out);
                break;
            case kind::list:
            case kind::list_again:
            case kind::list_and_watch: {
                const bool watches = to.type == kind::list_and_watch;
                newcomers_ |= watches && !ec;
                contender_.listed(ec, {children, directory(), watches}, out);
                break;
            }
            case kind::watch_newcomers:
                newcomers_ |= !ec;
                static_cast<void>(contender_.newcomers_watched(ec, {children, directory(), true}));
                break;
            case kind::watch:
                if (!ec) {
                    armed_.emplace_back(to.name);
                }
                contender_.watched(to.name, ec, identity(), out);
                break;
            case kind::read_directory: contender_.directory_read(!ec && in_.flag()); break;
            case kind::remove: contender_.removed(ec, out); break;
            case kind::step_down: contender_.stepped_down(ec, out); break;
            default: break; // nobody waits for it any more
            }
        });
    }

    std::int64_t directory() { return in_.byte() % 4; }

    // What the server makes of a prefix; or anything else.
    std::string name_for(const std::string& prefix)
    {
        return in_.byte() % 8 == 0 ? some_name() : prefix + digits();
    }

    std::string digits()
    {
        std::string text = std::to_string(in_.byte() % 8);
        text.insert(0, 10 - text.size(), '0');
        return in_.byte() % 8 == 0 ? "2147483647" : text;
    }

    std::string some_name()
    {
        std::string name;
        switch (in_.byte() % 5) {
        case 0: name = created_; break;
        case 1: name = "_c_foreign-" + std::string{"lock-"} + digits(); break;
        case 2: name = "_c_foreign-" + std::string{"__WRIT__"} + digits(); break;
        case 3: name = "_c_foreign-" + std::string{"__READ__"} + digits(); break;
        default: name = in_.text(); break;
        }
        std::erase(name, '/'); // which no name of a node contains
        return name.empty() ? "x" : name;
    }

    fuzz::input& in_;
    contender contender_;
    const bool exclusive_; // of a lock that can be shared
    bool connected_ = false;
    std::int64_t session_ = 1;
    bool safe_ = true;
    bool newcomers_ = false; // are watched
    bool to_prove_ = false;
    std::deque<command> open_; // requests without an answer
    std::vector<std::string> armed_;
    std::string created_;

    bool left_ = false;
    bool granted_ = false;
    bool refused_ = false;
    bool stepped_down_ = false;
    bool shared_ = false;
    bool lost_ = false;
    bool gone_ = false;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in{data, size};
    const bool shares = in.flag();
    const contender::settings settings{.layout =
                                           shares ? curator_shared_layout() : curator_layout(),
                                       .shared = shares && in.flag(),
                                       .rejoin_on_expiry = in.flag(),
                                       .lingers = in.flag()};
    driver d{in, settings};
    d.join(in.flag());
    while (!in.at_end()) {
        d.step();
    }
    d.end();
    return 0;
}
