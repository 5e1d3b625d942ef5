// What a server finds again when it is started anew: its history, and the epochs that it has promised to follow.
#pragma once

#include "transaction.hpp"
#include "tree.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace colock::simulated {

class disk {
public:
    // As far as it is known to be decided. A real server has the rest in its tree, too, and starts anew to undo it; it
    // serves nobody meanwhile.
    tree applied;
    std::int64_t accepted_epoch = 0;
    std::int64_t current_epoch = 0; // of the history
    std::size_t remembered = 500;   // of what has been applied, as the real one does

    // The last transaction of the history, decided or not.
    [[nodiscard]] std::int64_t last_zxid() const noexcept;
    [[nodiscard]] const std::deque<shared_transaction>& undecided() const noexcept
    {
        return undecided_;
    }

    void append(shared_transaction t) { undecided_.push_back(std::move(t)); }
    // Behind the last flush nothing survives the end of the process.
    void flushed(std::int64_t zxid) noexcept { flushed_ = std::max(flushed_, zxid); }
    void lose_unflushed();

    // The first one that is undecided, which is decided now. The caller applies it, and hands it back.
    [[nodiscard]] shared_transaction take_decided();
    void was_applied(shared_transaction t);

    // What somebody lacks whose history ends there. False when this is not known any more.
    // `keep`: up to this the history is the same.
    [[nodiscard]] bool difference(std::int64_t their_last, std::int64_t up_to, std::int64_t& keep,
                                  std::vector<shared_transaction>& records) const;
    void truncate(std::int64_t keep);
    void replace(const tree& t);

private:
    std::deque<shared_transaction> recent_; // applied
    std::int64_t before_recent_ = 0;
    std::deque<shared_transaction> undecided_;
    std::int64_t flushed_ = 0;
};

} // namespace colock::simulated
