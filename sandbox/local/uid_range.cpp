#include "sandbox/local/uid_range.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/file_lock.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/local/spare_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* lock_name = "uids/lock";
/// While a uid goes with its home from one session to another: "FROM\nTO\n".
constexpr const char* handover_name = "uids/handover";
constexpr std::size_t hint_size = 10; // the digits of the highest uid

std::string claim_path(unsigned uid)
{
    return "uids/" + std::to_string(uid);
}

constexpr const char* record_name = "uid";

struct Folder {
    UniqueFd fd;
    int error = 0; ///< without one: ENOENT, or that something else is in its place
};

[[noreturn]] void throw_error(int error, const std::string& name)
{
    throw std::system_error(error, std::generic_category(), "open the session's folder " + name);
}

/// Follows no link: what is written would be put where one leads. Throws std::system_error where
/// nobody can tell what is there: a want of descriptors must not decide whose a uid is.
Folder folder_of(int state, const std::string& name)
{
    const UniqueFd sessions = open_subdirectory(state, "sessions");
    auto folder = sessions ? open_subdirectory(sessions.get(), name.c_str()) : UniqueFd();
    const int error = folder ? 0 : errno;
    if (error != 0 && error != ENOENT && error != ENOTDIR && error != ELOOP) {
        throw_error(error, name);
    }
    return {.fd = std::move(folder), .error = error};
}

UniqueFd require_folder_of(int state, const std::string& name)
{
    auto folder = folder_of(state, name);
    if (!folder.fd) {
        throw_error(folder.error, name);
    }
    return std::move(folder.fd);
}

std::optional<unsigned> parse(const std::string& text)
{
    unsigned value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec != std::errc{} || result.ptr != text.data() + text.size() || value == 0) {
        return std::nullopt;
    }
    return value;
}

