#include "sandbox/base/enumeration.hpp"

namespace berth {

std::string enumerated(const std::vector<std::string>& words)
{
    std::string result;
    for (std::size_t i = 0; i < words.size(); ++i) {
        result += i == 0 ? "" : i + 1 == words.size() ? " and " : ", ";
        result += words[i];
    }
    return result;
}

} // namespace berth
