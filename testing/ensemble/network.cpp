#include "network.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulated {

namespace {

enum kind { syn, established, data, end_of_stream, reset_by_peer };

// TCP does not wait longer before it repeats what was not confirmed.
constexpr std::chrono::microseconds longest_pause = std::chrono::minutes{2};

} // namespace

// Outlives the streams while something is under way.
struct tcp {
    struct item {
        int what;
        message content;
    };

    // What one side sends, and what it has received.
    struct side {
        machine* here = nullptr;
        network::link* out = nullptr; // from here to there
        std::uint64_t process = 0;    // of that machine
        stream* object = nullptr;     // until it is closed
        bool finished = false;        // has sent its end
        bool ended = false;           // nothing more comes, as far as this side knows
        bool dead = false;            // it has been reset

        fifo<item> under_way;
        std::size_t held = 0; // of them, at the back, behind a cut
        // Of the last batch that is planned to arrive. What is sent in the same instant joins it.
        instant sent{-1};
        instant arrival{0};
        fifo<std::size_t> batches;
    };

    side sides[2]; // of the end that connects, and of the one that accepts
    std::string address;
};

// ---- streams

stream::stream(network& net, std::shared_ptr<tcp> connection, bool accepted)
    : net_{net}, tcp_{std::move(connection)}, side_{accepted ? 1U : 0U}, number_{
                                                                             ++net.streams_made_}
{
    auto& own = tcp_->sides[side_];
    own.object = this;
    own.process = own.here->process();
    net_.host_of(*own.here).streams.emplace(number_, this);
}

machine& stream::here() const noexcept
{
    return *tcp_->sides[side_].here;
}

machine& stream::there() const noexcept
{
    return *tcp_->sides[1 - side_].here;
}

bool stream::has_listener() const noexcept
{
    return tcp_->sides[1 - side_].object != nullptr;
}

void stream::send(message&& m)
{
    if (!tcp_) {
        return;
    }
    const auto& own = tcp_->sides[side_];
    if (!own.finished && !own.dead && own.process == own.here->process()) {
        if (net_.told_) {
            net_.told_(*this, m);
        }
        net_.push(tcp_, side_, data, std::move(m));
    }
}

void stream::shut_down()
{
    if (!tcp_) {
        return;
    }
    auto& own = tcp_->sides[side_];
    if (!own.dead && !std::exchange(own.finished, true)) {
        net_.push(tcp_, side_, end_of_stream, {});
    }
}

void stream::close()
{
    if (!tcp_) {
        return;
    }
    const auto connection = std::move(tcp_);
    auto& own = connection->sides[side_];
    own.object = nullptr;
    net_.host_of(*own.here).streams.erase(number_);
    // The kernel does this for a process that was killed, too.
    if (!own.dead && !std::exchange(own.finished, true)) {
        net_.push(connection, side_, end_of_stream, {});
    }
}

// ---- links

network::link& network::between(const machine& from, const machine& to)
{
    return links_[std::uint64_t{from.computer()} << 32 | to.computer()];
}

std::chrono::microseconds network::delay_of(const link& l)
{
    const auto least = l.own_delay ? l.least : least_;
    const auto most = l.own_delay ? l.most : most_;
    return std::chrono::microseconds{random_.between(least.count(), most.count())};
}

void network::cut(const machine& from, const machine& to)
{
    auto& l = between(from, to);
    if (!std::exchange(l.cut, true)) {
        l.cut_since = time_.now();
    }
}

void network::mend(const machine& from, const machine& to)
{
    mend(between(from, to));
}

void network::mend(link& l)
{
    if (std::exchange(l.cut, false)) {
        for (auto& let_go : std::exchange(l.held, {})) {
            let_go();
        }
    }
}

void network::mend_all()
{
    for (auto& [number, l] : links_) {
        mend(l);
    }
}

void network::delay(const machine& a, const machine& b, std::chrono::microseconds least,
                    std::chrono::microseconds most)
{
    delay_one_way(a, b, least, most);
    delay_one_way(b, a, least, most);
}

void network::delay_one_way(const machine& from, const machine& to, std::chrono::microseconds least,
                            std::chrono::microseconds most)
{
    auto& l = between(from, to);
    l.own_delay = true;
    l.least = least;
    l.most = most;
}

void network::delay_all(std::chrono::microseconds least, std::chrono::microseconds most)
{
    least_ = least;
    most_ = most;
    for (auto& [number, l] : links_) {
        l.own_delay = false;
    }
}

void network::reset(const machine& a, const machine& b)
{
    std::vector<std::shared_ptr<tcp>> between_them;
    for (const auto* m : {&a, &b}) {
        if (m->number() >= hosts_.size()) {
            continue; // it has never had a connection
        }
        for (const auto& [number, s] : hosts_[m->number()].streams) {
            const auto& other = &s->there() == &a || &s->there() == &b;
            if (other && std::ranges::find(between_them, s->tcp_) == between_them.end()) {
                between_them.push_back(s->tcp_);
            }
        }
    }
    for (const auto& connection : between_them) {
        for (const std::size_t side : {0U, 1U}) {
            connection->sides[side].dead = true;
            connection->sides[side].under_way.clear();
            connection->sides[side].held = 0;
        }
        for (const std::size_t side : {0U, 1U}) {
            connection->sides[1 - side].here->run(
                [this, connection, side] { arrive_one(connection, side, reset_by_peer, {}); });
        }
    }
}

// ---- connections

