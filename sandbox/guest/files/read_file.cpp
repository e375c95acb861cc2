#include "sandbox/base/error.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/guest/files/content_lock.hpp"
#include "sandbox/guest/files/content_type.hpp"
#include "sandbox/guest/files/read_directory.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/guest/files/text_scan.hpp"
#include "sandbox/guest/files/utf16.hpp"
#include "sandbox/guest/operations.hpp"
#include "sandbox/guest/paths.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

namespace berth::guest {
namespace {

using protocol::Encoding;
using protocol::FileKind;
using protocol::ReadFileReply;
using protocol::ReadFileRequest;

/// What fits into a reply, with room for the rest of it.
constexpr std::uint64_t max_content = 32ULL * 1024 * 1024;
/// Files of /proc say that they are empty; of one that is not, so much is read.
constexpr std::uint64_t max_unsized = 16ULL * 1024 * 1024;
/// Shown of a file that is not text.
constexpr std::size_t binary_preview = 256;

/// The size to read: that of now, so that a file that grows under our eyes has an end.
std::uint64_t size_to_read(const Opened& file)
{
    const auto size = static_cast<std::uint64_t>(file.status.st_size);
    return size == 0 ? max_unsized : size;
}

/// Everything that is told about any file, whatever part of it is returned.
struct Facts {
    std::uint64_t size = 0;
    std::optional<Sha256> hash; ///< none: too large

    void feed(std::string_view piece)
    {
        size += piece.size();
        if (hash) {
            hash->update(piece);
        }
    }
};

Facts facts_for(const Opened& file)
{
    Facts facts;
    if (static_cast<std::uint64_t>(file.status.st_size) <= max_hashed_size) {
        facts.hash.emplace();
    }
    return facts;
}

void finish(Facts& facts, const Opened& file, ReadFileReply& reply)
{
    if (facts.hash) {
        reply.sha256 = facts.hash->finish();
        reply.size = facts.size;
    } else {
        reply.size = static_cast<std::uint64_t>(file.status.st_size);
    }
}

ReadFileReply read_bytes(const Opened& file, const ReadFileRequest& request,
                         const CallContext& context)
{
    ReadFileReply reply;
    reply.kind = FileKind::binary;
    Facts facts = facts_for(file);
    const std::uint64_t limit = std::min(request.limit, max_content);
    // Too large to be hashed: only the range is read.
    const std::uint64_t begin = facts.hash ? 0 : request.offset;
    const std::uint64_t size = size_to_read(file);
    PieceReader reader(file.fd.get(), begin,
                       facts.hash ? size : std::min(limit, size - std::min(size, begin)), file.path,
                       context);
    std::uint64_t at = begin;
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        if (at == 0) {
            reply.mime_type = mime_type(piece);
        }
        const std::uint64_t skipped =
            std::min<std::uint64_t>(request.offset - std::min(request.offset, at), piece.size());
        reply.content += piece.substr(static_cast<std::size_t>(skipped),
                                      static_cast<std::size_t>(limit - reply.content.size()));
        at += piece.size();
        facts.feed(piece);
    }
    finish(facts, file, reply);
    if (request.offset < reply.size && request.offset + reply.content.size() < reply.size) {
        reply.truncated_by = "limit";
    }
    return reply;
}

/// An image, whole, when it is small enough; else a description with the first bytes.
ReadFileReply read_binary(const Opened& file, const ReadFileRequest& request, std::string_view type,
                          const CallContext& context)
{
    ReadFileReply reply;
    reply.mime_type = type;
    const auto size = static_cast<std::uint64_t>(file.status.st_size);
    const bool whole =
        is_image(type) && size > 0 && size <= std::min(request.image_limit, max_content);
    reply.kind = whole ? FileKind::image : FileKind::binary;
    const std::uint64_t keep = whole ? size : binary_preview;
    Facts facts = facts_for(file);
    PieceReader reader(file.fd.get(), 0, facts.hash ? size_to_read(file) : keep, file.path,
                       context);
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        facts.feed(piece);
        reply.content += piece.substr(0, static_cast<std::size_t>(keep - reply.content.size()));
    }
    finish(facts, file, reply);
    return reply;
}

