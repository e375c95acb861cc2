#include "sandbox/protocol/frame.hpp"

#include "sandbox/protocol/wire.hpp"

#include <utility>

#include <string.h> // NOLINT(modernize-deprecated-headers): explicit_bzero

namespace berth::protocol {
namespace {

std::uint32_t u32_at(std::string_view bytes, std::size_t offset) noexcept
{
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;) {
        value = (value << 8U) | static_cast<unsigned char>(bytes[offset + i]);
    }
    return value;
}

/// A request has a command's secrets in it, and a string keeps what was in it until something else
/// is.
void wipe(std::string& buffer, std::size_t offset, std::size_t size) noexcept
{
    ::explicit_bzero(buffer.data() + offset, size);
}

} // namespace

void put_header(std::string& out, FrameType type, std::size_t size, std::uint16_t operation,
                std::uint8_t flags)
{
    for (unsigned shift = 0; shift < 32; shift += 8) {
        out += static_cast<char>((size >> shift) & 0xFFU);
    }
    out += static_cast<char>(type);
    out += static_cast<char>(flags);
    out += static_cast<char>(operation & 0xFFU);
    out += static_cast<char>(operation >> 8U);
}

void put_frame(std::string& out, FrameType type, std::string_view payload, std::uint16_t operation,
               std::uint8_t flags)
{
    put_header(out, type, payload.size(), operation, flags);
    out += payload;
}

FrameHeader read_header(std::string_view bytes)
{
    const auto type = static_cast<std::uint8_t>(bytes[4]);
    if (type < static_cast<std::uint8_t>(FrameType::hello) ||
        type > static_cast<std::uint8_t>(FrameType::acknowledge)) {
        throw WireError("an unknown frame type " + std::to_string(type));
    }
    return {.type = static_cast<FrameType>(type),
            .flags = static_cast<std::uint8_t>(bytes[5]),
            .operation = static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[6]) |
                                                    (static_cast<unsigned char>(bytes[7]) << 8U)),
            .size = u32_at(bytes, 0)};
}

void FrameReader::feed(std::string_view bytes)
{
    if (large_) {
        const auto part = bytes.substr(0, large_size_ - large_->payload.size());
        large_->payload += part;
        bytes.remove_prefix(part.size());
    }
    buffer_ += bytes;
}

std::optional<Frame> FrameReader::next()
{
    if (large_) {
        return next_large();
    }
    const std::string_view rest = std::string_view(buffer_).substr(consumed_);
    if (rest.size() < frame_header_size) {
        return std::nullopt;
    }
    const auto header = read_header(rest);
    const std::size_t size = header.size;
    if (size > limit_) {
        throw WireError("a frame of " + std::to_string(size) + " bytes, " + std::to_string(limit_) +
                        " are allowed");
    }
    Frame frame{
        .type = header.type, .flags = header.flags, .operation = header.operation, .payload = {}};
    if (rest.size() < frame_header_size + size) {
        if (size > max_data_size) {
            // From here on its bytes go where they belong, without growing and copying.
            frame.payload.reserve(size);
            frame.payload = rest.substr(frame_header_size);
            wipe(buffer_, consumed_, rest.size());
            large_ = std::move(frame);
            large_size_ = size;
            consumed_ = buffer_.size();
            drop_consumed();
        }
        return std::nullopt;
    }
    frame.payload = rest.substr(frame_header_size, size);
    wipe(buffer_, consumed_, frame_header_size + size);
    consumed_ += frame_header_size + size;
    drop_consumed();
    return frame;
}

std::optional<Frame> FrameReader::next_large()
{
    if (large_->payload.size() < large_size_) {
        return std::nullopt;
    }
    std::optional<Frame> frame = std::move(large_);
    large_.reset();
    return frame;
}

std::optional<FrameReader::Announced> FrameReader::announced() const noexcept
{
    if (!large_) {
        return std::nullopt;
    }
    return Announced{.type = large_->type, .operation = large_->operation, .size = large_size_};
}

void FrameReader::drop_consumed()
{
    if (consumed_ == buffer_.size()) {
        buffer_.clear();
        consumed_ = 0;
        if (buffer_.capacity() > max_data_size * 2) {
            buffer_.shrink_to_fit();
        }
    } else if (consumed_ > max_data_size) {
        const std::size_t moved = buffer_.size() - consumed_;
        buffer_.erase(0, consumed_);
        buffer_.append(consumed_, '\0'); // over where the rest was before
        buffer_.resize(moved);
        consumed_ = 0;
    }
}

} // namespace berth::protocol
