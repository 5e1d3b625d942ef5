// How the nodes of a lock are named.
#ifndef COLOCK_LAYOUT_HPP
#define COLOCK_LAYOUT_HPP

#include <string>

namespace colock {

/// The names of the contenders in a lock's directory, as data: a contender is
/// `<prefix><guid>-<marker><number>`, where the number is what ZooKeeper appends, ten digits. Children
/// of other forms are ignored.
struct layout {
    std::string prefix;
    std::string marker;

    friend bool operator==(const layout&, const layout&) = default;
};

/// Apache Curator's: `_c_<uuid>-lock-0000000007`. The default; understood by Curator and go-zookeeper.
inline layout curator_layout()
{
    return {"_c_", "lock-"};
}

} // namespace colock

#endif
