// How a process becomes one of the members that have one definition of the shards, or replaces that of others. Sans-io.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace colock::protocol {

// All members hold a lock together, `use`, each for as long as it may hold a shard. Who replaces the definition has that lock
// alone: then nobody holds a shard of the old one. Each input gives what to do next.
class shard_entry {
public:
    enum class command : std::uint8_t {
        share,   // gives `use` back, and locks it together with others: granted()
        alone,   // the same, but alone, until the definition is the own one
        read,    // the definition: found()
        create,  // the own one, where there is none: written()
        replace, // it by the own one, provided that `use` is held: written()
        enter,   // be a member, until left(); at once when `use` was lost since it was granted
        leave,   // end all that a member does, and then left()
        refuse,  // others have another definition
    };
    enum class definition : std::uint8_t { none, own, another };

    explicit shard_entry(bool replaces) noexcept : replaces_{replaces} {}

    [[nodiscard]] command begin();
    // Whether `use` is held; else its node was lost before that was known, or the definition is the own one by now.
    [[nodiscard]] command granted(bool is_held);
    [[nodiscard]] command found(definition d);
    // Or not: what is there is read after that.
    [[nodiscard]] command written();
    // `use`, while it is held together with others.
    [[nodiscard]] std::optional<command> lost() const;
    // It holds no shard any more, and is no member.
    [[nodiscard]] command left();

    // Equal for equal objects, and for no others: for the model, which walks through all states.
    [[nodiscard]] std::string fingerprint() const;

private:
    enum class state : std::uint8_t { sharing, inside, replacing };

    bool replaces_;
    state is_ = state::sharing;
};

} // namespace colock::protocol
