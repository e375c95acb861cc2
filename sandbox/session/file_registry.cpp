#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/host_time.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/session/machine_marks.hpp"
#include "sandbox/session/record_codec.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/session_folders.hpp"
#include "sandbox/session/session_lock.hpp"
#include "sandbox/state_directory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::session {
namespace {

constexpr std::size_t max_record = 1UL << 20U;
constexpr std::size_t max_use = 256;

// What is in a session's folder beside what the backend keeps there.
constexpr const char* record_name = file_record_name;
constexpr const char* token_name = "token";
constexpr const char* use_name = "used";
constexpr const char* lock_name = "lock";
constexpr const char* claim_name = "server";

constexpr std::chrono::seconds abandoned_after{60};

class FileHold : public Registry::Hold {
  public:
    FileHold(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

    [[nodiscard]] bool holds() const noexcept override
    {
        return is_named(AT_FDCWD, path_, fd_.get());
    }

    [[nodiscard]] int descriptor() const noexcept override { return fd_.get(); }

  private:
    std::string path_;
    UniqueFd fd_;
};

bool is_folder(int folder, const char* name)
{
    struct stat status{};
    return ::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

/// Also a folder with all that is in it, where somebody has put one. `path`: that of `folder`.
void remove_entry(int folder, const std::string& path, const std::string& name)
{
    if (::unlinkat(folder, name.c_str(), 0) != 0 && errno == EISDIR) {
        std::error_code ignored;
        std::filesystem::remove_all(std::filesystem::path(path) / name, ignored);
    }
}

/// When the session's folder was made; nothing where the file system does not note it.
std::optional<std::chrono::system_clock::time_point> birth_of(int folder)
{
    struct statx status{};
    if (::statx(folder, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0 ||
        (status.stx_mask & STATX_BTIME) == 0) {
        return std::nullopt;
    }
    return std::chrono::system_clock::from_time_t(status.stx_btime.tv_sec);
}

/// Whether that error of reading a file will stay until somebody puts a proper file there.
bool is_damage(const std::system_error& error)
{
    const int number = error.code().value();
    return number == ENOENT || number == ELOOP || number == EISDIR || number == ENXIO;
}

class FileRegistry : public Registry {
  public:
    FileRegistry(std::string state_directory, bool bound)
        : state_directory_(std::move(state_directory)), folders_(state_directory_), bound_(bound)
    {
    }

    std::unique_ptr<Hold> lock(const std::string& key, const Deadline& deadline) override
    {
        UniqueFd fd = lock_file([&] { return folders_.make(key); }, lock_name, deadline);
        if (!fd) {
            throw Error(ErrorCode::busy, "the session is being made or ended by another server",
                        "try again in a few seconds");
        }
        return std::make_unique<FileHold>(path(key) + "/" + lock_name, std::move(fd));
    }

    std::unique_ptr<Hold> claim(const std::string& key) override
    {
        UniqueFd fd =
            lock_file([&] { return folders_.make(key); }, claim_name, Deadline::after({}));
        return fd ? std::make_unique<FileHold>(path(key) + "/" + claim_name, std::move(fd))
                  : nullptr;
    }

    std::optional<Record> find(const std::string& key) override
    {
        // Read without a lock: when the record was replaced or deleted meanwhile, what was read of
        // it and of its token may not belong together, and is read again.
        constexpr int rounds = 1000;
        for (int round = 0; round < rounds; ++round) {
            const UniqueFd folder = folders_.open(key);
            if (!folder) {
                return std::nullopt;
            }
            const UniqueFd file(::openat(folder.get(), record_name,
                                         O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
            if (!file) {
                if (errno == ENOENT) {
                    return std::nullopt;
                }
                const std::system_error error(errno, std::generic_category());
                refuse_unread(key, error);
            }
            try {
                Record record = read_record(file.get(), folder.get());
                if (is_named(folder.get(), record_name, file.get())) {
                    return record;
                }
            } catch (const std::bad_alloc&) {
                throw;
            } catch (const std::exception& error) {
                if (is_named(folder.get(), record_name, file.get()) || round == rounds - 1) {
                    refuse_unread(key, error);
                }
            }
        }
        throw Error(ErrorCode::busy, "the session's record changes too often to be read",
                    "try again in a few seconds");
    }

    void put(const std::string& key, const Record& record) override
    {
        const UniqueFd state = sandbox::open_state_directory(state_directory_);
        const UniqueFd folder = folders_.make(state.get(), key);
        const auto last_used = std::max(record.last_used, noted_use(folder.get()));
        for (const char* name : {record_name, token_name, use_name}) {
            if (is_folder(folder.get(), name)) { // no file can be renamed over it
                remove_entry(folder.get(), path(key), name);
            }
        }
        // Of the token, which is the guest's secret, at once.
        remove_unfinished(folder.get(), {record_name, token_name});
        try {
            if (!has_no_machine(record)) {
                set_mark(state.get(), key, record.id.principal);
            }
            // Of one that runs here not flushed, while somebody waits: after a power loss no
            // machine lives, and an empty record says so; one elsewhere does, and nothing else
            // leads to it. Whose a home is, how long it is kept and what is to be told and saved
            // nobody else knows; XFS flushes nothing at a rename.
            write_file_atomically(folder.get(), token_name, record.token, 0600, /*sync=*/!bound_);
            write_file_atomically(folder.get(), record_name, encode(record), 0600,
                                  /*sync=*/!bound_ || has_no_machine(record));
        } catch (const std::system_error& error) {
            throw sandbox::write_error(
                error.code().value(), "the session's record cannot be written",
                "write the session's record in " + path(key), SessionFolders::hint());
        }
        if (has_no_machine(record)) {
            clear_mark(state.get(), key);
        }
        // To write about a session is no use of it.
        if (record.used && !is_noted(folder.get(), *record.used)) {
            note(folder.get(), *record.used);
        }
        set_last_use(key, &last_used);
    }

    void erase(const std::string& key) override
    {
        const UniqueFd state = sandbox::find_state_directory(state_directory_);
        const UniqueFd folder = folders_.open(key);
        if (!folder) {
            return;
        }
        // The record first: without it there is no session, whatever is left. The lock last: who
        // waits for it writes files of its own here as soon as it is gone.
        remove_entry(folder.get(), path(key), record_name);
        if (::faccessat(folder.get(), record_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
            throw Error(ErrorCode::backend_error,
                        "the session's record cannot be removed: " + path(key) + '/' + record_name,
                        "The file system there is at fault, or read-only: then try again.");
        }
        for (const char* name : {token_name, use_name}) {
            remove_entry(folder.get(), path(key), name);
        }
        clear_mark(state.get(), key);
        for (const auto& name : directory_names(folder.get())) {
            if (is_unfinished(name)) {
                remove_entry(folder.get(), path(key), name);
            }
        }
        for (const char* name : {file_teller_name, claim_name, lock_name}) {
            remove_entry(folder.get(), path(key), name);
        }
        // Fails while the backend keeps a home there; then the folder stays for it.
        ::rmdir(path(key).c_str());
    }

    /// Not of a state directory that was moved away: its records went with it.
    bool was_erased(const std::string& /*key*/) override
    {
        return ::access((state_directory_ + "/sessions").c_str(), F_OK) == 0;
    }

    void touch(const std::string& key) noexcept override
    {
        set_last_use(key, nullptr);
        try {
            const UniqueFd folder = folders_.open(key);
            if (folder && ::faccessat(folder.get(), record_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
                note(folder.get(), HostTime::now());
            }
        } catch (const std::exception&) {
            return; // one note less
        }
    }

    std::vector<std::string> keys() override
    {
        return folders_.keys(
            [](int sessions, const std::string& name) { return has_record(sessions, name); });
    }

    std::vector<std::string> may_have_machine() override
    {
        const UniqueFd state = sandbox::find_state_directory(state_directory_);
        if (!state) {
            return {};
        }
        auto marked = marked_keys(state.get());
        return marked ? std::move(*marked) : mark_all(state.get());
    }

    std::vector<std::string> may_be_of(const std::string& principal,
                                       const std::vector<std::string>& keys) override
    {
        const UniqueFd state = sandbox::find_state_directory(state_directory_);
        return state ? marked_as_of(state.get(), principal, keys) : keys;
    }

    std::vector<std::string> abandoned() override
    {
        const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
        return folders_.keys([&](int sessions, const std::string& name) {
            struct stat status{};
            return !has_record(sessions, name) &&
                   ::fstatat(sessions, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                   now - status.st_mtim.tv_sec > abandoned_after.count();
        });
    }

  private:
    [[nodiscard]] std::string path(const std::string& key) const { return folders_.path(key); }

    /// Of the record that is there: another server may have noted a use since this one was read.
    static std::chrono::system_clock::time_point noted_use(int folder)
    {
        struct stat status{};
        return std::chrono::system_clock::from_time_t(
            ::fstatat(folder, record_name, &status, AT_SYMLINK_NOFOLLOW) == 0
                ? status.st_mtim.tv_sec
                : 0);
    }

    /// The time of last use by the clock that nobody sets, in a file of its own: it is noted
    /// without the lock.
    static void note(int folder, const HostTime& use) noexcept
    {
        try {
            write_file_atomically(folder, use_name, to_text(use), 0600, false);
        } catch (const std::exception&) {
            return; // one note less
        }
    }

    static std::optional<HostTime> noted_host_time(int folder) noexcept
    {
        try {
            return host_time_from(read_file_limited(folder, use_name, max_use));
        } catch (const std::exception&) {
            return std::nullopt; // of an earlier release; or it is damaged, and decides nothing
        }
    }

    /// Whether that use, or a later one, is noted already.
    static bool is_noted(int folder, const HostTime& use)
    {
        const auto noted = noted_host_time(folder);
        return noted && noted->boot == use.boot && noted->up >= use.up;
    }

    /// The record's own time is the time of last use, for people: no content changes, so several
    /// servers can note it at once without a lock. Without a time: now.
    void set_last_use(const std::string& key,
                      const std::chrono::system_clock::time_point* time) const noexcept
    {
        std::array<timespec, 2> times{};
        if (time != nullptr) {
            times.fill({.tv_sec = std::chrono::system_clock::to_time_t(*time), .tv_nsec = 0});
        }
        try {
            ::utimensat(AT_FDCWD, (path(key) + "/" + record_name).c_str(),
                        time == nullptr ? nullptr : times.data(), AT_SYMLINK_NOFOLLOW);
        } catch (const std::exception&) {
            return; // one note less
        }
    }

    [[nodiscard]] static bool has_record(int sessions, const std::string& name)
    {
        struct stat status{};
        return ::fstatat(sessions, (name + "/" + record_name).c_str(), &status,
                         AT_SYMLINK_NOFOLLOW) == 0;
    }

    /// Once for a state directory that an earlier release has made. Meanwhile a machine may end,
    /// whose mark is then one too many.
    [[nodiscard]] std::vector<std::string> mark_all(int state)
    {
        auto all = keys();
        try {
            for (const auto& key : all) {
                mark(state, key);
            }
            marks_are_complete(state);
            return marked_keys(state).value_or(all);
        } catch (const std::exception&) {
            return all; // a record cannot be read now, or no mark be written: the next one tries
        }
    }

    void mark(int state, const std::string& key)
    {
        try {
            if (const auto record = find(key); record && !has_no_machine(*record)) {
                set_mark(state, key, record->id.principal);
            }
        } catch (const DamagedRecord&) {
            return; // nobody knows of a machine
        }
    }

    [[nodiscard]] static Record read_record(int file, int folder)
    {
        struct stat status{};
        if (::fstat(file, &status) != 0) {
            throw_errno("look at it");
        }
        if (!S_ISREG(status.st_mode)) {
            throw std::runtime_error("it is damaged: no file");
        }
        Record record;
        const auto last_used = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
        if (static_cast<std::size_t>(status.st_size) > max_record) {
            throw std::length_error("it is too large");
        }
        std::string text(static_cast<std::size_t>(status.st_size), '\0');
        text.resize(read_full(file, text.data(), text.size()));
        if (text.find_first_not_of('\0') == std::string::npos) { // its size may have come there
            record.last_used = last_used;
            record.created = std::min(birth_of(folder).value_or(last_used), last_used);
            record.state = State::lost;
            record.why = "the host lost power before its record reached the disk";
            return record;
        }
        record = decode_record(text);
        record.token = read_file_limited(folder, token_name, max_record);
        record.last_used = last_used;
        record.used = noted_host_time(folder);
        return record;
    }

    [[noreturn]] void refuse_unread(const std::string& key, const std::exception& why) const
    {
        const std::string place = "the session's record " + path(key) + "/" + record_name;
        const auto* failed = dynamic_cast<const std::system_error*>(&why);
        if (failed != nullptr && !is_damage(*failed)) {
            const int error = failed->code().value();
            throw Error(sandbox::access_error(error, "read " + place,
                                              std::string("Try again in a few seconds. ") +
                                                  SessionFolders::hint())
                            .set_retryable(error != EIO));
        }
        throw DamagedRecord(ErrorCode::backend_error, place + " cannot be used: " + why.what(),
                            "end the session with `berth sessions kill " + key +
                                "`: the files in its home are kept, and with --purge deleted");
    }

    std::string state_directory_;
    SessionFolders folders_;
    const bool bound_;
};

} // namespace

std::unique_ptr<Registry> make_file_registry(const std::string& state_directory, bool bound)
{
    return std::make_unique<FileRegistry>(state_directory, bound);
}

} // namespace berth::session
