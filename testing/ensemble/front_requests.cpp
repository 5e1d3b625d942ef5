// The order in which a server answers, and what it answers.
#include "front.hpp"

#include <algorithm>

namespace colock::simulated {

using colock::zookeeper_errc;

namespace {

std::int64_t descendants_of(const tree::node& n)
{
    std::int64_t count = -1;
    std::vector<const tree::node*> left{&n};
    while (!left.empty()) {
        const auto* const next = left.back();
        left.pop_back();
        left.insert(left.end(), next->children.begin(), next->children.end());
        ++count;
    }
    return count;
}

response written(const submitted& r, const transaction& t, std::vector<tree::result>& results)
{
    response made;
    made.error = t.error;
    if (r.call.op == opcode::multi) {
        made.results.resize(r.call.ops.size());
        for (std::size_t i = 0; i != made.results.size(); ++i) {
            auto& step = made.results[i];
            if (!t.refusals.empty()) {
                step.error = t.refusals[i];
            } else if (r.call.ops[i].type == colock::transaction_op::kind::create) {
                step.path = std::move(results[i].path);
                step.stat = results[i].stat;
            } else if (r.call.ops[i].type == colock::transaction_op::kind::set) {
                step.stat = results[i].stat;
            }
        }
    } else if (!t.error) {
        if (r.call.op == opcode::create) {
            made.text = std::move(results.front().path);
        }
        made.stat = results.front().stat;
    }
    return made;
}

// Whoever may not change the list does not see the secrets in it.
response read_acl(const tree::node& node, const identities& who)
{
    const bool all = may(colock::permission_admin, *node.acl, who);
    if (!all && !may(colock::permission_read, *node.acl, who)) {
        return {.error = zookeeper_errc::no_auth};
    }
    response made{.stat = node.stat(), .acl = *node.acl};
    for (auto& entry : made.acl) {
        if (!all && entry.scheme == "digest") {
            entry.id.replace(std::min(entry.id.find(':'), entry.id.size()), std::string::npos,
                             ":x");
        }
    }
    return made;
}

} // namespace

bool front::waits_for_commit(const submitted& r) const noexcept
{
    return !r.throttled && (r.is_write() || (follows_ && r.is_sync()));
}

// What a session asks for behind a write of its own waits for that.
void front::enqueue(shared_request r, status refused)
{
    const bool waits = waits_for_commit(*r);
    if (r->is_sync() && waits) {
        syncs_.push_back(r);
    }
    const auto at = pending_.find(r->session);
    if (waits || at != pending_.end()) {
        (at != pending_.end() ? at->second : pending_[r->session])
            .push_back({std::move(r), refused});
    } else {
        finish(*r, refused, nullptr, nullptr);
    }
}

void front::answer_sync()
{
    if (syncs_.empty()) {
        return;
    }
    const auto r = std::move(syncs_.front());
    syncs_.pop_front();
    const auto at = pending_.find(r->session);
    if (at != pending_.end() && at->second.front().request == r) {
        finish(*r, at->second.front().refused, nullptr, nullptr);
        at->second.pop_front();
        go_on(r->session);
    }
}

void front::apply(std::int64_t up_to)
{
    while (!over_ && !disk_.undecided().empty() && disk_.undecided().front()->zxid <= up_to) {
        const auto t = disk_.take_decided();
        const auto at = t->origin != 0 ? pending_.find(t->session) : pending_.end();
        const bool own = at != pending_.end() && at->second.front().request->origin == t->origin;
        std::vector<tree::result> results;
        applying_ = t->zxid;
        disk_.applied.apply(*t, this, own ? &results : nullptr);
        applying_ = -1;
        disk_.was_applied(t);
        role_.applied(*t);
        if (own) {
            const auto r = std::move(at->second.front().request);
            at->second.pop_front();
            finish(*r, t->error, t.get(), &results);
            go_on(t->session);
        } else if (t->what == transaction::kind::close_session) {
            close_session_of(t->session);
        }
    }
}

// Answers what has waited behind the write that has been answered.
void front::go_on(std::int64_t session)
{
    const auto at = pending_.find(session);
    if (at == pending_.end()) {
        return;
    }
    auto& queue = at->second;
    while (!queue.empty() && !waits_for_commit(*queue.front().request)) {
        const auto next = std::move(queue.front());
        queue.pop_front();
        finish(*next.request, next.refused, nullptr, nullptr);
    }
    if (queue.empty()) {
        pending_.erase(at);
    }
}

void front::finish(const submitted& r, status error, const transaction* t,
                   std::vector<tree::result>* results)
{
    const auto c = r.from.lock();
    if (!c || !c->link_) {
        if (r.what == submitted::kind::close_session) {
            close_session_of(r.session);
        }
        return;
    }
    if (error == zookeeper_errc::session_moved) {
        close(c); // and nothing is said
        return;
    }
    switch (r.what) {
    case submitted::kind::ping: c->link_->send(ping_reply{}); return;
    case submitted::kind::open_session: finish_session(c, true); return;
    case submitted::kind::close_session:
        c->link_->send(close_reply{});
        close(c);
        return;
    default: break;
    }
    reply answer{.number = r.number, .transaction = disk_.applied.last_zxid(), .body = {}};
    if (r.throttled) {
        error = zookeeper_errc::throttled_op;
    }
    if (t != nullptr && !r.throttled) {
        answer.body = written(r, *t, *results);
    } else if (error) {
        answer.body.error = error;
    } else {
        answer.body = read(r, *c);
    }
    // What the C client makes of a transaction that was answered as a whole.
    if (r.call.op == opcode::multi && answer.body.error && answer.body.results.empty()) {
        answer.body.results.assign(r.call.ops.size(), {answer.body.error, {}, {}});
    }
    c->link_->send(std::move(answer));
}

response front::read(const submitted& r, connection& c)
{
    const auto& call = r.call;
    response made;
    if (call.op == opcode::sync) {
        return made;
    }
    switch (call.op) {
    case opcode::forget_watches:
    case opcode::look_for_watches:
    case opcode::add_watch:
    case opcode::restore_watches: made.error = about_watches(call, c); return made;
    case opcode::identities:
        for (const auto& own : *r.who) {
            const bool has_secret = own.scheme == "digest";
            made.acl.push_back(
                {0, own.scheme, has_secret ? own.id.substr(0, own.id.find(':')) : own.id});
        }
        return made;
    case opcode::ephemerals:
        for (auto& path : disk_.applied.ephemerals(r.session)) {
            if (path.starts_with(call.path)) {
                made.names.push_back(std::move(path));
            }
        }
        return made;
    case opcode::unknown: made.error = zookeeper_errc::unimplemented; return made;
    default: break;
    }
    const auto* node = disk_.applied.find(call.path);
    if (call.op == opcode::exists) {
        if (node != nullptr && options_.exists_needs_read &&
            !may(colock::permission_read, *node->acl, *r.who)) {
            made.error = zookeeper_errc::no_auth;
            return made;
        }
        if (call.watch) {
            watches_.add(watches::kind::data, call.path, c);
        }
    }
    if (node == nullptr) {
        made.error = zookeeper_errc::no_node;
        return made;
    }
    if (call.op == opcode::get_acl) {
        return read_acl(*node, *r.who);
    }
    if (call.op != opcode::exists) {
        if (!may(colock::permission_read, *node->acl, *r.who)) {
            made.error = zookeeper_errc::no_auth;
            return made;
        }
        if (call.op == opcode::descendants) {
            made.count = descendants_of(*node);
            return made;
        }
        if (call.watch) {
            watches_.add(call.op == opcode::get ? watches::kind::data : watches::kind::children,
                         call.path, c);
        }
    }
    made.stat = node->stat();
    if (call.op == opcode::get) {
        made.text = node->data;
    } else if (call.op == opcode::children) {
        made.names.reserve(node->children.size());
        for (const auto* child : node->children) {
            made.names.emplace_back(child->name());
        }
    }
    return made;
}

} // namespace colock::simulated
