// The stages of ZooKeeper's lock recipe: joining (create), waiting (watch the predecessors), holding, leaving (delete).
// Read contender.hpp first.
#pragma once

#include "queue/holding.hpp"
#include "queue/joining.hpp"
#include "queue/leaving.hpp"
#include "queue/waiting.hpp"

#include <concepts>
#include <optional>
#include <utility>
#include <variant>

namespace colock::protocol::queue {

// The end: no node is left, and no answer matters any more.
struct gone {
    void suspended() noexcept {}

    friend bool operator==(const gone&, const gone&) = default;
};

using stage = std::variant<joining, waiting, holding, leaving, gone>;

template <class T>
concept a_stage = std::constructible_from<stage, T>;

// The result of an input: another stage, or none when the present one goes on.
class [[nodiscard]] transition {
public:
    transition() noexcept = default;
    template <a_stage Stage>
    transition(Stage to) : to_{std::in_place, std::move(to)}
    {
    }

    explicit operator bool() const noexcept { return to_.has_value(); }
    [[nodiscard]] stage& operator*() noexcept { return *to_; }

private:
    std::optional<stage> to_;
};

inline transition stay() noexcept
{
    return {};
}

// The end of all stages. `ec`: why a node may remain after all; without an error none does.
inline transition finish(const error_code& ec, commands& out)
{
    out.push_back({command::kind::gone, {}, ec});
    return gone{};
}

} // namespace colock::protocol::queue
