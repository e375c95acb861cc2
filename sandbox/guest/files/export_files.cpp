#include "sandbox/base/error.hpp"
#include "sandbox/base/glob_pattern.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/content_lock.hpp"
#include "sandbox/guest/files/home_place.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/guest/files/tree_files.hpp"
#include "sandbox/guest/operations.hpp"
#include "sandbox/guest/paths.hpp"
#include "sandbox/guest/search/glob_start.hpp"
#include "sandbox/protocol/frame.hpp"
#include "sandbox/protocol/transfer.hpp"
#include "sandbox/protocol/wire.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {
namespace {

using protocol::ExportReply;
using protocol::ExportRequest;

/// The stream to the host, in pieces as large as a frame carries.
class Outgoing {
  public:
    explicit Outgoing(const CallContext& context) : context_(context) {}

    void header(const protocol::TransferHeader& header)
    {
        const std::string encoded = protocol::encode(header);
        std::string start;
        protocol::put_varint(start, encoded.size());
        put(start + encoded);
    }

    void put(std::string_view bytes)
    {
        while (!bytes.empty()) {
            const auto part = bytes.substr(0, protocol::max_data_size - piece_.size());
            piece_ += part;
            bytes.remove_prefix(part.size());
            if (piece_.size() == protocol::max_data_size) {
                flush();
            }
        }
    }

    void flush()
    {
        if (!piece_.empty()) {
            throw_if_stopped(context_);
            context_.send_data(piece_);
            piece_.clear();
        }
    }

  private:
    const CallContext& context_;
    std::string piece_;
};

[[noreturn]] void throw_changed(const std::string& path)
{
    throw Error(ErrorCode::conflict, visible(path) + " changed while it was being saved",
                "wait until nothing writes to it, then save again");
}

/// What a file of up to this size has is read before its size is told: those of /proc and /sys have
/// more, or less, than they say.
constexpr std::uint64_t small_file = 64UL * 1024;
/// Of one that says that it is empty so much is read.
constexpr std::uint64_t max_unsized = 16UL * 1024 * 1024;

std::string read_small(int fd, std::uint64_t size, const std::string& path,
                       const CallContext& context)
{
    std::string content;
    PieceReader reader(fd, 0, size == 0 ? max_unsized : size, path, context);
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        content += piece;
    }
    if (size == 0 && content.size() == max_unsized) {
        throw Error(ErrorCode::too_large,
                    visible(path) + " says that it is empty, and has 16 MiB or more",
                    "copy what is needed of it to a file with head -c in bash_exec, and save that");
    }
    return content;
}

/// Sends one file: its header, of which `header` has what does not come from the file, then exactly
/// as many bytes as that says.
void send_file(Outgoing& out, int fd, protocol::TransferHeader header, const std::string& path,
               const CallContext& context, ExportReply& reply)
{
    const ContentLock lock(fd, ContentLock::Kind::shared, context.stop);
    throw_if_stopped(context);
    struct stat status = {};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        throw_changed(path);
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    header.size = size;
    header.mode = status.st_mode & 0777U;
    ++reply.files;
    if (size <= small_file) {
        const std::string content = read_small(fd, size, path, context);
        header.size = content.size();
        out.header(header);
        out.put(content);
        reply.bytes += content.size();
        return;
    }
    out.header(header);
    PieceReader reader(fd, 0, size, path, context);
    std::uint64_t sent = 0;
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        out.put(piece);
        sent += piece.size();
    }
    if (sent != size) {
        throw_changed(path); // shorter than announced: the host must not take it for whole
    }
    reply.bytes += size;
}

/// Opens a file of the tree again, and judges it; never through a link that has taken its place
/// meanwhile.
UniqueFd open_below(int root, const std::string& name, const std::string& path,
                    const CallContext& context)
{
    open_how how = {};
    how.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    for (int i = 0; i < open_attempts; ++i) {
        UniqueFd fd(sys::openat2(root, name.c_str(), how));
        if (!fd) {
            break;
        }
        if (const auto place = place_of(fd.get())) {
            require_readable(*place, context);
            return fd;
        }
    }
    throw_changed(path);
}

void require_size(std::uint64_t bytes, const ExportRequest& request, const std::string& path)
{
    if (bytes > request.max_bytes) {
        throw Error(ErrorCode::too_large,
                    visible(path) + " would be more than " + std::to_string(request.max_bytes) +
                        " bytes",
                    "save less at once, or compress it");
    }
}

/// What comes before the names of what is at `place`, absolute as it was asked for: nothing, or the
/// way from the home to it.
std::string prefix_of(const std::string& place, const ExportRequest& request,
                      const CallContext& context)
{
    const auto name = request.from_home ? name_in_home(place, context) : std::string();
    return name.empty() ? name : name + '/';
}

/// What is at a place; without a link on the way to it where only the home may be taken.
HomePlace open_place(const std::string& absolute, const ExportRequest& request,
                     const CallContext& context)
{
    return request.from_home ? open_in_home(absolute, context)
                             : HomePlace{.opened = open_existing(absolute, context), .skipped = {}};
}

ExportReply nothing_but(const std::string& skipped, const CallContext& context)
{
    ExportReply reply;
    reply.root = context.config.home;
    reply.skipped = {skipped};
    reply.skipped_total = 1;
    return reply;
}

