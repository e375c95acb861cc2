#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace berth {

/// The error words that a caller of berth can meet, the same on every backend and transport.
/// They travel by name (guest frames, `_meta["berth/error"]`), so the order may change, the
/// names may not.
enum class ErrorCode : unsigned char {
    invalid_argument,
    empty_command,
    invalid_path,
    not_found,
    is_directory,
    not_a_file,
    permission_denied,
    text_not_found,
    ambiguous_match,
    conflict,
    too_large,
    no_space,
    quota_exceeded,
    busy,
    cancelled,
    sandbox_unavailable,
    session_lost,
    authentication_required,
    backend_error,
    unsupported,
    internal,
};

[[nodiscard]] std::string_view to_string(ErrorCode code) noexcept;
[[nodiscard]] std::optional<ErrorCode> error_code_from(std::string_view name) noexcept;

/// A failure that somebody is told about: what went wrong (`what()`), and what to do (`hint`).
/// Ordinary outcomes (a non-zero exit, a timeout, no match) are values, never an Error.
class Error : public std::runtime_error {
  public:
    Error(ErrorCode code, const std::string& message, std::string hint = {});

    [[nodiscard]] ErrorCode code() const noexcept { return code_; }

    [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

    /// Whether the same call may succeed later without being changed.
    [[nodiscard]] bool retryable() const noexcept { return retryable_; }

    /// Facts for programs, as text; the keys, and what they become for them: schemas/error.json.
    [[nodiscard]] const std::map<std::string, std::string>& details() const noexcept
    {
        return details_;
    }

    /// The last that a command printed which failed, in lines; empty: it is about none, or that
    /// printed nothing. For whoever made the call alone: a secret may be in it, so neither a log
    /// nor a book has it.
    [[nodiscard]] const std::string& output() const noexcept { return output_; }

    Error& with_detail(std::string key, std::string value);
    /// For the same failure in other words.
    Error& with_details_of(const Error& other);
    Error& with_output(std::string output);
    Error& set_retryable(bool retryable) noexcept;

  private:
    ErrorCode code_;
    std::string hint_;
    bool retryable_;
    std::map<std::string, std::string> details_;
    std::string output_;
};

/// An Error from errno: ENOENT becomes not_found, EACCES/EPERM permission_denied, ENOSPC no_space,
/// EDQUOT quota_exceeded, EISDIR is_directory, ELOOP/ENAMETOOLONG/EXDEV invalid_path, anything
/// else internal. `what`: the operation and its object, "open /a". No hint: that of errno, if any.
[[nodiscard]] Error errno_error(int error, const std::string& what, std::string hint = {});

/// Throws std::system_error for the present errno; for faults of the system, not of the caller.
[[noreturn]] void throw_errno(const std::string& what);

} // namespace berth
