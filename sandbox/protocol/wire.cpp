#include "sandbox/protocol/wire.hpp"

namespace berth::protocol {

void put_varint(std::string& out, std::uint64_t value)
{
    while (value >= 0x80) {
        out += static_cast<char>((value & 0x7FU) | 0x80U);
        value >>= 7U;
    }
    out += static_cast<char>(value);
}

std::uint64_t WireReader::varint()
{
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (in_.empty()) {
            throw WireError("a number is cut off");
        }
        const auto byte = static_cast<unsigned char>(in_.front());
        in_.remove_prefix(1);
        if (shift == 63 && byte > 1) {
            throw WireError("a number of more than 64 bits");
        }
        value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
        if ((byte & 0x80U) == 0) {
            return value;
        }
    }
    throw WireError("a number of more than 64 bits");
}

std::string_view WireReader::bytes()
{
    const std::uint64_t size = varint();
    if (size > in_.size()) {
        throw WireError("a field is cut off");
    }
    const auto value = in_.substr(0, static_cast<std::size_t>(size));
    in_.remove_prefix(static_cast<std::size_t>(size));
    return value;
}

WireReader::Key WireReader::key()
{
    const std::uint64_t raw = varint();
    const std::uint64_t number = raw >> 3U;
    const auto type = static_cast<std::uint8_t>(raw & 7U);
    if (number == 0 || number > std::numeric_limits<std::uint32_t>::max()) {
        throw WireError("a field number out of range");
    }
    if (type != static_cast<std::uint8_t>(WireType::varint) &&
        type != static_cast<std::uint8_t>(WireType::bytes)) {
        throw WireError("an unknown wire type");
    }
    return {static_cast<std::uint32_t>(number), static_cast<WireType>(type)};
}

void WireReader::skip(WireType type)
{
    if (type == WireType::varint) {
        (void)varint();
    } else {
        (void)bytes();
    }
}

} // namespace berth::protocol
