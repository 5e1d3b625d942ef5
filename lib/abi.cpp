#include <colock/detail/abi.hpp>

namespace colock::detail {

constexpr char COLOCK_ABI_NAME{};

} // namespace colock::detail
