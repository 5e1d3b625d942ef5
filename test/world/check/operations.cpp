#include "operations.hpp"

namespace world::check {

std::shared_ptr<operations::record> operations::begin(std::shared_ptr<const life> owner,
                                                      journal::actor who, const char* what)
{
    auto r = std::make_shared<record>(
        record{this, ++started_, std::move(owner), who, what, time_.now()});
    pending_.emplace_hint(pending_.end(), r->number, r.get());
    return r;
}

void operations::completed(record& r)
{
    pending_.erase(r.number);
    if (++r.completed > 1) {
        found_.add("G6 once", text_of(r) + " completes again");
    }
    if (r.initiating) {
        found_.add("G6 not inline", text_of(r) + " completes within its initiating function");
    }
    if (r.owner->over) {
        found_.add("G6 not after the context", text_of(r) + " completes when its context is gone");
    }
    if (r.memory != 0) {
        found_.add("G6 memory", text_of(r) + " completes before its memory was given back");
    }
}

void operations::abandoned(record& r)
{
    pending_.erase(r.number);
    if (!r.owner->over) {
        found_.add("G6 once", text_of(r) + " will never complete: its handler was destroyed");
    }
}

void operations::given_back_late(record& r)
{
    found_.add("G6 memory", text_of(r) + " gives memory back when it has completed");
}

void operations::report_pending(const char* check)
{
    for (const auto& [number, r] : pending_) {
        if (!r->owner->over) {
            found_.add(check, text_of(*r) + " has not completed");
        }
    }
}

std::size_t operations::pending() const
{
    std::size_t count = 0;
    for (const auto& [number, r] : pending_) {
        count += r->owner->over ? 0 : 1;
    }
    return count;
}

std::string operations::text_of(const record& r) const
{
    return std::string{r.what} + " of " + journal_.name_of(r.who) + ", started at " +
           check::text_of(r.since);
}

} // namespace world::check
