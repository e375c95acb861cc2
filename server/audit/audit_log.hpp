#pragma once

#include "server/application.hpp"
#include "server/audit/audit_file.hpp"
#include "server/audit/audit_record.hpp"
#include "server/options/options.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

namespace berth::server {

/// A line for each call that has ended, and for what operators have had done. What cannot be
/// written is told in the log, and, once it can again, how much is missing in the file itself: it
/// costs no call its answer, which has been sent before. Thread-safe.
class AuditLog {
  public:
    /// Throws as AuditFile().
    explicit AuditLog(const AuditOptions& options) : command_(options.command), file_(options.path)
    {
    }

    /// For Application.
    void call(const Options& options, const tools::Settings& settings,
              const mcp::CallReport& call) noexcept;

    /// `did`: pause, resume, kill.
    void operation(std::string_view operator_name, std::string_view did, std::string_view session,
                   std::string_view outcome, std::chrono::microseconds duration) noexcept;

  private:
    void write(const AuditRecord& record);
    void tell_of_loss(const std::exception& why) noexcept;
    void add_command(AuditRecord& record, const tools::Settings& settings,
                     const mcp::CallReport& call) const;

    const AuditOptions::Command command_;
    AuditFile file_;
    std::mutex mutex_; ///< guards what follows
    std::uint64_t lost_ = 0;
    std::chrono::steady_clock::time_point told_{};
};

/// Null where none is wanted. Throws as AuditFile().
[[nodiscard]] std::shared_ptr<AuditLog> open_audit_log(const Options& options);

} // namespace berth::server
