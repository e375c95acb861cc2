#pragma once

#include "server/http/operator_books.hpp"
#include "server/http/operator_request.hpp"
#include "server/http/operators.hpp"
#include "server/transport/http_message.hpp"

#include <functional>
#include <string>

namespace berth::server::http {

/// What who runs a server asks of it and has it do, beside MCP (docs/http.md): its sessions and how
/// it is, as `berth sessions` and `berth status` have them with --json. Where no operator is
/// configured none of it is there. Thread-safe.
class OperatorApi {
  public:
    using BooksOf = std::function<Books&(const std::string& backend)>;

    /// As Prometheus reads them.
    using MetricsText = std::function<std::string()>;

    /// `open_metrics`: whoever reaches the server may read those.
    OperatorApi(Operators& operators, BooksOf books, MetricsText metrics, bool open_metrics)
        : operators_(operators), books_(std::move(books)), metrics_(std::move(metrics)),
          open_metrics_(open_metrics)
    {
    }

    /// Whether it is at that path; else it may be anybody's.
    [[nodiscard]] bool serves(std::string_view path) const noexcept
    {
        return is_open(path) || (operators_.are_there() && is_operators_path(path));
    }

    [[nodiscard]] transport::HttpAdmission admit(const transport::HttpHead& head);
    [[nodiscard]] transport::HttpAnswer answer(const transport::HttpRequest& request);

  private:
    [[nodiscard]] bool is_open(std::string_view path) const noexcept
    {
        return open_metrics_ && path == "/metrics";
    }

    [[nodiscard]] transport::HttpAnswer answer_to(const transport::HttpHead& head);
    [[nodiscard]] transport::HttpAnswer perform(const OperatorRequest& request);

    Operators& operators_;
    BooksOf books_;
    MetricsText metrics_;
    bool open_metrics_;
};

} // namespace berth::server::http
