#include "sandbox/session/printed_end.hpp"

#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <string_view>

namespace berth::session {

std::string printed_end(const protocol::StreamOutput& stream)
{
    std::string text;
    for (std::string_view rest = stream.tail.empty() ? stream.head : stream.tail; !rest.empty();) {
        const auto line = rest.substr(0, rest.find('\n'));
        text += visible(line) + '\n';
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
    return text;
}

} // namespace berth::session
