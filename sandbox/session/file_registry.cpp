#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/session/record_codec.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/session_lock.hpp"
#include "sandbox/session/state_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::session {
namespace {

constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
constexpr std::size_t max_record = 1UL << 20U;
constexpr std::size_t key_size = 64;

// What is in a session's folder beside what the backend keeps there.
constexpr const char* record_name = "record.json";
constexpr const char* token_name = "token";
constexpr const char* lock_name = "lock";
constexpr const char* claim_name = "server";

class FileHold : public Registry::Hold {
  public:
    explicit FileHold(UniqueFd fd) : fd_(std::move(fd)) {}

  private:
    UniqueFd fd_;
};

class FileRegistry : public Registry {
  public:
    explicit FileRegistry(std::string state_directory)
        : state_directory_(std::move(state_directory)), sessions_(state_directory_ + "/sessions")
    {
    }

    std::unique_ptr<Hold> lock(const std::string& key, const Deadline& deadline) override
    {
        UniqueFd fd = lock_file([&] { return make_folder(key); }, lock_name, deadline);
        if (!fd) {
            throw Error(ErrorCode::busy, "the session is being made or ended by another server",
                        "try again in a few seconds");
        }
        return std::make_unique<FileHold>(std::move(fd));
    }

    std::unique_ptr<Hold> claim(const std::string& key) override
    {
        UniqueFd fd = lock_file([&] { return make_folder(key); }, claim_name, Deadline::after({}));
        return fd ? std::make_unique<FileHold>(std::move(fd)) : nullptr;
    }

    std::optional<Record> find(const std::string& key) override
    {
        const UniqueFd folder = open_folder(key);
        if (!folder) {
            return std::nullopt;
        }
        struct stat status{};
        if (::fstatat(folder.get(), record_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
            return std::nullopt;
        }
        Record record = read_record(folder.get(), key);
        record.last_used = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
        return record;
    }

    void put(const std::string& key, const Record& record) override
    {
        const UniqueFd folder = make_folder(key);
        try {
            // Not flushed: after a power loss no machine lives, and an empty record says so.
            write_file_atomically(folder.get(), token_name, record.token, 0600, false);
            write_file_atomically(folder.get(), record_name, encode(record), 0600, false);
        } catch (const std::system_error& error) {
            throw errno_error(error.code().value(), "write the session's record in " + path(key));
        }
    }

    void erase(const std::string& key) override
    {
        const UniqueFd folder = open_folder(key);
        if (!folder) {
            return;
        }
        // The record first: without it there is no session, whatever is left.
        for (const char* name : {record_name, token_name, claim_name, lock_name}) {
            ::unlinkat(folder.get(), name, 0);
        }
        // Fails while the backend keeps a home there; then the folder stays for it.
        ::rmdir(path(key).c_str());
    }

    void touch(const std::string& key) noexcept override
    {
        // The record's own time is the time of last use: no content changes, so several servers
        // can do this at once without a lock.
        try {
            ::utimensat(AT_FDCWD, (path(key) + "/" + record_name).c_str(), nullptr,
                        AT_SYMLINK_NOFOLLOW);
        } catch (const std::bad_alloc&) {
            return; // one touch less
        }
    }

    std::vector<std::string> keys() override
    {
        const UniqueFd sessions(::open(sessions_.c_str(), directory_flags));
        if (!sessions) {
            return {};
        }
        std::vector<std::string> found;
        for (auto& name : directory_names(sessions.get())) {
            if (name.size() == key_size &&
                ::faccessat(sessions.get(), (name + "/" + record_name).c_str(), F_OK, 0) == 0) {
                found.push_back(std::move(name));
            }
        }
        std::sort(found.begin(), found.end());
        return found;
    }

  private:
    [[nodiscard]] std::string path(const std::string& key) const { return sessions_ + "/" + key; }

    [[nodiscard]] UniqueFd open_folder(const std::string& key) const
    {
        UniqueFd folder(::open(path(key).c_str(), directory_flags));
        if (!folder && errno != ENOENT) {
            throw errno_error(errno, "open the session's folder " + path(key));
        }
        return folder;
    }

    [[nodiscard]] UniqueFd make_folder(const std::string& key) const
    {
        UniqueFd folder = open_folder(key);
        if (folder) {
            return folder;
        }
        const UniqueFd state = open_state_directory(state_directory_);
        const UniqueFd sessions = open_or_make_subdirectory(state.get(), "sessions");
        if (sessions) {
            folder = open_or_make_subdirectory(sessions.get(), key);
        }
        if (!folder) {
            throw errno_error(errno, "make the session's folder " + path(key));
        }
        return folder;
    }

    [[nodiscard]] Record read_record(int folder, const std::string& key) const
    {
        try {
            const std::string text = read_file_limited(folder, record_name, max_record);
            if (text.empty()) {
                Record lost;
                lost.state = State::lost;
                lost.why = "the host lost power before its record reached the disk";
                return lost;
            }
            Record record = decode_record(text);
            record.token = read_file_limited(folder, token_name, max_record);
            return record;
        } catch (const std::exception& error) {
            throw Error(ErrorCode::backend_error,
                        "the session's record " + path(key) + "/" + record_name +
                            " cannot be used: " + error.what(),
                        "end the session with `berth sessions kill KEY`, or delete that file; the "
                        "files in its home are kept");
        }
    }

    std::string state_directory_;
    std::string sessions_;
};

} // namespace

std::unique_ptr<Registry> make_file_registry(const std::string& state_directory)
{
    return std::make_unique<FileRegistry>(state_directory);
}

} // namespace berth::session