ExportReply export_tree(int root, const std::string& root_path, const std::string& prefix,
                        const ExportRequest& request, const TreeLimits& limits,
                        const CallContext& context)
{
    TreeFiles tree = list_tree(root, root_path, limits, context);
    ExportReply reply;
    reply.root = root_path;
    reply.skipped = std::move(tree.skipped);
    reply.skipped_total = tree.skipped_total;
    Outgoing out(context);
    for (const auto& file : tree.files) {
        const std::string path = root_path + "/" + file.name;
        const UniqueFd fd = open_below(root, file.name, path, context);
        struct stat status = {};
        if (::fstat(fd.get(), &status) == 0) {
            // It may have grown since it was listed.
            require_size(reply.bytes + static_cast<std::uint64_t>(status.st_size), request,
                         root_path);
        }
        // Who wants some of the files only has a pattern for them.
        send_file(out, fd.get(),
                  {.name = prefix + file.name, .matched = static_cast<bool>(limits.wanted)}, path,
                  context, reply);
    }
    out.flush();
    return reply;
}

/// Under the name that was given: what a symlink is called, not the file it leads to, which may be
/// called like another one that is saved.
ExportReply export_single(const Opened& file, const std::string& given,
                          const ExportRequest& request, const CallContext& context)
{
    require_size(static_cast<std::uint64_t>(file.status.st_size), request, file.path);
    const auto slash = given.rfind('/');
    ExportReply reply;
    reply.single = true;
    reply.root = slash == 0 ? "/" : given.substr(0, slash);
    const auto prefix = prefix_of(reply.root, request, context);
    Outgoing out(context);
    send_file(out, file.fd.get(), {.name = prefix + given.substr(slash + 1), .single = true},
              file.path, context, reply);
    out.flush();
    return reply;
}

bool is_pattern(const std::string& path)
{
    return path.find_first_of("*?[{") != std::string::npos;
}

bool is_directory(const HomePlace& place)
{
    return place.opened && S_ISDIR(place.opened->status.st_mode);
}

/// The slash before the pattern: behind the directories that are there by their very names, even
/// where such a name ("[slug]") could be read as a pattern.
std::size_t slash_before_pattern(const std::string& absolute, const ExportRequest& request,
                                 const CallContext& context)
{
    auto slash = absolute.rfind('/', absolute.find_first_of("*?[{"));
    for (auto next = absolute.find('/', slash + 1); next != std::string::npos;
         next = absolute.find('/', next + 1)) {
        try {
            if (!is_directory(open_place(absolute.substr(0, next), request, context))) {
                break;
            }
        } catch (const Error& error) {
            if (error.code() != ErrorCode::not_found && error.code() != ErrorCode::not_a_file) {
                throw;
            }
            break;
        }
        slash = next;
    }
    return slash;
}

[[noreturn]] void throw_no_match(const std::string& absolute)
{
    throw Error(ErrorCode::not_found, "no file matches " + visible(absolute),
                "try the pattern with glob_files first");
}

/// Whether it is in a folder that matches.
bool is_below_match(const GlobPattern& pattern, std::string_view name)
{
    for (auto slash = name.find('/'); slash != std::string_view::npos;
         slash = name.find('/', slash + 1)) {
        if (pattern.matches(name.substr(0, slash))) {
            return true;
        }
    }
    return false;
}

ExportReply export_pattern(const std::string& absolute, const ExportRequest& request,
                           const CallContext& context)
{
    const auto slash = slash_before_pattern(absolute, request, context);
    const auto place = slash == 0 ? "/" : absolute.substr(0, slash);
    const auto found =
        request.from_home
            ? open_in_home(place, context)
            : HomePlace{.opened = open_existing(place, context, O_DIRECTORY), .skipped = {}};
    if (!found.opened) {
        return nothing_but(found.skipped, context);
    }
    if (!is_directory(found)) {
        throw_no_match(absolute);
    }
    const Opened& root = *found.opened;
    const auto pattern =
        GlobPattern::compile(absolute.substr(slash + 1), {.braces = true, .anchored = true});
    TreeLimits limits{
        .max_bytes = request.max_bytes,
        .max_entries = request.max_entries,
        .wanted = [&](std::string_view name) { return pattern.matches(name); },
        .enters = [&](std::string_view name) { return pattern.may_match_below(name); },
        .all_or_none = request.from_home};
    const auto prefix = prefix_of(place, request, context);
    auto reply = export_tree(root.fd.get(), root.path, prefix, request, limits, context);
    if (reply.files == 0 && request.from_home) {
        // What a session leaves goes with its home: where no file matches, folders are meant.
        const auto is_meant = [&](std::string_view name) {
            return pattern.matches(name) || is_below_match(pattern, name);
        };
        limits.wanted = is_meant;
        limits.enters = [&pattern, is_meant](std::string_view name) {
            return is_meant(name) || pattern.may_match_below(name);
        };
        reply = export_tree(root.fd.get(), root.path, prefix, request, limits, context);
    }
    if (reply.files == 0 && reply.skipped.empty()) {
        throw_no_match(absolute);
    }
    return reply;
}

} // namespace

ExportReply export_files(const ExportRequest& request, const CallContext& context)
{
    const std::string absolute = absolute_path(request.path, context);
    HomePlace place;
    try {
        place = open_place(absolute, request, context);
    } catch (const Error& error) {
        // A file may be called "a[1].txt"; only what is not there can be meant as a pattern.
        if (error.code() != ErrorCode::not_found || !is_pattern(absolute)) {
            throw;
        }
        const auto pattern = search::with_common_start(request.path);
        return export_pattern(absolute_path(pattern, context), request, context);
    }
    if (!place.opened) {
        return nothing_but(place.skipped, context);
    }
    const Opened& found = *place.opened;
    if (S_ISREG(found.status.st_mode)) {
        return export_single(found, absolute, request, context);
    }
    const TreeLimits limits{.max_bytes = request.max_bytes,
                            .max_entries = request.max_entries,
                            .wanted = {},
                            .enters = {},
                            .all_or_none = request.from_home};
    return export_tree(found.fd.get(), found.path, prefix_of(absolute, request, context), request,
                       limits, context);
}

} // namespace berth::guest
