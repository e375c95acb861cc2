#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace berth::server {

/// A failure of the sandbox or of berth itself; not of what an agent asked for.
struct RecentError {
    std::chrono::system_clock::time_point time;
    std::string code;
    std::string tool;
    std::string session;
    std::string message;
};

/// Appends to errors.jsonl of the state directory, which all its servers share and which holds at
/// most some 128 KiB of the latest, with its predecessor errors.1.jsonl. Where there is no state
/// directory yet, or it is refused or cannot be written, nothing is kept: telling the caller comes
/// first. That one could not be written is noted where that can be (see unkept_errors()).
void remember_error(const std::string& state_directory, const RecentError& error) noexcept;

/// For session::Settings::on_lost: what it is told of is remembered.
[[nodiscard]] std::function<void(const std::string& session)>
lost_machines_reporter(const std::string& state_directory);

/// For session::Settings::on_unsaved: the same.
[[nodiscard]] std::function<void(const std::string& session, const std::string& why)>
unsaved_files_reporter(const std::string& state_directory);

/// When one could not be kept, the last time; nothing where that was never so, or is not known.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point>
unkept_errors(const std::string& state_directory);

/// The latest `count`, newest first. What cannot be read is left out, and `trouble` says why.
[[nodiscard]] std::vector<RecentError> recent_errors(const std::string& state_directory,
                                                     std::size_t count,
                                                     std::string* trouble = nullptr);

} // namespace berth::server
