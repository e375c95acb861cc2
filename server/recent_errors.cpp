#include "server/recent_errors.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/file_lock.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/wall_time.hpp"
#include "sandbox/session/session_lock.hpp"
#include "sandbox/state_directory.hpp"
#include "server/log.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::server {
namespace {

using nlohmann::json;

constexpr const char* present_name = "errors.jsonl";
constexpr const char* previous_name = "errors.1.jsonl";
/// Empty: a name and a time find room on most disks that are full.
constexpr const char* unkept_name = "errors.unkept";
/// Right after a file was put aside fifty of the longest are in that one.
constexpr off_t present_limit = 128L * 1024;
constexpr std::size_t message_limit = 2048;
/// Above any that was written by these rules.
constexpr std::size_t read_limit = 1UL << 20U;

/// Empty when it is not there or is refused: nothing may be written to what is not berth's.
UniqueFd open_directory(const std::string& path)
{
    try {
        return sandbox::find_state_directory(path);
    } catch (const Error&) {
        return {};
    }
}

/// Empty when it is missing. Throws when it is no ordinary file of ours: a FIFO of this name would
/// hold up every call, and a link lead to another file.
UniqueFd open_errors(int directory, const char* name, int flags)
{
    UniqueFd file(
        ::openat(directory, name, flags | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600));
    struct stat status{};
    if (!file && errno == ENOENT) {
        return file;
    }
    const bool special = file ? ::fstat(file.get(), &status) == 0 &&
                                    (!S_ISREG(status.st_mode) || status.st_nlink != 1 ||
                                     status.st_uid != ::geteuid())
                              : errno == ELOOP || errno == ENXIO || errno == EISDIR;
    if (special) {
        throw Error(ErrorCode::backend_error,
                    std::string(name) + " in the state directory is no ordinary file of berth's; "
                                        "remove it");
    }
    if (!file) {
        throw errno_error(errno, std::string("open ") + name);
    }
    return file;
}

std::string to_line(const RecentError& error)
{
    const auto message = utf8::sanitize(error.message);
    const json line{{"time", rfc3339(error.time)},
                    {"code", error.code},
                    {"tool", error.tool},
                    {"session", utf8::sanitize(error.session)},
                    {"message", utf8::prefix_bytes(message, message_limit)}};
    return line.dump() + '\n';
}

/// Nothing for a line that is damaged.
std::optional<RecentError> from_line(std::string_view text)
{
    try {
        const auto line = json::parse(text);
        const auto time = parse_rfc3339(line.at("time").get<std::string>());
        if (!time) {
            return std::nullopt;
        }
        return RecentError{.time = *time,
                           .code = line.at("code").get<std::string>(),
                           .tool = line.at("tool").get<std::string>(),
                           .session = line.at("session").get<std::string>(),
                           .message = line.at("message").get<std::string>()};
    } catch (const json::exception&) {
        return std::nullopt;
    }
}

/// Of one file, oldest first.
void append_errors(int directory, const char* name, std::vector<RecentError>& errors)
{
    const auto file = open_errors(directory, name, O_RDONLY);
    if (!file) {
        return;
    }
    std::string text(read_limit, '\0');
    text.resize(read_full(file.get(), text.data(), text.size()));
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto end = rest.find('\n');
        if (auto error = from_line(rest.substr(0, end))) {
            errors.push_back(std::move(*error));
        }
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
}

/// Of several servers that see a full file at once one moves it away. Another one, late, would move
/// the next file over it, which has but a line, and all that is kept with it.
void move_away(int directory, const UniqueFd& full)
{
    // Who has the lock does it: it is not waited for.
    if (flock_until(full.get(), LOCK_EX, Deadline::after({})) &&
        session::is_named(directory, present_name, full.get())) {
        ::renameat(directory, present_name, directory, previous_name);
    }
}

/// So that nobody takes a list that lacks some for all there were.
void mark_unkept(const std::string& state_directory) noexcept
{
    try {
        if (const auto directory = open_directory(state_directory)) {
            const auto mark = open_errors(directory.get(), unkept_name, O_WRONLY | O_CREAT);
            (void)::futimens(mark.get(), nullptr);
        }
    } catch (const std::exception& failure) { // a disk that was made read-only, by the kernel or so
        log::write(log::Level::warning, "nor is it kept that one was not",
                   {{"error", failure.what()}});
    }
}

} // namespace

void remember_error(const std::string& state_directory, const RecentError& error) noexcept
{
    try {
        const auto directory = open_directory(state_directory);
        if (!directory) {
            return;
        }
        const auto file = open_errors(directory.get(), present_name, O_WRONLY | O_APPEND | O_CREAT);
        // One write(2): the lines of several servers do not mix.
        write_full(file.get(), to_line(error));
        struct stat status{};
        if (::fstat(file.get(), &status) == 0 && status.st_size > present_limit) {
            move_away(directory.get(), file);
        }
    } catch (const std::exception& failure) { // a full disk, no memory: one error less in the list
        log::write(log::Level::warning, "error not kept for `berth status`",
                   {{"error", failure.what()}});
        mark_unkept(state_directory);
    }
}

std::function<void(const std::string& session)>
lost_machines_reporter(const std::string& state_directory)
{
    return [state_directory](const std::string& session) {
        remember_error(state_directory,
                       {.time = std::chrono::system_clock::now(),
                        .code = std::string(to_string(ErrorCode::session_lost)),
                        .tool = {},
                        .session = session,
                        .message = "the sandbox was lost: its machine is gone and nobody ended it; "
                                   "files in the home are kept"});
    };
}

std::function<void(const std::string& session, const std::string& why)>
unsaved_files_reporter(const std::string& state_directory)
{
    return [state_directory](const std::string& session, const std::string& why) {
        remember_error(state_directory,
                       {.time = std::chrono::system_clock::now(),
                        .code = std::string(to_string(ErrorCode::backend_error)),
                        .tool = {},
                        .session = session,
                        .message = "what session.save_on_end names is not saved, and its home is "
                                   "kept until it is: " +
                                   why});
    };
}

std::optional<std::chrono::system_clock::time_point>
unkept_errors(const std::string& state_directory)
{
    const auto directory = open_directory(state_directory);
    struct stat status{};
    if (!directory || ::fstatat(directory.get(), unkept_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode)) {
        return std::nullopt;
    }
    return std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
}

std::vector<RecentError> recent_errors(const std::string& state_directory, std::size_t count,
                                       std::string* trouble)
{
    std::vector<RecentError> errors;
    const auto or_told = [&](const auto& action) {
        try {
            action();
        } catch (const std::exception& failure) {
            if (trouble != nullptr) {
                *trouble = failure.what();
            }
        }
    };
    UniqueFd directory;
    or_told([&] { directory = sandbox::find_state_directory(state_directory); });
    if (directory) {
        for (const char* name : {previous_name, present_name}) {
            or_told([&] { append_errors(directory.get(), name, errors); });
        }
    }
    if (errors.size() > count) {
        errors.erase(errors.begin(), errors.end() - static_cast<std::ptrdiff_t>(count));
    }
    return {errors.rbegin(), errors.rend()};
}

} // namespace berth::server
