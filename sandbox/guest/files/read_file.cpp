#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/content_lock.hpp"
#include "sandbox/guest/files/content_type.hpp"
#include "sandbox/guest/files/file_facts.hpp"
#include "sandbox/guest/files/read_directory.hpp"
#include "sandbox/guest/files/read_limits.hpp"
#include "sandbox/guest/files/read_text.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/guest/operations.hpp"
#include "sandbox/guest/paths.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

namespace berth::guest {
namespace {

using protocol::Encoding;
using protocol::FileKind;
using protocol::ReadFileReply;
using protocol::ReadFileRequest;

/// How many bytes there are: what does not say it is read once for that.
std::uint64_t true_size(const Opened& file, const CallContext& context)
{
    if (file.status.st_size > 0) {
        return static_cast<std::uint64_t>(file.status.st_size);
    }
    std::uint64_t size = 0;
    PieceReader reader(file.fd.get(), 0, size_to_read(file), file.path, context);
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        size += piece.size();
    }
    return size;
}

std::uint64_t first_byte(const Opened& file, const ReadFileRequest& request,
                         const CallContext& context)
{
    if (request.from_end == 0) {
        return request.offset;
    }
    const std::uint64_t size = true_size(file, context);
    return size - std::min(request.from_end, size);
}

ReadFileReply read_bytes(const Opened& file, const ReadFileRequest& request,
                         const CallContext& context)
{
    ReadFileReply reply;
    reply.kind = FileKind::binary;
    reply.skipped = first_byte(file, request, context);
    FileFacts facts(file);
    const std::uint64_t limit = std::min(request.limit, max_content);
    // Too large to be hashed: only the range is read.
    const std::uint64_t begin = facts.hashed() ? 0 : reply.skipped;
    const std::uint64_t size = size_to_read(file);
    PieceReader reader(file.fd.get(), begin,
                       facts.hashed() ? size : std::min(limit, size - std::min(size, begin)),
                       file.path, context);
    std::uint64_t at = begin;
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        if (at == 0) {
            reply.mime_type = mime_type(piece);
        }
        const std::uint64_t before =
            std::min<std::uint64_t>(reply.skipped - std::min(reply.skipped, at), piece.size());
        reply.content += piece.substr(static_cast<std::size_t>(before),
                                      static_cast<std::size_t>(limit - reply.content.size()));
        at += piece.size();
        facts.feed(piece);
    }
    facts.finish(reply);
    if (reply.skipped < reply.size && reply.skipped + reply.content.size() < reply.size) {
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
    FileFacts facts(file);
    PieceReader reader(file.fd.get(), 0, facts.hashed() ? size_to_read(file) : keep, file.path,
                       context);
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        facts.feed(piece);
        reply.content += piece.substr(0, static_cast<std::size_t>(keep - reply.content.size()));
    }
    facts.finish(reply);
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
        throw errno_error(errno, "look at " + visible(file.path));
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
                    : read_text(file, request, encoding, reader, beginning, context);
    }
    reply.path = std::move(file.path);
    return reply;
}

} // namespace berth::guest
