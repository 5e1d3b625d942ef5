#include "disk.hpp"

#include <stdexcept>
#include <utility>

namespace colock::simulated {

std::int64_t disk::last_zxid() const noexcept
{
    return undecided_.empty() ? applied.last_zxid() : undecided_.back()->zxid;
}

void disk::lose_unflushed()
{
    while (!undecided_.empty() && undecided_.back()->zxid > flushed_) {
        undecided_.pop_back();
    }
}

shared_transaction disk::take_decided()
{
    auto t = std::move(undecided_.front());
    undecided_.pop_front();
    return t;
}

void disk::was_applied(shared_transaction t)
{
    recent_.push_back(std::move(t));
    if (recent_.size() > remembered) {
        before_recent_ = recent_.front()->zxid;
        recent_.pop_front();
    }
}

bool disk::difference(std::int64_t their_last, std::int64_t up_to, std::int64_t& keep,
                      std::vector<shared_transaction>& records) const
{
    if (their_last < before_recent_) {
        return false;
    }
    keep = before_recent_;
    for (const auto* part : {&recent_, &undecided_}) {
        for (const auto& t : *part) {
            if (t->zxid <= their_last) {
                keep = t->zxid;
            } else if (t->zxid <= up_to) {
                records.push_back(t);
            }
        }
    }
    return true;
}

void disk::truncate(std::int64_t keep)
{
    if (keep < applied.last_zxid()) {
        throw std::logic_error{"a server has to undo what was decided"};
    }
    while (!undecided_.empty() && undecided_.back()->zxid > keep) {
        undecided_.pop_back();
    }
}

void disk::replace(const tree& t)
{
    applied = t;
    recent_.clear();
    before_recent_ = t.last_zxid();
    undecided_.clear();
}

} // namespace colock::simulated