/// Empty where there is none. That is the usual case of each new session, while somebody waits: an
/// exception would take longer than all else that is looked at here.
std::string read_small(int state, const std::string& path)
{
    if (::faccessat(state, path.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) {
        return {};
    }
    try {
        return read_file_limited(state, path, 256);
    } catch (const std::system_error& error) {
        if (error.code().value() == ENOENT) {
            return {};
        }
        throw;
    }
}

/// Of a file that berth has not written so.
constexpr const char* garbage = "?";

/// What the session's folder says of its uid; empty without such a file, `garbage` of one that is
/// none of ours.
std::string read_record(int state, const std::string& name)
{
    const auto folder = folder_of(state, name);
    if (!folder.fd) {
        return folder.error == ENOENT ? std::string() : garbage;
    }
    try {
        auto text = read_small(folder.fd.get(), record_name);
        if (parse(text)) {
            return text;
        }
        const bool exists =
            !text.empty() || ::faccessat(folder.fd.get(), record_name, F_OK, 0) == 0;
        return exists ? garbage : std::string();
    } catch (const std::length_error&) {
        return garbage;
    }
}

/// All uids that say that they are that session's.
std::vector<unsigned> claims_of(int state, const std::string& name)
{
    const UniqueFd folder = open_subdirectory(state, "uids");
    if (!folder) {
        throw_errno("open the folder of uids");
    }
    std::vector<unsigned> uids;
    for (const auto& entry : directory_names(folder.get())) {
        if (const auto uid = parse(entry); uid && read_small(state, claim_path(*uid)) == name) {
            uids.push_back(*uid);
        }
    }
    return uids;
}

/// Whose the uid is; empty where the file says it of nobody, or there is none. A power loss leaves
/// a file that was written just before it with nothing in it, or with zeros.
std::string claimant_of(int state, unsigned uid)
{
    auto text = read_small(state, claim_path(uid));
    return text.find('\0') == std::string::npos ? std::move(text) : std::string();
}

/// Of the session's files, what is being removed of them too; nothing where there are none.
std::optional<unsigned> owner_in(int folder)
{
    for (const char* part : {"home", "home.removed"}) {
        struct stat info{};
        if (::fstatat(folder, part, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode)) {
            return info.st_uid;
        }
    }
    return std::nullopt;
}

/// Whether a session has files of that uid, of whose claim nothing is left. Reads all of them.
bool has_files(int state, unsigned uid)
{
    const UniqueFd sessions = open_subdirectory(state, "sessions");
    if (!sessions) {
        return false;
    }
    return std::ranges::any_of(directory_names(sessions.get()), [&](const std::string& name) {
        const auto folder = open_subdirectory(sessions.get(), name.c_str());
        return folder && owner_in(folder.get()) == uid;
    });
}

/// `part`: "home", or what it is called while it is removed.
bool has(int state, const std::string& name, const char* part)
{
    const auto folder = folder_of(state, name);
    if (folder.fd && ::faccessat(folder.fd.get(), part, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        return true;
    }
    const int error = folder.fd ? errno : folder.error;
    if (error != ENOENT) {
        throw_error(error, name);
    }
    return false;
}

void unlink_there(int state, const std::string& path)
{
    if (::unlinkat(state, path.c_str(), 0) != 0 && errno != ENOENT) {
        throw_errno("remove " + path);
    }
}

void unlink_record(int state, const std::string& name)
{
    if (const auto folder = folder_of(state, name); folder.fd) {
        unlink_there(folder.fd.get(), record_name);
    }
}

enum class Owner : std::uint8_t { older, newer, none };

/// Whose the files are that the uid has.
Owner owner_of_files(int state, const std::string& from, const std::string& to)
{
    for (const char* part : {"home", "home.removed"}) {
        if (has(state, from, part)) {
            return Owner::older;
        }
        if (has(state, to, part)) {
            return Owner::newer;
        }
    }
    return Owner::none; // the home was removed, whosever it was
}

/// Under the lock. What is true of a handover by where the home is. In this order a crash between
/// two steps leaves what this does again; on the disk, since the files' owner is.
void settle_handover(int state, const std::string& from, const std::string& to)
{
    const auto owner = owner_of_files(state, from, to);
    const auto uid = parse(read_record(state, to));
    if (owner == Owner::newer && uid) {
        write_file_atomically(state, claim_path(*uid), to, 0600, /*sync=*/true);
    }
    if (owner == Owner::none && uid) {
        const auto claimed = read_small(state, claim_path(*uid));
        if (claimed == from || claimed == to) {
            unlink_there(state, claim_path(*uid));
        }
    }
    if (owner != Owner::newer) {
        unlink_record(state, to);
    }
    if (owner != Owner::older) {
        unlink_record(state, from);
    }
    unlink_there(state, handover_name);
}

/// Of a process that died.
void settle_handover(int state)
{
    const auto text = read_small(state, handover_name);
    const auto middle = text.find('\n');
    if (middle != std::string::npos && text.ends_with('\n') && text.size() > middle + 1) {
        settle_handover(state, text.substr(0, middle),
                        text.substr(middle + 1, text.size() - middle - 2));
    }
}

/// The exclusive lock, freed with the descriptor. Its file also remembers where the last search
/// ended.
UniqueFd lock_uids(int state, std::chrono::milliseconds patience)
{
    if (::mkdirat(state, "uids", 0700) != 0 && errno != EEXIST) {
        throw_errno("make the folder of uids");
    }
    UniqueFd lock(::openat(state, lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock) {
        throw_errno("open the lock of uids");
    }
    // Held until the claim is written, some milliseconds. Not waited for without end: one that
    // was stopped while it held the lock would stop every other server.
    const Deadline deadline = Deadline::after(patience);
    if (!flock_until(lock.get(), LOCK_EX, deadline)) {
        throw Error(ErrorCode::busy, "another berth holds the lock of the session uids",
                    "look for a berth that was stopped (state T) and end or continue it");
    }
    settle_handover(state);
    return lock;
}

unsigned next_offset(const UniqueFd& lock)
{
    std::string text(hint_size, '\0');
    const ssize_t size = ::pread(lock.get(), text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return parse(text).value_or(0);
}

void set_next_offset(const UniqueFd& lock, unsigned next)
{
    // Only a hint: a wrong one makes a search longer, no more. Always of one length, so that
    // nothing is cut off: ext4 writes a file that was truncated to the disk when it is closed.
    std::string text = std::to_string(next);
    text.insert(text.begin(), hint_size - text.size(), '0');
    if (::pwrite(lock.get(), text.data(), text.size(), 0) < 0) {
        throw_errno("write the lock of uids");
    }
}

} // namespace

UidRange::UidRange(int state, unsigned base, unsigned count, std::chrono::milliseconds patience)
    : state_(state), base_(base), count_(count), patience_(patience)
{
}

bool UidRange::is_taken(unsigned uid) const
{
    const std::string owner = claimant_of(state_, uid);
    if (owner.empty()) {
        const bool emptied =
            ::faccessat(state_, claim_path(uid).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        return emptied && has_files(state_, uid); // else they would be another session's as well
    }
    // A folder whose file is damaged may have files of that uid.
    const auto recorded = read_record(state_, owner);
    if (recorded == garbage || parse(recorded) == uid) {
        return true;
    }
    const auto own = uid_of(owner);
    return own && own->uid == uid;
}

/// Nothing where it has none, or nobody can tell which. Its notes are younger on the disk than its
/// files may be: after a power loss the files say whose they are. None of them can be given to
/// another uid from inside.
std::optional<UidRange::Own> UidRange::uid_of(const std::string& name) const
{
    const auto text = read_record(state_, name);
    const auto recorded = parse(text);
    if (recorded && claimant_of(state_, *recorded) == name) {
        return Own{.uid = *recorded, .is_written = true};
    }
    if (const auto claimed = text == garbage ? claims_of(state_, name) : std::vector<unsigned>();
        claimed.size() == 1) {
        return Own{.uid = claimed.front()}; // and its home's: the damaged file is written anew
    }
    const auto folder = folder_of(state_, name);
    const auto owner = folder.fd ? owner_in(folder.fd.get()) : std::nullopt;
    if (!owner || *owner < base_ || *owner - base_ >= count_) {
        return std::nullopt;
    }
    const auto claimant = claimant_of(state_, *owner);
    return claimant.empty() || claimant == name ? std::optional(Own{.uid = *owner}) : std::nullopt;
}

UidRange::Claim UidRange::choose(const std::string& name) const
{
    Claim claim{.uid = 0, .name = name, .lock = lock_uids(state_, patience_), .state = state_};
    unsigned offset = next_offset(claim.lock);
    if (const auto own = uid_of(name)) {
        claim.uid = own->uid;
        claim.next = offset;
        claim.fresh = false;
        if (own->is_written) {
            claim.lock.reset();
        }
        return claim;
    }
    for (unsigned tried = 0; tried < count_; ++tried, ++offset) {
        const unsigned uid = base_ + offset % count_;
        if (!is_taken(uid)) {
            claim.uid = uid;
            claim.next = offset % count_ + 1;
            return claim;
        }
    }
    throw Error(ErrorCode::sandbox_unavailable,
                "all " + std::to_string(count_) + " host uids for sessions are in use",
                "remove old sessions with 'berth sessions kill KEY --purge'");
}

void UidRange::Claim::write(SpareFolder* spare)
{
    if (!lock) {
        return;
    }
    // In this order: after a crash between the two the claim is stale, and the folder has no uid
    // that another session could have as well.
    try {
        write_note(spare, state, claim_path(uid), name);
        write_note(spare, require_folder_of(state, name).get(), record_name, std::to_string(uid));
    } catch (const std::system_error&) {
        if (fresh) { // else another session could have it, with this one's files
            ::unlinkat(state, claim_path(uid).c_str(), 0);
        }
        throw;
    }
    set_next_offset(lock, next);
    lock.reset();
}

void UidRange::hand_over(const std::string& from, const std::string& to,
                         const std::function<void()>& move) const
{
    const UniqueFd lock = lock_uids(state_, patience_);
    const auto own = uid_of(from);
    if (!own) {
        throw Error(ErrorCode::backend_error,
                    "the host uid of the session's home is not known: sessions/" + from + '/' +
                        record_name,
                    "Its next machine says what is wrong with it; make one, and try again.");
    }
    // First on the disk that there is one: what follows is made whole by where the home is.
    write_file_atomically(state_, handover_name, from + '\n' + to + '\n', 0600, /*sync=*/true);
    try {
        write_file_atomically(require_folder_of(state_, to).get(), record_name,
                              std::to_string(own->uid), 0600, /*sync=*/true);
        move();
    } catch (...) {
        settle_handover(state_, from, to);
        throw;
    }
    settle_handover(state_, from, to);
}

unsigned UidRange::claim(const std::string& name) const
{
    auto claim = choose(name);
    claim.write();
    return claim.uid;
}

void UidRange::release(const std::string& name)
{
    const UniqueFd lock = lock_uids(state_, patience_);
    const auto text = read_record(state_, name);
    if (text.empty()) {
        return;
    }
    const auto recorded = parse(text);
    const bool known = recorded && read_small(state_, claim_path(*recorded)) == name;
    const auto uids = known ? std::vector{*recorded} : claims_of(state_, name);
    unlink_record(state_, name);
    for (const unsigned uid : uids) {
        ::unlinkat(state_, claim_path(uid).c_str(), 0);
    }
}

void UidRange::clear_up(int state) noexcept
{
    try {
        const UniqueFd folder = open_subdirectory(state, "uids");
        if (!folder) {
            return; // no session has ever had one
        }
        const UniqueFd lock = lock_uids(state, std::chrono::seconds(0));
        remove_unfinished(folder.get()); // who writes one has the lock
    } catch (const std::exception&) {
        return; // the next one that clears up tries again
    }
}

} // namespace berth::local
