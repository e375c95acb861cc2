#include "sandbox/base/error.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <utility>

namespace berth {
namespace {

constexpr std::array names = {
    "invalid_argument",  "empty_command",
    "invalid_path",      "not_found",
    "is_directory",      "not_a_file",
    "permission_denied", "text_not_found",
    "ambiguous_match",   "conflict",
    "too_large",         "no_space",
    "quota_exceeded",    "busy",
    "cancelled",         "sandbox_unavailable",
    "session_lost",      "authentication_required",
    "backend_error",     "unsupported",
    "internal",
};
static_assert(names.size() == static_cast<std::size_t>(ErrorCode::internal) + 1);

ErrorCode code_for(int error) noexcept
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return ErrorCode::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
    case ETXTBSY:
        return ErrorCode::permission_denied;
    case ENOSPC:
        return ErrorCode::no_space;
    case EDQUOT:
        return ErrorCode::quota_exceeded;
    case EISDIR:
        return ErrorCode::is_directory;
    case ELOOP:
    case ENAMETOOLONG:
    case EXDEV:
        return ErrorCode::invalid_path;
    case EFBIG:
        return ErrorCode::too_large;
    default:
        return ErrorCode::internal;
    }
}

/// What to do about an error that means the same whatever was tried; else empty.
std::string_view hint_for(int error) noexcept
{
    switch (error) {
    case EIO:
        return "The disk or the file system reports a fault: the kernel's log of the host has it.";
    case EMFILE:
    case ENFILE:
        return "Too many files are open at once: wait for other calls to end, then try again.";
    case ENOMEM:
        return "End what needs much memory, then try again.";
    case ESTALE:
        return "It changed meanwhile: try again.";
    case EBUSY:
        return "Something uses it: wait for that to end, or stop it.";
    case ETXTBSY:
        return "It is a program that runs: stop it, or write beside it and move that there.";
    case EFBIG:
        return "It would be larger than a file may be: write several.";
    default:
        return {};
    }
}

} // namespace

std::string_view to_string(ErrorCode code) noexcept
{
    return names.at(static_cast<std::size_t>(code));
}

std::optional<ErrorCode> error_code_from(std::string_view name) noexcept
{
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (name == names.at(i)) {
            return static_cast<ErrorCode>(i);
        }
    }
    return std::nullopt;
}

Error::Error(ErrorCode code, const std::string& message, std::string hint)
    : std::runtime_error(message), code_(code), hint_(std::move(hint)),
      retryable_(code == ErrorCode::busy || code == ErrorCode::conflict)
{
}

Error& Error::with_detail(std::string key, std::string value)
{
    details_.insert_or_assign(std::move(key), std::move(value));
    return *this;
}

Error& Error::with_details_of(const Error& other)
{
    for (const auto& [key, value] : other.details_) {
        with_detail(key, value);
    }
    return *this;
}

Error& Error::with_output(std::string output)
{
    output_ = std::move(output);
    return *this;
}

Error& Error::set_retryable(bool retryable) noexcept
{
    retryable_ = retryable;
    return *this;
}

Error errno_error(int error, const std::string& what, std::string hint)
{
    if (hint.empty()) {
        hint = hint_for(error);
    }
    return {code_for(error), what + ": " + std::generic_category().message(error), std::move(hint)};
}

void throw_errno(const std::string& what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

} // namespace berth
