#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::server {

/// What is written down of one call, or of what an operator has had done. docs/http.md says what is
/// in it, and what is not.
struct AuditRecord {
    std::chrono::system_clock::time_point began;
    std::chrono::microseconds duration{0};
    std::string request;     ///< its id; empty: none
    std::string traceparent; ///< empty: none
    std::string principal;
    std::string session; ///< empty: an unnamed one
    std::string tool;
    std::optional<std::string> command;        ///< as it may be shown; nothing: there is none
    std::optional<std::string> command_sha256; ///< in its place
    std::optional<std::size_t> command_bytes;
    std::vector<std::string> variables; ///< names of the environment
    std::string outcome;                ///< ok, or the code of an error
    std::optional<int> exit_code;
    std::string fate; ///< of a command; empty: none
};

/// One line of JSON, without its end.
[[nodiscard]] std::string audit_line(const AuditRecord& record);

/// The beginning of a command, 400 characters at most, with `***` for each of `secrets` (those that
/// are long enough to be one, 4 bytes) and for the password of an address.
[[nodiscard]] std::string shown_command(std::string_view command, std::vector<std::string> secrets);

} // namespace berth::server
