#pragma once

#include "server/audit/audit_log.hpp"
#include "server/cli/outcome.hpp"
#include "server/http/operator_books.hpp"
#include "server/http/operator_request.hpp"
#include "server/http/operators.hpp"
#include "server/transport/http_message.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace berth::server::http {

/// What who runs a server asks of it and has it do, beside MCP (docs/http.md): its sessions and how
/// it is, as `berth sessions` and `berth status` have them with --json, and its metrics. Where no
/// operator is configured none of it is there, but for metrics that are open to all. Thread-safe.
class OperatorApi {
  public:
    struct Parts {
        Operators& operators;
        std::function<Books&(const std::string& backend)> books;
        std::function<std::string()> metrics; ///< as Prometheus reads them
        bool open_metrics = false;            ///< whoever reaches the server may read those
        std::shared_ptr<AuditLog> audit{};    ///< null: there is none
    };

    explicit OperatorApi(Parts parts) : parts_(std::move(parts)) {}

    /// Whether it is at that path; else it may be anybody's.
    [[nodiscard]] bool serves(std::string_view path) const noexcept
    {
        return is_open(path) || (parts_.operators.are_there() && is_operators_path(path));
    }

    [[nodiscard]] transport::HttpAdmission admit(const transport::HttpHead& head);
    [[nodiscard]] transport::HttpAnswer answer(const transport::HttpRequest& request);

  private:
    [[nodiscard]] bool is_open(std::string_view path) const noexcept
    {
        return parts_.open_metrics && path == "/metrics";
    }

    [[nodiscard]] transport::HttpAnswer answer_to(const transport::HttpHead& head,
                                                  const Caller* who);
    /// `whose` gets which session it was, where the request changes one.
    [[nodiscard]] cli::Outcome outcome_of(const OperatorRequest& request,
                                          AuditRecord::Operation& whose);
    void tell(const Caller& who, const OperatorRequest& request, AuditRecord::Operation whose,
              const cli::Outcome& outcome, std::chrono::nanoseconds duration);

    Parts parts_;
};

} // namespace berth::server::http
