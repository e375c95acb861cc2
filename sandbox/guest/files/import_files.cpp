#include "sandbox/base/error.hpp"
#include "sandbox/base/joined.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/missing.hpp"
#include "sandbox/guest/files/replacement.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/guest/files/write_target.hpp"
#include "sandbox/guest/operations.hpp"
#include "sandbox/guest/paths.hpp"
#include "sandbox/protocol/transfer.hpp"
#include "sandbox/protocol/wire.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

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
        throw Error(ErrorCode::invalid_path, "\"" + visible(name) + "\" is no name for a file",
                    "names are relative and have no empty, . or .. component");
    }
}

void require_absent_or(bool overwrite, const WriteTarget& target)
{
    if (target.exists() && !overwrite) {
        throw Error(Error(ErrorCode::conflict, visible(target.path()) + " exists already",
                          "load to another path, or allow overwriting")
                        .set_retryable(false));
    }
}

protocol::TransferredFile import_one(const std::string& path, const TransferHeader& header,
                                     bool overwrite, Incoming& in, const CallContext& context)
{
    LockedTarget locked = lock_write_target(path, context);
    WriteTarget& target = locked.target;
    require_absent_or(overwrite, target);
    require_replaceable(target);
    const unsigned mode = header.mode == 0 ? 0644U : header.mode & 0777U;
    return with_parents(target, context, [&] {
        Replacement replacement(
            target, {.mode = mode, .exclusive = !overwrite, .only_unchanged = false}, context);
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

/// Files that are there already are not put back, so who gets the error must know which they are.
[[noreturn]] void rethrow_with_loaded(const Error& error, const std::string& name,
                                      const std::vector<std::string>& loaded)
{
    constexpr std::size_t most_named = 10;
    constexpr std::size_t most_bytes = 200;
    const auto shown = [](const std::string& entry) {
        const std::string whole = visible(entry);
        const std::string_view part = utf8::prefix_bytes(whole, most_bytes);
        return std::string(part) + (part.size() < whole.size() ? "..." : "");
    };
    std::string message = error.what();
    message += "; it is " + shown(name) + " of the load, which has written ";
    if (loaded.empty()) {
        message += "nothing";
    } else {
        message += std::to_string(loaded.size()) + (loaded.size() == 1 ? " file" : " files") +
                   " before it: ";
    }
    message += joined_first(loaded, most_named, shown);
    Error told(error.code(), message, error.hint());
    throw Error(told.with_details_of(error).set_retryable(error.retryable()));
}

/// Before the first is written: of a load that cannot be whole there should not be a part.
void require_places(const ImportRequest& request, const std::string& base,
                    const CallContext& context)
{
    const std::string folder = base + "/";
    for (const auto& name : request.names) {
        try {
            throw_if_stopped(context);
            require_plain(name);
            const WriteTarget target = find_write_target(folder + name, context);
            require_absent_or(request.overwrite, target);
            require_replaceable(target);
        } catch (const Error& error) {
            rethrow_with_loaded(error, name, {});
        }
    }
}

/// Where several files are to be: a directory, or nothing yet, that may be written.
void require_folder(const std::string& base, const CallContext& context)
{
    constexpr const char* hint = "load them into a directory, or load one file by its whole name";
    const UniqueFd location(open_without_magic(AT_FDCWD, base, O_PATH));
    if (!location) {
        const int error = errno;
        if (error == ENOENT) {
            (void)find_write_target(base, context);
            return;
        }
        try {
            throw_open_error(error, base, context);
        } catch (const Error& told) {
            throw error == ENOTDIR ? Error(told.code(), told.what(), hint) : Error(told);
        }
    }
    const std::string real = path_of(location.get());
    require_writable(real, context);
    struct stat status = {};
    if (::fstat(location.get(), &status) == 0 && !S_ISDIR(status.st_mode)) {
        throw Error(ErrorCode::invalid_path,
                    visible(real) + " is " + type_in_words(status) +
                        ", and several files need a directory",
                    hint);
    }
}

void import_tree(const ImportRequest& request, const std::string& base, Incoming& in,
                 const CallContext& context, ImportReply& reply)
{
    const std::string folder = base + "/";
    std::vector<std::string> loaded;
    while (!in.done()) {
        std::string name = "the next file";
        try {
            const TransferHeader header = in.header();
            name = header.name;
            require_plain(name);
            reply.files.push_back(
                import_one(folder + name, header, request.overwrite, in, context));
        } catch (const Error& error) {
            rethrow_with_loaded(error, name, loaded);
        }
        loaded.push_back(std::move(name));
    }
}

void import_single(const ImportRequest& request, const std::string& path, Incoming& in,
                   const CallContext& context, ImportReply& reply)
{
    while (!in.done()) {
        const TransferHeader header = in.header();
        require_plain(header.name);
        if (!reply.files.empty()) {
            throw Error(ErrorCode::invalid_argument, "the transfer has more than the one file",
                        again);
        }
        reply.files.push_back(import_one(path, header, request.overwrite, in, context));
    }
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
        while (base.size() > 1 && (base.ends_with('/') || base.ends_with("/."))) {
            base.pop_back();
        }
        require_folder(base, context);
        require_places(request, base, context);
    }
    ImportReply reply;
    Incoming in(context);
    if (request.single) {
        import_single(request, base, in, context, reply);
    } else {
        import_tree(request, base, in, context, reply);
    }
    return reply;
}

} // namespace berth::guest
