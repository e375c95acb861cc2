#include "sandbox/base/error.hpp"
#include "sandbox/guest/files/replacement.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/guest/files/write_target.hpp"
#include "sandbox/guest/operations.hpp"
#include "sandbox/guest/paths.hpp"
#include "sandbox/protocol/transfer.hpp"
#include "sandbox/protocol/wire.hpp"

#include <algorithm>
#include <utility>

namespace berth::guest {
namespace {

constexpr const char* again = "load it again";

using protocol::ImportReply;
using protocol::ImportRequest;
using protocol::TransferHeader;

/// The stream from the host.
class Incoming {
  public:
    explicit Incoming(const CallContext& context) : context_(context) {}

    [[nodiscard]] bool done()
    {
        fill();
        return piece_.size() == at_;
    }

    /// At least one byte, at most `wanted`; valid until the next call.
    [[nodiscard]] std::string_view some(std::uint64_t wanted)
    {
        if (done()) {
            throw Error(ErrorCode::invalid_argument, "the transfer ended in the middle of a file",
                        again);
        }
        const auto part = std::string_view(piece_).substr(
            at_, static_cast<std::size_t>(std::min<std::uint64_t>(wanted, piece_.size() - at_)));
        at_ += part.size();
        return part;
    }

    [[nodiscard]] TransferHeader header()
    {
        std::string encoded;
        const std::uint64_t size = varint();
        if (size > protocol::max_transfer_header) {
            throw Error(ErrorCode::invalid_argument, "a file's header in the transfer is too large",
                        again);
        }
        while (encoded.size() < size) {
            encoded += some(size - encoded.size());
        }
        try {
            return protocol::decode<TransferHeader>(encoded);
        } catch (const protocol::WireError& error) {
            throw Error(ErrorCode::invalid_argument,
                        std::string("a file's header in the transfer: ") + error.what(), again);
        }
    }

  private:
    void fill()
    {
        if (at_ == piece_.size() && !ended_) {
            throw_if_stopped(context_);
            piece_ = context_.receive_data();
            at_ = 0;
            ended_ = piece_.empty();
        }
    }

    std::uint64_t varint()
    {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 63; shift += 7) {
            const auto byte = static_cast<unsigned char>(some(1).front());
            value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
            if ((byte & 0x80U) == 0) {
                return value;
            }
        }
        throw Error(ErrorCode::invalid_argument, "a length in the transfer is too large", again);
    }

    const CallContext& context_;
    std::string piece_;
    std::size_t at_ = 0;
    bool ended_ = false;
};

/// A name of the stream is data from elsewhere: with ".." or a leading slash it would choose its
/// own place ("zip slip").
void require_plain(const std::string& name)
{
    bool plain = !name.empty() && name.find('\0') == std::string::npos && !name.ends_with('/');
    std::string_view rest = name;
    while (plain && !rest.empty()) {
        const auto component = rest.substr(0, rest.find('/'));
        plain = !component.empty() && component != "." && component != "..";
        rest.remove_prefix(std::min(rest.size(), component.size() + 1));
    }
    if (!plain) {
        throw Error(ErrorCode::invalid_path, "\"" + printable(name) + "\" is no name for a file",
                    "names are relative and have no empty, . or .. component");
    }
}

protocol::TransferredFile import_one(const std::string& path, const TransferHeader& header,
                                     bool overwrite, Incoming& in, const CallContext& context)
{
    LockedTarget locked = lock_write_target(path, context);
    WriteTarget& target = locked.target;
    if (target.exists() && !overwrite) {
        throw Error(Error(ErrorCode::conflict, printable(target.path()) + " exists already",
                          "load to another path, or allow overwriting")
                        .set_retryable(false));
    }
    require_replaceable(target);
    const unsigned mode = header.mode == 0 ? 0644U : header.mode & 0777U;
    return with_parents(target, context, [&] {
        Replacement replacement(target,
                                {.mode = mode, .exclusive = !overwrite, .only_unchanged = false});
        while (replacement.size() < header.size) {
            throw_if_stopped(context);
            replacement.write(in.some(header.size - replacement.size()));
        }
        protocol::TransferredFile file;
        file.path = target.path();
        file.size = replacement.size();
        file.sha256 = replacement.commit(context);
        return file;
    });
}

} // namespace

ImportReply import_files(const ImportRequest& request, const CallContext& context)
{
    std::string base = absolute_path(request.path, context);
    // Before the first byte is awaited: a place that will not do is told at once.
    if (request.single) {
        const WriteTarget target = find_write_target(base, context);
        require_replaceable(target);
    } else {
        while (base.size() > 1 && base.ends_with('/')) {
            base.pop_back();
        }
        (void)find_write_target(base + "/.berth-import", context);
    }
    ImportReply reply;
    Incoming in(context);
    while (!in.done()) {
        const TransferHeader header = in.header();
        require_plain(header.name);
        if (request.single && !reply.files.empty()) {
            throw Error(ErrorCode::invalid_argument, "the transfer has more than the one file",
                        again);
        }
        reply.files.push_back(import_one(request.single ? base : base + "/" + header.name, header,
                                         request.overwrite, in, context));
    }
    return reply;
}

} // namespace berth::guest
