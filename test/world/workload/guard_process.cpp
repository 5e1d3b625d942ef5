#include "guard_process.hpp"

#include "guard/session_ending.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <utility>

namespace world::workload {

using namespace std::chrono_literals;
namespace guard = colock::guard;

struct guard_process::waiting {
    colock::zk::strand_type strand;
    std::function<void()> died;
};

class guard_process::owners_end final : public guard::helper {
public:
    explicit owners_end(guard_process& to) : to_{to}, process_{to.of_owner_.process()} {}
    ~owners_end() override
    {
        to_.tell(300us, [](guard::session_guard& g) { g.channel_ended(); });
    }

    // Nothing more comes from a process that was killed.
    bool send(const guard::guarded_session& s, std::string_view) override
    {
        if (process_ != to_.of_owner_.process() || !to_.on_.is_alive()) {
            return false;
        }
        to_.tell(300us, [message = guard::encode(s)](guard::session_guard& g) {
            std::string no_tls;
            static_cast<void>(g.told(message, no_tls));
        });
        return true;
    }

    std::unique_ptr<watcher> watch(const colock::zk::strand_type& strand,
                                   std::function<void()> died) override
    {
        struct watching final : watcher {
            std::shared_ptr<waiting> what;
        };
        auto made = std::make_unique<watching>();
        made->what = std::make_shared<waiting>(waiting{strand, std::move(died)});
        to_.waiting_.push_back(made->what);
        return made;
    }

private:
    guard_process& to_;
    const std::uint64_t process_;
};

guard_process::guard_process(scene& in, process& owner, std::shared_ptr<const check::life> of,
                             check::journal::actor name, random chance)
    : all_{in}, of_owner_{owner.on()}, on_{&owner.on()}, name_{name}, random_{chance},
      process_{on_, owner.net(), random_.branch()}
{
    all_.journal.note(check::deed::started, name_);
    all_.guards.guard_began(on_, name_, of);
    process_.enter([this, of = std::move(of)] {
        auto& context = process_.context();
        const auto exit = [this] { all_.time.at(all_.time.now(), [this] { kill(); }); };
        const auto made = std::make_shared<guard::session_guard>(
            context.get_executor(), false, [of] { return !of->over; },
            [exit, executor = context.get_executor()](auto all) {
                guard::end_sessions(executor, std::move(all), exit);
            },
            exit);
        guard_ = made;
        const auto end =
            std::make_shared<asio::steady_timer>(context, asio::steady_timer::time_point::max());
        end->async_wait([made, end](const colock::error_code&) {});
    });
}

std::shared_ptr<guard::helper> guard_process::channel()
{
    if (!on_.is_alive()) {
        return nullptr;
    }
    if (!std::exchange(opened_, true)) {
        auto made = std::make_shared<owners_end>(*this);
        channel_ = made;
        return made;
    }
    return channel_.lock();
}

template <class Function>
void guard_process::tell(std::chrono::nanoseconds most, Function what)
{
    told_ = std::max(told_, all_.time.now() + random_.between(0ns, most));
    all_.time.at(told_, [this, what = std::move(what)]() mutable {
        on_.run([this, what = std::move(what)] {
            if (const auto g = guard_.lock()) {
                what(*g);
            }
        });
    });
}

void guard_process::owner_died()
{
    tell(random_.per_mille(100) ? 500ms : 1ms, [](guard::session_guard& g) { g.owner_died(); });
}

void guard_process::go_on()
{
    if (on_.is_alive()) {
        all_.guards.guard_resumed(on_);
        on_.go_on();
    }
}

void guard_process::kill()
{
    if (!on_.is_alive()) {
        return;
    }
    all_.journal.note(check::deed::killed, name_);
    on_.kill();
    for (const auto& each : std::exchange(waiting_, {})) {
        of_owner_.run([each] {
            if (const auto w = each.lock()) {
                asio::post(w->strand, [each] {
                    if (const auto still = each.lock()) {
                        still->died();
                    }
                });
            }
        });
    }
}

} // namespace world::workload
