#include "sandbox/local/spare_folder.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/local/remove_tree.hpp"
#include "sandbox/local/session_parts.hpp"

#include <cstdio>
#include <exception>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* all_name = "ahead";
constexpr Part empty_part{"empty", 0700};
/// The machine's generation, cgroup, socket and parting note, the session's uid and its claim.
constexpr int blanks = 6;

std::string blank_name(int number)
{
    return "blank-" + std::to_string(number);
}

} // namespace

SpareFolder::SpareFolder(int state) : name_(random_hex(8))
{
    bool made = false;
    all_ = open_or_make_subdirectory(state, all_name, &made);
    if (all_) {
        if (made) {
            spread_subdirectories(all_.get());
        }
        folder_ = open_or_make_subdirectory(all_.get(), name_);
    }
    // Who clears up may have been quicker: then nothing can be made in it.
    if (!folder_ || ::flock(folder_.get(), LOCK_SH | LOCK_NB) != 0) {
        throw_errno("make a spare folder");
    }
    try {
        make();
    } catch (...) {
        remove();
        throw;
    }
    blanks_ = blanks;
}

SpareFolder::~SpareFolder()
{
    remove();
}

void SpareFolder::make() const
{
    make_part(folder_.get(), empty_part);
    make_part(folder_.get(), home_part);
    for (const auto& part : temporary_parts) {
        make_part(folder_.get(), part);
    }
    make_outputs(folder_.get());
    make_machine_id(folder_.get());
    for (int i = 0; i < blanks; ++i) {
        const UniqueFd file(::openat(folder_.get(), blank_name(i).c_str(),
                                     O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (!file) {
            throw_errno("make a blank file");
        }
    }
}

void SpareFolder::remove() noexcept
{
    if (::unlinkat(all_.get(), name_.c_str(), AT_REMOVEDIR) != 0) { // nearly always it is empty
        (void)remove_tree(all_.get(), name_);
    }
}

bool SpareFolder::give(const char* part, int folder) noexcept
{
    return ::renameat2(folder_.get(), part, folder, part, RENAME_NOREPLACE) == 0;
}

/// Invalid where none is left. It was the last one's turn.
UniqueFd SpareFolder::open_blank(std::string& name) noexcept
{
    if (blanks_ == 0) {
        return {};
    }
    name = blank_name(--blanks_);
    return UniqueFd(::openat(folder_.get(), name.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
}

bool SpareFolder::give_empty(int at, const std::string& name) noexcept
{
    return ::renameat2(folder_.get(), empty_part.name, at, name.c_str(), RENAME_NOREPLACE) == 0;
}

UniqueFd SpareFolder::place_blank(int at, const std::string& path) noexcept
{
    std::string blank;
    UniqueFd file = open_blank(blank);
    if (file && ::renameat(folder_.get(), blank.c_str(), at, path.c_str()) != 0) {
        file.reset();
    }
    return file;
}

bool SpareFolder::write(int at, const std::string& path, std::string_view content)
{
    std::string blank;
    const UniqueFd file = open_blank(blank);
    if (!file) {
        return false;
    }
    write_full(file.get(), content);
    return ::renameat(folder_.get(), blank.c_str(), at, path.c_str()) == 0;
}

void write_note(SpareFolder* spare, int at, const std::string& path, std::string_view content)
{
    if (spare == nullptr || !spare->write(at, path, content)) {
        write_file_atomically(at, path, content, 0600, /*sync=*/false);
    }
}

void SpareFolder::clear_up(int state) noexcept
{
    try {
        const UniqueFd all = open_subdirectory(state, all_name);
        if (!all) {
            return; // nobody has made one here
        }
        for (const auto& name : directory_names(all.get())) {
            const UniqueFd folder = open_subdirectory(all.get(), name.c_str());
            if (folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) {
                (void)remove_tree(all.get(), name);
            }
        }
    } catch (const std::exception&) {
        return; // the next one that clears up tries again
    }
}

} // namespace berth::local
