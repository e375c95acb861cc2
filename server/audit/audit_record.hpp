#pragma once

#include "tools/secret_mask.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::server {

/// What is written down of one call, of a client that reads resources, or of what an operator has
/// had done. docs/configuration.md
/// ("Audit log") says what is in it, and what is not.
struct AuditRecord {
    /// To which session an operator had something done, and what of it was done.
    struct Operation {
        std::string of;      ///< whose the session is; empty: that is not known
        std::string key;     ///< in the books; empty: there is none
        std::string backend; ///< as he named it; empty: the server's own
        /// Of an end alone, as all that follow: whether the home was to go, and files to be saved.
        std::optional<bool> purge;
        std::optional<bool> save;
        std::optional<bool> purged;         ///< whether it is gone
        std::optional<std::uint64_t> saved; ///< files; nothing: none were to be
    };

    std::chrono::system_clock::time_point began;
    std::chrono::microseconds duration{0};
    std::string request;     ///< its id; empty: none
    std::string traceparent; ///< empty: none
    std::string principal;
    std::string session; ///< empty: an unnamed one
    std::string tool;
    std::optional<Operation> operation;        ///< nothing: it is a call
    std::string uri;                           ///< of a resource that was read; empty: it is none
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

/// The beginning of a command, 400 characters at most, with `***` for each of `values` and
/// `secrets` (those that are long enough to be one, 4 bytes), of the latter also in the forms that
/// results are looked through for (tools::SecretMask), for those that overlap together, and for the
/// password of an address. Nothing: they are too many to look for, so none of it may be shown.
[[nodiscard]] std::optional<std::string>
shown_command(std::string_view command, std::vector<std::string> values,
              const std::vector<tools::Secret>& secrets = {});

} // namespace berth::server
