#include "sandbox/guest/files/document.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <unistd.h>

namespace berth::guest {
namespace {

/// 16 bytes each, twice while they are made anew: the guest has 256 MiB for everything.
constexpr std::size_t max_pieces = 2'500'000;
/// Documents with more go one after the other: a few of the largest together would be too much.
constexpr std::size_t many_pieces = 100'000;

void push(std::vector<Document::Piece>& pieces, const Document::Piece& piece)
{
    if (piece.size == 0) {
        return;
    }
    if (!pieces.empty() && pieces.back().added == piece.added &&
        pieces.back().begin + pieces.back().size == piece.begin) {
        pieces.back().size += piece.size;
    } else {
        pieces.push_back(piece);
    }
}

} // namespace

OriginalReader::OriginalReader(int fd, std::uint64_t size, const std::string& path,
                               const CallContext& context)
    : fd_(fd), size_(size), path_(path), context_(context),
      buffer_(std::make_unique_for_overwrite<char[]>(stream_piece))
{
}

std::string_view OriginalReader::at(std::uint64_t offset, std::uint64_t wanted)
{
    wanted = std::min(wanted, size_ - std::min(size_, offset));
    if (wanted == 0) {
        return {};
    }
    if (offset < begin_ || offset >= end_) {
        throw_if_stopped(context_);
        const auto room =
            static_cast<std::size_t>(std::min<std::uint64_t>(stream_piece, size_ - offset));
        ssize_t got = -1;
        do {
            got = ::pread(fd_, buffer_.get(), room, static_cast<off_t>(offset));
        } while (got < 0 && errno == EINTR);
        if (got < 0) {
            throw errno_error(errno, "read " + visible(path_));
        }
        if (got == 0) {
            throw Error(ErrorCode::conflict,
                        visible(path_) + " became shorter while it was being edited",
                        "read it again, then repeat the change");
        }
        begin_ = offset;
        end_ = offset + static_cast<std::uint64_t>(got);
    }
    return {buffer_.get() + (offset - begin_),
            static_cast<std::size_t>(std::min(wanted, end_ - offset))};
}

Document::Document(int original, std::uint64_t size, std::string path, const CallContext& context)
    : original_(original), original_size_(size), size_(size), path_(std::move(path)),
      context_(context)
{
    push(pieces_, {0, size, false});
}

OriginalReader Document::original() const
{
    return {original_, original_size_, path_, context_};
}

void Document::replace(const std::vector<std::uint64_t>& positions, std::uint64_t length,
                       std::string_view text)
{
    const Piece replacement(added_.size(), text.size(), true);
    added_ += text;
    if (pieces_.size() + 2 * positions.size() > max_pieces) {
        throw Error(ErrorCode::too_large,
                    "the edits of this call make more than " + std::to_string(max_pieces / 2) +
                        " changes in " + visible(path_),
                    "make fewer edits in one call, or use bash_exec, e.g. sed -i");
    }
    if (!many_.owns() && pieces_.size() + 2 * positions.size() > many_pieces) {
        many_ = FileLock("many pieces", context_);
    }
    std::vector<Piece> result;
    result.reserve(pieces_.size() + 2 * positions.size());
    std::size_t index = 0;
    std::uint64_t within = 0; // of pieces_[index], what is dealt with
    // Moves on by `count` bytes of the old pieces and keeps them, or not.
    const auto pass = [&](std::uint64_t count, bool keep) {
        while (count > 0 && index < pieces_.size()) {
            const Piece& piece = pieces_[index];
            const std::uint64_t step = std::min(count, piece.size - within);
            if (keep) {
                push(result, {piece.begin + within, step, piece.added});
            }
            within += step;
            count -= step;
            if (within == piece.size) {
                ++index;
                within = 0;
            }
        }
    };
    std::uint64_t at = 0;
    for (const std::uint64_t position : positions) {
        pass(position - at, true);
        pass(length, false);
        push(result, replacement);
        at = position + length;
    }
    pass(size_ - at, true);
    pieces_ = std::move(result);
    size_ = size_ - positions.size() * length + positions.size() * text.size();
}

DocumentReader::DocumentReader(const Document& document)
    : document_(document), original_(document.original())
{
}

std::string_view DocumentReader::next()
{
    throw_if_stopped(document_.context());
    buffer_.clear();
    const auto& pieces = document_.pieces();
    while (piece_ < pieces.size() && buffer_.size() < stream_piece) {
        const auto& piece = pieces[piece_];
        const std::uint64_t wanted =
            std::min<std::uint64_t>(piece.size - offset_, stream_piece - buffer_.size());
        const auto part = piece.added
                              ? document_.added(piece).substr(static_cast<std::size_t>(offset_),
                                                              static_cast<std::size_t>(wanted))
                              : original_.at(piece.begin + offset_, wanted);
        buffer_ += part;
        offset_ += part.size();
        if (offset_ == piece.size) {
            ++piece_;
            offset_ = 0;
        }
    }
    return buffer_;
}

} // namespace berth::guest