/// One pass over a text: the page that was asked for, and what is told about the whole.
class TextPass {
  public:
    TextPass(TextEncoding encoding, const ReadFileRequest& request)
        : encoding_(encoding), bom_left_(bom_size(encoding)),
          window_(request.offset, request.limit,
                  request.budget == 0 ? max_content : std::min(request.budget, max_content))
    {
        if (encoding == TextEncoding::utf16le || encoding == TextEncoding::utf16be) {
            utf16_.emplace(encoding == TextEncoding::utf16be);
        }
    }

    void feed(std::string_view piece)
    {
        const std::size_t bom = std::min(bom_left_, piece.size());
        bom_left_ -= bom;
        piece.remove_prefix(bom);
        if (utf16_) {
            decoded_.clear();
            utf16_->feed(piece, decoded_);
            piece = decoded_;
        }
        scan(piece);
    }

    [[nodiscard]] bool page_full() const noexcept { return window_.full(); }

    void finish(const ReadFileRequest& request, ReadFileReply& reply)
    {
        if (utf16_) {
            decoded_.clear();
            utf16_->finish(decoded_);
            scan(decoded_);
        }
        window_.finish();
        reply.kind = FileKind::text;
        reply.content = window_.take_content();
        reply.line_count = window_.line_count();
        reply.first_line = reply.line_count > 0 ? request.offset + 1 : 0;
        reply.total_lines = counter_.lines();
        reply.truncated_by = window_.truncated_by();
        reply.encoding = encoding_name();
        reply.line_ending = counter_.line_ending();
        reply.final_newline = counter_.final_newline();
    }

  private:
    void scan(std::string_view text)
    {
        counter_.feed(text);
        check_.feed(text);
        window_.feed(text);
    }

    std::string encoding_name()
    {
        switch (encoding_) {
        case TextEncoding::utf16le:
            return "utf-16le";
        case TextEncoding::utf16be:
            return "utf-16be";
        case TextEncoding::utf8:
        case TextEncoding::utf8_bom:
        case TextEncoding::binary:
            break;
        }
        if (!check_.finish()) {
            return "invalid-utf-8";
        }
        return encoding_ == TextEncoding::utf8_bom ? "utf-8-bom" : "utf-8";
    }

    TextEncoding encoding_;
    std::size_t bom_left_;
    std::optional<Utf16Decoder> utf16_;
    std::string decoded_;
    LineCounter counter_;
    Utf8Check check_;
    LineWindow window_;
};

ReadFileReply read_text(const Opened& file, const ReadFileRequest& request, TextEncoding encoding,
                        PieceReader& reader, std::string_view piece)
{
    ReadFileReply reply;
    Facts facts = facts_for(file);
    TextPass pass(encoding, request);
    while (!piece.empty()) {
        facts.feed(piece);
        pass.feed(piece);
        if (!facts.hash && pass.page_full()) {
            break; // the totals of a file that large are not worth the seconds
        }
        piece = reader.next();
    }
    pass.finish(request, reply);
    const std::uint64_t seen = facts.size;
    finish(facts, file, reply);
    reply.totals_partial = seen < reply.size;
    const bool more =
        reply.first_line + reply.line_count <= reply.total_lines || reply.totals_partial;
    if (reply.truncated_by.empty() && reply.line_count == request.limit && more) {
        reply.truncated_by = "limit";
    }
    return reply;
}

} // namespace

ReadFileReply read_file(const ReadFileRequest& request, const CallContext& context)
{
    if (request.limit == 0) {
        throw Error(ErrorCode::invalid_argument, "limit is 0", "ask for at least one line");
    }
    Opened file = open_existing(request.path, context);
    if (S_ISDIR(file.status.st_mode)) {
        return read_directory(std::move(file), request, context);
    }
    const ContentLock lock(file.fd.get(), ContentLock::Kind::shared, context.stop);
    throw_if_stopped(context);
    if (::fstat(file.fd.get(), &file.status) != 0) {
        throw errno_error(errno, "look at " + printable(file.path));
    }
    ReadFileReply reply;
    if (request.encoding == Encoding::bytes) {
        reply = read_bytes(file, request, context);
    } else {
        PieceReader reader(file.fd.get(), 0, size_to_read(file), file.path, context);
        const std::string_view beginning = reader.next();
        const TextEncoding encoding = sniff_encoding(beginning);
        reply = encoding == TextEncoding::binary
                    ? read_binary(file, request, mime_type(beginning), context)
                    : read_text(file, request, encoding, reader, beginning);
    }
    reply.path = std::move(file.path);
    return reply;
}

} // namespace berth::guest
