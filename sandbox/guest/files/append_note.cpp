#include "sandbox/guest/files/append_note.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/guest/files/write_target.hpp"
#include "sandbox/guest/paths.hpp"
#include "sandbox/protocol/frame.hpp"

#include <climits>

#include <array>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <type_traits>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {
namespace {

/// As many appends may be under way at once; one more has no note.
constexpr int most_notes = 32;

constexpr std::string_view note_prefix = ".berth-append-";

/// No true note is larger: one that a command made must not keep the guest from starting.
constexpr std::uint64_t most_bytes = protocol::max_payload_size + 2 * PATH_MAX;

/// Behind it in the note: the path, and the content that is appended.
struct Head {
    std::array<char, 16> mark;
    std::uint64_t inode;
    std::uint64_t size; ///< of the file before
    std::uint64_t path_size;
};

static_assert(std::is_trivially_copyable_v<Head> && sizeof(Head) == 40);

constexpr std::array<char, 16> note_mark{'b', 'e', 'r', 't', 'h', ' ', 'a',  'p',
                                         'p', 'e', 'n', 'd', ' ', '1', '\n', '\0'};

std::string note_name(int number)
{
    return std::string(note_prefix) + std::to_string(number);
}

/// Looks at the first names only, which in most homes are all: a name that is not there costs as
/// much to look up as all of these.
bool may_have_notes(const UniqueFd& home)
{
    const UniqueFd names(::openat(home.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    alignas(dirent64) std::array<char, 4096> buffer;
    const ssize_t size = ::getdents64(names.get(), buffer.data(), buffer.size());
    const std::string_view read(buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    return size < 0 || read.find(note_prefix) != std::string_view::npos ||
           ::getdents64(names.get(), buffer.data(), buffer.size()) != 0;
}

UniqueFd open_home(const protocol::GuestConfig& config)
{
    return UniqueFd(::open(config.home.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/// The kernel looks for a kill before each page that it writes to.
bool is_in_one_page(std::uint64_t begin, std::uint64_t size)
{
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return begin % page + size <= page;
}

/// Whether the file's last `size` bytes, from `begin` on, are those of the note from `noted_begin`.
bool is_as_noted(int file, std::uint64_t begin, std::uint64_t size, int note,
                 std::uint64_t noted_begin, const CallContext& context)
{
    PieceReader written(file, begin, size, "what was appended", context);
    PieceReader noted(note, noted_begin, size, "the note of an append", context);
    for (auto piece = written.next(); !piece.empty(); piece = written.next()) {
        if (piece != noted.next()) {
            return false;
        }
    }
    return true;
}

void take_back(const Head& head, const std::string& path, int note, std::uint64_t note_size,
               const CallContext& context)
{
    const WriteTarget target = find_write_target(path, context);
    if (!target.exists() || !S_ISREG(target.status.st_mode) || target.status.st_ino != head.inode) {
        return;
    }
    const auto size = static_cast<std::uint64_t>(target.status.st_size);
    const std::uint64_t noted_begin = sizeof(Head) + head.path_size;
    if (size <= head.size || size - head.size >= note_size - noted_begin) {
        return; // nothing was written, or all of it
    }
    const UniqueFd file(::open(descriptor_path(target.file.get()).c_str(), O_RDWR | O_CLOEXEC));
    struct stat now = {};
    if (file && is_as_noted(file.get(), head.size, size - head.size, note, noted_begin, context) &&
        ::fstat(file.get(), &now) == 0 && now.st_size == target.status.st_size) {
        (void)!::ftruncate(file.get(), static_cast<off_t>(head.size));
    }
}

/// Whether the file is a note, and its append is no longer under way.
bool is_left(int note, const struct stat& status, Head& head)
{
    return S_ISREG(status.st_mode) && read_full(note, &head, sizeof(head)) == sizeof(head) &&
           head.mark == note_mark && head.path_size < PATH_MAX &&
           (::flock(note, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
}

/// False: it is not to be removed.
bool end_append(int note, const CallContext& context)
{
    struct stat status = {};
    Head head{};
    if (::fstat(note, &status) != 0 || !is_left(note, status, head)) {
        return false;
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    std::string path(head.path_size, '\0');
    if (read_full(note, path.data(), path.size()) == path.size() && size <= most_bytes) {
        try {
            take_back(head, path, note, size, context);
        } catch (const Error&) {
            return true; // the file is gone, or no longer ours to write
        }
    }
    return true;
}

} // namespace

AppendNote::AppendNote(int file, std::string_view content, const std::string& path,
                       const CallContext& context) noexcept
{
    try {
        struct stat status = {};
        if (::fstat(file, &status) != 0 ||
            is_in_one_page(static_cast<std::uint64_t>(status.st_size), content.size())) {
            return;
        }
        home_ = open_home(context.config);
        const Head head{note_mark, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                        path.size()};
        note_.emplace(home_.get(), context.config.home, 0600);
        write_full(note_->fd(), {reinterpret_cast<const char*>(&head), sizeof(head)});
        write_full(note_->fd(), path);
        write_full(note_->fd(), content);
        // Before it can be seen, or another guest would take it for left. Where there are locks.
        ::flock(note_->fd(), LOCK_EX | LOCK_NB);
        int error = EEXIST;
        for (int i = 0; i < most_notes && error == EEXIST; ++i) {
            error = note_->show_as(note_name(i));
        }
    } catch (const std::exception&) {
        note_.reset();
    }
}

bool AppendNote::remove() noexcept
{
    const bool was_there = note_.has_value();
    note_.reset();
    return was_there;
}

void take_back_appends(const protocol::GuestConfig& config) noexcept
{
    try {
        SessionState session(config.home);
        const CallContext context{config, session, {}, {}, {}};
        const UniqueFd home = open_home(config);
        if (!home || !may_have_notes(home)) {
            return;
        }
        for (int i = 0; i < most_notes; ++i) {
            const std::string name = note_name(i);
            const UniqueFd note(::openat(home.get(), name.c_str(),
                                         O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
            if (note && end_append(note.get(), context)) {
                ::unlinkat(home.get(), name.c_str(), 0);
            }
        }
    } catch (const std::exception&) {
        return; // no memory, a disk that fails: what the calls do next has to say what is wrong
    }
}

} // namespace berth::guest
