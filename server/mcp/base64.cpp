#include "server/mcp/base64.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace berth::mcp {

void append_base64(std::string& out, std::string_view data)
{
    constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.reserve(out.size() + (data.size() + 2) / 3 * 4);
    while (!data.empty()) {
        const std::size_t count = std::min<std::size_t>(data.size(), 3);
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            bits = bits << 8U | (i < count ? static_cast<unsigned char>(data[i]) : 0U);
        }
        for (std::size_t i = 0; i < 4; ++i) {
            out += i <= count ? alphabet[bits >> (18U - 6U * i) & 0x3FU] : '=';
        }
        data.remove_prefix(count);
    }
}

} // namespace berth::mcp
