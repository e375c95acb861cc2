#include "sandbox/protocol/parting_note.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/file_lock.hpp"
#include "sandbox/base/io.hpp"

#include <cerrno>
#include <chrono>
#include <exception>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace berth::protocol {
namespace {

/// For as long as its description is open anywhere. Who looks at it just now lets go at once.
void lock_for_life(int note)
{
    try {
        (void)flock_until(note, LOCK_EX, Deadline::after(std::chrono::seconds(2)));
    } catch (const std::system_error&) {
        return; // a file system without locks: then it is as one of an earlier release
    }
}

/// A pipe in its place is not waited for.
UniqueFd open_note(int folder, const std::string& path) noexcept
{
    return UniqueFd(::openat(folder, path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
}

} // namespace

UniqueFd make_parting_note(int folder, const std::string& path)
{
    ::unlinkat(folder, path.c_str(), 0);
    UniqueFd note(
        ::openat(folder, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!note) {
        throw_errno("make the note " + path);
    }
    begin_parting_note(note.get());
    return note;
}

void begin_parting_note(int note)
{
    lock_for_life(note);
    const char living = static_cast<char>(Parting::none);
    write_full(note, {&living, 1});
}

void change_parting_note(int folder, const std::string& path, Parting why) noexcept
{
    const UniqueFd note(
        ::openat(folder, path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
    const char byte = static_cast<char>(why);
    if (note) {
        (void)!::pwrite(note.get(), &byte, 1, 0);
    }
}

std::optional<Parting> read_parting_note(int folder, const std::string& path) noexcept
{
    const UniqueFd note = open_note(folder, path);
    char why = 0;
    return note && ::read(note.get(), &why, 1) == 1 ? std::optional(static_cast<Parting>(why))
                                                    : std::nullopt;
}

std::string read_last_words(int folder, const std::string& path) noexcept
{
    try {
        auto note = read_file_limited(folder, path, 1 + longest_last_words);
        // Of one that was killed as it wrote them there may be a part.
        return note.empty() || note.front() == static_cast<char>(Parting::none) ? std::string()
                                                                                : note.substr(1);
    } catch (const std::exception&) {
        return {};
    }
}

bool is_parting_note_held(int folder, const std::string& path, const Deadline& deadline) noexcept
{
    const UniqueFd note = open_note(folder, path);
    if (!note) {
        return errno != ENOENT && errno != ENOTDIR;
    }
    try {
        return !flock_until(note.get(), LOCK_SH, deadline); // several may look at once
    } catch (const std::system_error&) {
        return false;
    }
}

bool is_parting_note_free(int folder, const std::string& path) noexcept
{
    const UniqueFd note = open_note(folder, path);
    try {
        return note && flock_until(note.get(), LOCK_SH, Deadline::after({}));
    } catch (const std::system_error&) {
        return false;
    }
}

} // namespace berth::protocol
