#include "sandbox/guest/files/overwrite.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/content_lock.hpp"
#include "sandbox/guest/files/stream.hpp"

#include <cerrno>
#include <exception>

#include <unistd.h>

namespace berth::guest {
namespace {

[[noreturn]] void throw_both(const Error& failure, const std::string& second,
                             const std::string& kept, const WriteTarget& target)
{
    const std::string what = std::string(failure.what()) + "; putting the old content of " +
                             visible(target.path()) + " back failed too (" + second + ")";
    const std::string copy = target.directory_path + "/" + kept;
    throw Error(Error(failure.code(), what + ": it is in " + visible(copy),
                      "when the cause is gone, copy it back with cp, which keeps the hard links")
                    .with_detail("backup", copy));
}

} // namespace

void copy_content(int from, int to, std::uint64_t size, const std::string& path,
                  const CallContext& context)
{
    if (::lseek(to, 0, SEEK_SET) != 0) {
        throw errno_error(errno, "write " + visible(path));
    }
    PieceReader reader(from, 0, size, path, context);
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        write_piece(to, piece, path);
    }
    if (::ftruncate(to, static_cast<off_t>(size)) != 0) {
        throw_write_error(errno, to, "write " + visible(path));
    }
}

void overwrite(int file, const NewContent& content, const OldContent& old,
               const WriteTarget& target, const CallContext& context)
{
    const std::string path = target.path();
    const CallContext unstoppable{context.config, context.session, {}, {}, {}};
    const ContentLock lock(file, ContentLock::Kind::exclusive, context.stop);
    throw_if_stopped(context);
    // From here to the end a kill of this process leaves a mixture in the file. Then the old
    // content is what must be there to be had: nobody else has it, while the new one is still in
    // the hands of the caller, whose call has failed and should have changed nothing.
    if (const int error = old.copy.expose(target.name); error != 0) {
        throw_write_error(error, target.directory.get(),
                          "keep the old content of " + visible(path));
    }
    try {
        copy_content(content.fd, file, content.size, path, unstoppable);
    } catch (const Error& failure) {
        try {
            copy_content(old.copy.fd(), file, old.size, path, unstoppable);
        } catch (const Error& second) {
            throw_both(failure, second.what(), old.copy.keep(), target);
        }
        throw;
    }
}

} // namespace berth::guest
