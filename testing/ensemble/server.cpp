#include "server.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulated {

namespace {

std::string host_address(std::size_t i)
{
    return "10.0.0." + std::to_string(i + 1);
}

int drift_of(const ensemble_options& options, std::size_t i)
{
    return i < options.drifts.size() ? options.drifts[i] : 0;
}

} // namespace

void common::decide(const transaction& t)
{
    if (options.actual.is_observed && t.zxid > decided.last_zxid()) {
        decided.apply(t);
        if (told != nullptr) {
            told->committed(t);
        }
    }
}

server::server(common& shared, std::size_t index, random chance)
    : shared_{shared}, index_{index}, host_{shared.time, "server " + std::to_string(index + 1),
                                            drift_of(shared.options, index),
                                            shared.options.actual.up},
      client_address_{host_address(index) + ":2181"}, random_{chance}
{
    disk_.accepted_epoch =
        std::max<std::int64_t>(0, (shared.options.actual.first_transaction >> 32) - 1);
    if (shared.options.servers == 1) {
        disk_.remembered = 0; // nobody has to catch up
    }
}

server::~server()
{
    host_.kill();
}

void server::boot()
{
    flushing_ = false;
    host_.on_kill([this] { killed(); });
    has_served_ = false;
    shared_.net.listen(host_, client_address_,
                       [this](std::shared_ptr<stream> link) { accept_client(std::move(link)); });
    if (shared_.options.servers > 1) {
        shared_.net.listen(host_, peer_address(index_), [this](std::shared_ptr<stream> link) {
            role_->accept_follower(std::move(link));
        });
        shared_.net.listen(host_, election_address(index_),
                           [this](std::shared_ptr<stream> link) { answer(std::move(link)); });
    }
    become(make_looking(*this));
}

void server::killed()
{
    if (role_) {
        role_->end();
        shared_.time.at(shared_.time.now(), [old = std::exchange(role_, nullptr)] {});
    }
    for (const auto& link : std::exchange(kept_, {})) {
        link->close();
    }
    disk_.lose_unflushed();
}

void server::become(std::shared_ptr<class role> next)
{
    if (role_) {
        role_->end();
        // It may be on the stack.
        shared_.time.at(shared_.time.now(), [old = std::move(role_)] {});
    }
    role_ = std::move(next);
    role_->start();
}

void server::look()
{
    become(make_looking(*this));
}

void server::lead()
{
    become(make_leading(*this));
}

void server::follow(std::size_t leader)
{
    become(make_following(*this, leader));
}

void server::flush()
{
    if (flushing_) {
        return;
    }
    flushing_ = true;
    host_.after(random_.between(shared_.options.least_disk, shared_.options.most_disk),
                [this, up_to = disk_.last_zxid()] {
                    flushing_ = false;
                    disk_.flushed(up_to);
                    if (disk_.last_zxid() > up_to) {
                        flush();
                    }
                    role_->flushed(up_to);
                });
}

std::chrono::milliseconds server::clock() const noexcept
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(host_.clock());
}

std::string server::election_address(std::size_t of) const
{
    return host_address(of) + ":3888";
}

std::string server::peer_address(std::size_t of) const
{
    return host_address(of) + ":2888";
}

peer_message server::description(peer_message::kind what) const
{
    return {.what = what,
            .from = index_,
            .state = role_->doing(),
            .epoch = disk_.current_epoch,
            .zxid = disk_.last_zxid()};
}

void server::accept_client(std::shared_ptr<stream> link)
{
    if (auto* clients = role_->clients(); clients != nullptr) {
        clients->accept(std::move(link));
    } else if (!has_served_ && random_.per_mille(500)) {
        keep(std::move(link), {}); // as a real server that is just starting: it never answers
    } else {
        link->close();
    }
}

// Another server asks what this one does, in any role.
void server::answer(std::shared_ptr<stream> link)
{
    auto* of = link.get();
    keep(std::move(link), [this, of](message&& m) {
        const auto asked = std::get<std::shared_ptr<const peer_message>>(m);
        of->send(to_message(description(peer_message::kind::answer)));
        role_->asked(*asked);
    });
}

void server::keep(std::shared_ptr<stream> link, std::function<void(message&&)> received)
{
    auto* of = link.get();
    link->handle({.connected = {}, .received = std::move(received), .ended = [this, of] {
                      const auto at = std::ranges::find(kept_, of, &std::shared_ptr<stream>::get);
                      if (at != kept_.end()) {
                          const auto held = *at;
                          kept_.erase(at);
                          held->close();
                      }
                  }});
    kept_.push_back(std::move(link));
}

} // namespace colock::simulated
