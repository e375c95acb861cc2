#include "server/http/operator_api.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/request_scope.hpp"
#include "server/cli/end_session.hpp"
#include "server/cli/reports.hpp"
#include "server/cli/sessions.hpp"
#include "server/cli/status.hpp"
#include "server/http/metric_text.hpp"
#include "server/http/trace_header.hpp"
#include "server/log.hpp"
#include "server/mcp/error_details.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

namespace berth::server::http {
namespace {

using nlohmann::json;
using transport::HttpAnswer;
using What = OperatorRequest::What;

constexpr int good = 200;
constexpr int conflict = 409;
constexpr int unavailable = 503;

HttpAnswer json_answer(int status, const json& data)
{
    return {.status = status,
            .fields = {{"Cache-Control", "no-store"}},
            .type = "application/json",
            .body = data.dump(2, ' ', false, json::error_handler_t::replace) + '\n'};
}

/// In the form in which a command with --json says why it failed.
HttpAnswer refusal(int status, ErrorCode code, const std::string& reason, const std::string& remedy)
{
    return json_answer(status, cli::refusal_data(to_string(code), reason, remedy, 0));
}

constexpr std::array statuses{
    std::pair{ErrorCode::invalid_argument, 400},
    std::pair{ErrorCode::not_found, 404},
    std::pair{ErrorCode::busy, conflict},
    std::pair{ErrorCode::conflict, conflict},
    std::pair{ErrorCode::unsupported, conflict},
    std::pair{ErrorCode::sandbox_unavailable, unavailable},
    std::pair{ErrorCode::session_lost, unavailable},
    std::pair{ErrorCode::backend_error, unavailable},
};

int status_of(ErrorCode code)
{
    const auto* const found = std::ranges::find(statuses, code, &std::pair<ErrorCode, int>::first);
    return found == statuses.end() ? 500 : found->second;
}

/// What may be otherwise in a moment: by the header as by the body, where that says when.
void tell_when_to_retry(HttpAnswer& answer, const cli::Outcome& outcome)
{
    if (*outcome.failure == ErrorCode::busy || answer.status == unavailable) {
        const auto seconds = outcome.data->value("retry_after", mcp::usual_retry);
        answer.fields.emplace_back("Retry-After", std::to_string(seconds));
    }
}

HttpAnswer answer_of(const cli::Outcome& outcome)
{
    auto answer = json_answer(outcome.failure ? status_of(*outcome.failure) : good, *outcome.data);
    if (outcome.failure) {
        tell_when_to_retry(answer, outcome);
    }
    return answer;
}

/// A machine that has ended is what was asked for, also where its files wait to be saved; a home
/// that was to go and is there is not.
cli::Outcome end_of(cli::Outcome outcome, bool purge)
{
    if (outcome.failure && outcome.data->value("killed", false)) {
        outcome.failure = purge ? std::optional(ErrorCode::conflict) : std::nullopt;
    }
    return outcome;
}

cli::Asked asked_for(const OperatorRequest& request, const Options& options)
{
    // Without a principal it is no name: one that a caller makes up could be another's key.
    const bool by_name = !request.principal.empty();
    return {by_name ? options.keys.apply(request.principal, request.key) : session::SessionId{},
            request.key, by_name, /*over_http=*/true};
}

cli::Outcome perform(const OperatorRequest& request, Books& books)
{
    auto& sessions = books.sessions;
    if (request.what == What::list) {
        return cli::list_sessions(sessions);
    }
    if (request.what == What::status) {
        auto status = cli::show_status(sessions, books.options);
        status.failure.reset(); // an answer, however it is
        return status;
    }
    const auto asked = asked_for(request, books.options);
    switch (request.what) {
    case What::pause:
        return cli::pause_session(sessions, asked);
    case What::resume:
        return cli::resume_session(sessions, asked);
    case What::end:
        return end_of(
            cli::kill_session(sessions, asked, request.purge,
                              request.save ? session::AtEnd::save : session::AtEnd::give_up),
            request.purge);
    case What::show:
    case What::list:
    case What::status:
    case What::metrics:
        break;
    }
    return cli::show_session(sessions, asked);
}

/// Before it is done: of a home that is gone the books know nothing.
void identify(AuditRecord::Operation& whose, const OperatorRequest& request, Books& books)
{
    const auto asked = asked_for(request, books.options);
    whose.key = cli::find_key(books.sessions, asked).value_or("");
    if (whose.key.empty() || !whose.of.empty()) {
        return;
    }
    const auto found = books.sessions.id_of(whose.key); // no machine is asked for it
    whose.of = found ? found->principal : std::string();
}

/// What came of it that the request alone does not say.
void add_end(AuditRecord::Operation& operation, const OperatorRequest& request, const json& data)
{
    if (request.what != What::end) {
        return;
    }
    operation.purge = request.purge;
    operation.save = request.save;
    operation.purged = data.value("purged", false);
    if (const auto saved = data.find("saved"); saved != data.end() && saved->is_object()) {
        operation.saved = saved->value("files", std::uint64_t{0});
    }
}

/// Empty: it changes nothing.
std::string_view word_for(What what)
{
    return what == What::pause    ? "pause"
           : what == What::resume ? "resume"
           : what == What::end    ? "kill"
                                  : "";
}

HttpAnswer stranger(Operators::Standing standing)
{
    if (standing == Operators::Standing::is_caller) {
        return refusal(403, ErrorCode::permission_denied,
                       "this token calls tools, and is none of an operator's",
                       "Send one of the operators' token file.");
    }
    auto answer =
        refusal(401, ErrorCode::authentication_required, "who asks is not known as an operator",
                "Send Authorization: Bearer TOKEN with one of the operators' token file.");
    answer.fields.emplace_back("WWW-Authenticate", "Bearer realm=\"berth operator\"");
    return answer;
}

} // namespace

transport::HttpAdmission OperatorApi::admit(const transport::HttpHead& head)
{
    Operators::Found found;
    if (!is_open(head.path)) {
        found = parts_.operators.identify(head);
        if (found.standing != Operators::Standing::is_operator) {
            return {.refusal = stranger(found.standing)};
        }
    }
    if (head.has_body()) {
        return {.refusal = refusal(413, ErrorCode::too_large, "no body is taken here",
                                   "All that is asked is in the address.")};
    }
    return {.context = std::move(found.who)};
}

HttpAnswer OperatorApi::answer(const transport::HttpRequest& request)
{
    const auto who = std::static_pointer_cast<const Caller>(request.context);
    if (!who) { // of what is open to all
        return answer_to(request.head, nullptr);
    }
    const std::shared_ptr<void> counted(nullptr, [&](void*) { --who->account->calls; });
    if (++who->account->calls > who->calls) {
        auto busy = refusal(429, ErrorCode::busy, "too many requests of this operator's at once",
                            "Send this one again when some of them are answered.");
        busy.fields.emplace_back("Retry-After", "1");
        return busy;
    }
    return answer_to(request.head, who.get());
}

/// `who`: null for what is open to all.
HttpAnswer OperatorApi::answer_to(const transport::HttpHead& head, const Caller* who)
{
    OperatorRequest request;
    try {
        request = read_operator_request(head);
    } catch (const transport::HttpError& error) {
        const bool missing = error.status() == 404;
        auto answer =
            refusal(error.status(), missing ? ErrorCode::not_found : ErrorCode::invalid_argument,
                    error.what(), "docs/http.md lists what there is.");
        if (error.status() == 405) {
            answer.fields.emplace_back("Allow", allowed_methods(head.path));
        }
        return answer;
    }
    if (request.what == What::metrics) {
        return {.status = good,
                .fields = {{"Cache-Control", "no-store"}},
                .type = std::string(MetricText::type),
                .body = parts_.metrics()};
    }
    const RequestScope scope(traceparent_of(head));
    const auto began = std::chrono::steady_clock::now();
    AuditRecord::Operation whose;
    const auto outcome = outcome_of(request, whose);
    if (who != nullptr && !word_for(request.what).empty()) {
        tell(*who, request, std::move(whose), outcome, std::chrono::steady_clock::now() - began);
    }
    return answer_of(outcome);
}

cli::Outcome OperatorApi::outcome_of(const OperatorRequest& request, AuditRecord::Operation& whose)
{
    try {
        whose.of = request.principal;
        whose.backend = request.backend;
        auto& books = parts_.books(request.backend);
        if (!word_for(request.what).empty()) {
            identify(whose, request, books);
        }
        return perform(request, books);
    } catch (const Error& error) {
        return cli::failed(error);
    } catch (const std::exception& error) {
        return cli::failed(Error(ErrorCode::internal, error.what()));
    }
}

/// What was changed, or tried.
void OperatorApi::tell(const Caller& who, const OperatorRequest& request,
                       AuditRecord::Operation whose, const cli::Outcome& outcome,
                       std::chrono::nanoseconds duration)
{
    const auto did = word_for(request.what);
    const auto* const purge = request.what != What::end ? "" : request.purge ? "true" : "false";
    const auto result = outcome.failure ? to_string(*outcome.failure) : "ok";
    log::write(log::Level::info, "operator",
               {{"principal", who.principal},
                {"did", did},
                {"session", request.key},
                {"of", whose.of},
                {"purge", purge},
                {"outcome", result}});
    if (parts_.audit) {
        add_end(whose, request, *outcome.data);
        parts_.audit->operation(who.principal, did, request.key, std::move(whose), result,
                                std::chrono::duration_cast<std::chrono::microseconds>(duration));
    }
}

} // namespace berth::server::http
