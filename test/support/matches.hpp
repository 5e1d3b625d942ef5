#ifndef COLOCK_TEST_SUPPORT_MATCHES_HPP
#define COLOCK_TEST_SUPPORT_MATCHES_HPP

#include <regex>
#include <string>
#include <vector>

namespace colock::test {

/// What the expression has in its first parentheses, wherever it fits.
inline std::vector<std::string> matches(const std::string& text, const std::regex& expression)
{
    std::vector<std::string> all;
    for (std::sregex_iterator at{text.begin(), text.end(), expression}, end; at != end; ++at) {
        all.push_back((*at)[1].str());
    }
    return all;
}

} // namespace colock::test

#endif
