#pragma once

#include "server/application.hpp"
#include "server/audit/audit_file.hpp"
#include "server/audit/audit_record.hpp"
#include "server/options/options.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

namespace berth::server {

/// A line for each call that has ended, for each other request that reads of the workspace, and for
/// what operators have had done. What cannot be
/// written is told in the log, and, once it can again, how much is missing in the file itself: it
/// costs no call its answer, which has been sent before. Each call that has begun has a line, or is
/// counted as missing, but where the server is killed. Thread-safe.
class AuditLog {
  public:
    /// Throws as AuditFile().
    explicit AuditLog(const AuditOptions& options) : command_(options.command), file_(options.path)
    {
    }

    /// For Application (Observers); this must outlive what they give.
    [[nodiscard]] mcp::CallEnd begin(const Options& options, SettingsNow settings,
                                     const tools::Entry& tool);
    [[nodiscard]] mcp::ReadEnd begin_read(const Options& options);

    /// `did`: pause, resume, kill; `session`: as the operator calls it.
    void operation(std::string_view operator_name, std::string_view did, std::string_view session,
                   AuditRecord::Operation what, std::string_view outcome,
                   std::chrono::microseconds duration) noexcept;

    /// At the end of the server: waits a moment for calls that are just ending, then writes how
    /// many lines are missing, if any are, and nothing more.
    void close() noexcept;

  private:
    struct Beginning;

    void call(const Options& options, const Beginning& beginning,
              const mcp::CallReport& call) noexcept;
    void read(const Options& options, const mcp::ReadReport& report) noexcept;
    void write(const AuditRecord& record);
    void write_gap();
    void tell_of_loss(const std::exception& why) noexcept;
    void add_command(AuditRecord& record, const Options& options, const Beginning& beginning,
                     const mcp::CallReport& call) const;

    const AuditOptions::Command command_;
    AuditFile file_;
    /// Begun, and neither written nor counted as lost yet. Made less with mutex_ held alone, so
    /// that who holds it sees each call once.
    std::atomic<std::uint64_t> at_work_{0};
    std::mutex mutex_; ///< guards what follows
    bool closed_ = false;
    std::uint64_t lost_ = 0;
    std::chrono::steady_clock::time_point told_{};
};

/// Null where none is wanted. Throws as AuditFile().
[[nodiscard]] std::shared_ptr<AuditLog> open_audit_log(const Options& options);

/// Closes it at the end of the process, as far as its disk takes no longer than a moment. `audit`:
/// may be null.
void close_audit_log(const std::shared_ptr<AuditLog>& audit);

} // namespace berth::server
