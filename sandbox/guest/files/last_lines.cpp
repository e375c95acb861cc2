#include "sandbox/guest/files/last_lines.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/stream.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <string.h>

namespace berth::guest {
namespace {

/// The bytes from `begin` to `end`; fewer where the file has become shorter.
std::string read_range(const Opened& file, std::uint64_t begin, std::uint64_t end,
                       const CallContext& context)
{
    std::string bytes;
    PieceReader reader(file.fd.get(), begin, end - begin, file.path, context);
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        bytes += piece;
    }
    return bytes;
}

/// Newlines of a piece of text, from its end on. Pieces begin at even offsets of the file, so that
/// a unit of UTF-16 is never divided.
class NewlinesBackwards {
  public:
    NewlinesBackwards(std::string_view piece, TextEncoding encoding) noexcept
        : piece_(piece), encoding_(encoding), left_(piece.size())
    {
    }

    /// Behind the next newline, counted from the beginning of the piece; empty: there is none.
    [[nodiscard]] std::optional<std::size_t> next() noexcept
    {
        while (left_ > 0) {
            const void* found = ::memrchr(piece_.data(), '\n', left_);
            if (found == nullptr) {
                left_ = 0;
                break;
            }
            left_ = static_cast<std::size_t>(static_cast<const char*>(found) - piece_.data());
            if (const auto end = end_of_newline(left_)) {
                return end;
            }
        }
        return std::nullopt;
    }

  private:
    [[nodiscard]] std::optional<std::size_t> end_of_newline(std::size_t at) const noexcept
    {
        switch (encoding_) {
        case TextEncoding::utf16le:
            return at % 2 == 0 && at + 1 < piece_.size() && piece_[at + 1] == '\0'
                       ? std::optional(at + 2)
                       : std::nullopt;
        case TextEncoding::utf16be:
            return at % 2 == 1 && piece_[at - 1] == '\0' ? std::optional(at + 1) : std::nullopt;
        case TextEncoding::utf8:
        case TextEncoding::utf8_bom:
        case TextEncoding::binary:
            break;
        }
        return at + 1;
    }

    std::string_view piece_;
    TextEncoding encoding_;
    std::size_t left_;
};

[[noreturn]] void throw_too_long(const Opened& file, std::uint64_t wanted)
{
    throw Error(ErrorCode::too_large,
                (wanted == 1 ? "the last line of " + visible(file.path) + " begins"
                             : "the last " + std::to_string(wanted) + " lines of " +
                                   visible(file.path) + " begin") +
                    " more than 1 GiB before its end",
                "ask for fewer lines, or for the last bytes: encoding base64 with a negative "
                "offset, or tail -c in bash_exec");
}

} // namespace

LastLines find_last_lines(const Opened& file, std::uint64_t size, std::uint64_t wanted,
                          TextEncoding encoding, const CallContext& context)
{
    LastLines found;
    std::uint64_t newlines = 0; // but for one that ends the file: it begins no line
    for (std::uint64_t end = size; end > 0;) {
        if (size - end >= max_hashed_size) {
            throw_too_long(file, wanted);
        }
        const std::uint64_t begin = (end - 1) / stream_piece * stream_piece;
        const std::string piece = read_range(file, begin, end, context);
        NewlinesBackwards backwards(piece, encoding);
        for (auto at = backwards.next(); at; at = backwards.next()) {
            if (begin + *at == size) {
                found.final_newline = true;
            } else if (++newlines == wanted) {
                found.begin = begin + *at;
                found.lines = wanted;
                return found;
            }
        }
        end = begin;
    }
    found.lines = size > bom_size(encoding) ? newlines + 1 : 0;
    return found;
}

} // namespace berth::guest
