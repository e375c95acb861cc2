#include "server/transport/http_chunks.hpp"

#include "sandbox/base/hex.hpp"

#include <algorithm>

namespace berth::transport {
namespace {

constexpr std::size_t most_digits = 16; // of 64 bits
constexpr std::size_t longest_extension = 256;
constexpr unsigned bits_of_digit = 4;

} // namespace

std::size_t HttpChunks::take(std::string_view piece) noexcept
{
    std::size_t taken = 0;
    while (taken < piece.size()) {
        if (state_ == State::data) {
            const auto count = std::min<std::uint64_t>(left_, piece.size() - taken);
            taken += static_cast<std::size_t>(count);
            left_ -= count;
            state_ = left_ == 0 ? State::data_cr : State::data;
        } else if (take_byte(piece[taken])) {
            ++taken;
        } else {
            state_ = State::over;
            break;
        }
    }
    return taken;
}

bool HttpChunks::take_byte(char byte) noexcept
{
    switch (state_) {
    case State::size:
        return take_size(byte);
    case State::extension:
        if (byte == '\r') {
            state_ = State::size_end;
            return true;
        }
        return ++line_ <= longest_extension && byte >= ' ' && byte != '\x7f';
    case State::size_end:
        digits_ = 0;
        line_ = 0;
        return expect(byte, '\n', left_ == 0 ? State::last_cr : State::data);
    case State::data_cr:
        return expect(byte, '\r', State::data_end);
    case State::data_end:
        return expect(byte, '\n', State::size);
    case State::last_cr:
        return expect(byte, '\r', State::last_end);
    case State::last_end:
        return expect(byte, '\n', State::over);
    case State::data:
    case State::over:
        break;
    }
    return false;
}

bool HttpChunks::take_size(char byte) noexcept
{
    if (digits_ > 0 && (byte == '\r' || byte == ';')) {
        state_ = byte == '\r' ? State::size_end : State::extension;
        return true;
    }
    const auto digit = hex_value(byte);
    if (!digit || ++digits_ > most_digits) {
        return false;
    }
    left_ = (left_ << bits_of_digit) | *digit; // zero after each chunk
    return true;
}

bool HttpChunks::expect(char byte, char expected, State next) noexcept
{
    state_ = next;
    return byte == expected;
}

} // namespace berth::transport