network::host& network::host_of(machine& m)
{
    if (hosts_.size() <= m.number()) {
        hosts_.resize(m.number() + 1);
    }
    auto& h = hosts_[m.number()];
    if (h.process != m.process() && m.is_alive()) {
        h.process = m.process();
        m.on_kill([this, &m] { killed(m); });
    }
    return h;
}

// The kernel closes the connections of a process that is gone.
void network::killed(machine& m)
{
    auto& streams = hosts_[m.number()].streams;
    while (!streams.empty()) {
        streams.begin()->second->close();
    }
}

void network::listen(machine& server, const std::string& address, acceptor accept)
{
    listeners_[address] = {&server, server.process(), std::move(accept)};
}

std::shared_ptr<stream> network::connect(machine& client, const std::string& address,
                                         stream::handlers h)
{
    const auto connection = std::make_shared<tcp>();
    connection->address = address;
    connection->sides[0].here = &client;
    const auto at = listeners_.find(address);
    connection->sides[1].here = at == listeners_.end() ? &client : at->second.server;
    connection->sides[0].out = &between(client, *connection->sides[1].here);
    connection->sides[1].out = &between(*connection->sides[1].here, client);
    auto made = std::make_shared<stream>(*this, connection, false);
    made->handle(std::move(h));
    if (at == listeners_.end()) {
        client.after(most_, [this, connection] { arrive_one(connection, 1, reset_by_peer, {}); });
    } else {
        push(connection, 0, syn, {});
    }
    return made;
}

// The kernel of the server answers; its process learns of it when it runs.
void network::accept(const std::shared_ptr<tcp>& connection)
{
    const auto at = listeners_.find(connection->address);
    auto& to = at->second;
    if (!to.server->is_alive() || to.process != to.server->process()) {
        push(connection, 1, reset_by_peer, {});
        return;
    }
    if (connection->sides[0].object == nullptr) {
        return; // the client has given up
    }
    auto made = std::make_shared<stream>(*this, connection, true);
    push(connection, 1, established, {});
    connection->sides[1].here->run([accept = to.accept, made = std::move(made)] { accept(made); });
}

void network::push(const std::shared_ptr<tcp>& connection, std::size_t side, int kind,
                   message&& content)
{
    auto& from = connection->sides[side];
    auto& l = *from.out;
    from.under_way.push({kind, std::move(content)});
    if (l.cut || from.held != 0) {
        if (from.held++ == 0) {
            l.held.emplace_back([this, connection, side] {
                auto& sender = connection->sides[side];
                const auto lasted = std::chrono::duration_cast<std::chrono::microseconds>(
                    time_.now() - sender.out->cut_since);
                plan(connection, side, std::exchange(sender.held, 0),
                     std::chrono::microseconds{
                         random_.between(0, std::min(lasted, longest_pause).count())});
            });
        }
    } else if (from.sent == time_.now() && !from.batches.empty() && from.arrival > time_.now()) {
        ++from.batches.back();
    } else {
        plan(connection, side, 1, std::chrono::microseconds{0});
    }
}

void network::plan(const std::shared_ptr<tcp>& connection, std::size_t side, std::size_t count,
                   std::chrono::microseconds longer)
{
    auto& from = connection->sides[side];
    if (count == 0) {
        return;
    }
    from.sent = time_.now();
    from.arrival = std::max<instant>(from.arrival, time_.now() + delay_of(*from.out) + longer);
    from.batches.push(count);
    time_.at(from.arrival, [this, connection, side] { arrive(connection, side); });
}

void network::arrive(const std::shared_ptr<tcp>& connection, std::size_t side)
{
    auto& from = connection->sides[side];
    auto& to = connection->sides[1 - side];
    auto count = from.batches.pop();
    count = std::min(count, from.under_way.size()); // none when it has been reset
    if (count != 0 && from.under_way.front().what == syn) {
        static_cast<void>(from.under_way.pop());
        --count;
        accept(connection);
    }
    if (count == 0) {
        return;
    }
    if (to.here->is_ready()) {
        to.here->run([&] {
            for (; count != 0 && !from.under_way.empty(); --count) {
                auto item = from.under_way.pop();
                arrive_one(connection, side, item.what, std::move(item.content));
            }
        });
        return;
    }
    // The kernel has it. Whether anybody reads it shows when the process goes on.
    for (; count != 0; --count) {
        to.here->run(
            [this, connection, side, item = std::make_unique<tcp::item>(from.under_way.pop())] {
                arrive_one(connection, side, item->what, std::move(item->content));
            });
    }
}

// On the machine of the other side.
void network::arrive_one(const std::shared_ptr<tcp>& connection, std::size_t side, int kind,
                         message&& content)
{
    auto& from = connection->sides[side];
    auto& to = connection->sides[1 - side];
    const auto object = to.object == nullptr ? nullptr : to.object->shared_from_this();
    switch (kind) {
    case established:
        if (object == nullptr) {
            from.dead = true;
        } else if (object->handlers_.connected) {
            object->handlers_.connected();
        }
        return;
    case data:
        if (object == nullptr) {
            if (!std::exchange(to.dead, true)) {
                push(connection, 1 - side, reset_by_peer, {});
            }
        } else if (!to.dead && object->handlers_.received) {
            object->handlers_.received(std::move(content));
        }
        return;
    case reset_by_peer: to.dead = true; [[fallthrough]];
    default:
        if (!std::exchange(to.ended, true) && object != nullptr && object->handlers_.ended) {
            object->handlers_.ended();
        }
    }
}

} // namespace colock::simulated
