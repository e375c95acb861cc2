#include "sandbox/base/shell_word.hpp"

namespace berth {

std::string shell_word(std::string_view text)
{
    std::string word = "'";
    for (const char c : text) {
        word += c == '\'' ? std::string(R"('\'')") : std::string(1, c);
    }
    return word + '\'';
}

} // namespace berth
