#include "sandbox/protocol/parting_note.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"

#include <exception>

#include <fcntl.h>
#include <unistd.h>

namespace berth::protocol {

UniqueFd make_parting_note(int folder, const std::string& path)
{
    ::unlinkat(folder, path.c_str(), 0);
    UniqueFd note(
        ::openat(folder, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!note) {
        throw_errno("make the note " + path);
    }
    const char living = static_cast<char>(Parting::none);
    write_full(note.get(), {&living, 1});
    return note;
}

std::optional<Parting> read_parting_note(int folder, const std::string& path) noexcept
{
    try {
        const auto note = read_file_limited(folder, path, 1);
        return note.empty() ? std::nullopt : std::optional(static_cast<Parting>(note.front()));
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

} // namespace berth::protocol
