#include "server/http/operator_api.hpp"

#include "sandbox/base/error.hpp"
#include "server/cli/end_session.hpp"
#include "server/cli/reports.hpp"
#include "server/cli/sessions.hpp"
#include "server/cli/status.hpp"
#include "server/http/metric_text.hpp"
#include "server/log.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <exception>
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
    return json_answer(status, {{"code", to_string(code)}, {"reason", reason}, {"remedy", remedy}});
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

/// What may be otherwise in a moment.
void tell_when_to_retry(HttpAnswer& answer, ErrorCode code)
{
    if (code == ErrorCode::busy || answer.status == unavailable) {
        answer.fields.emplace_back("Retry-After", code == ErrorCode::busy ? "1" : "5");
    }
}

HttpAnswer failure(const Error& error)
{
    auto answer = refusal(status_of(error.code()), error.code(), error.what(), error.hint());
    tell_when_to_retry(answer, error.code());
    return answer;
}

HttpAnswer answer_of(const cli::Outcome& outcome)
{
    auto answer = json_answer(outcome.failure ? status_of(*outcome.failure) : good, *outcome.data);
    if (outcome.failure) {
        tell_when_to_retry(answer, *outcome.failure);
    }
    return answer;
}

/// A machine that has ended is what was asked for, also where its files wait to be saved; a home
/// that was to go and is there is not.
HttpAnswer end_of(const cli::Outcome& outcome, bool purge)
{
    if (outcome.failure && outcome.data->value("killed", false)) {
        return json_answer(purge ? conflict : good, *outcome.data);
    }
    return answer_of(outcome);
}

cli::Asked asked_for(const OperatorRequest& request, const Options& options)
{
    // Without a principal it is no name: one that a caller makes up could be another's key.
    return {request.principal.empty() ? session::SessionId{}
                                      : options.keys.apply(request.principal, request.key),
            request.key};
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
        found = operators_.identify(head);
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
        return answer_to(request.head);
    }
    const std::shared_ptr<void> counted(nullptr, [&](void*) { --who->account->calls; });
    if (++who->account->calls > who->calls) {
        auto busy = refusal(429, ErrorCode::busy, "too many requests of this operator's at once",
                            "Send this one again when some of them are answered.");
        busy.fields.emplace_back("Retry-After", "1");
        return busy;
    }
    auto answer = answer_to(request.head);
    if (request.head.method != "GET") { // what was changed, or tried
        log::write(log::Level::info, "operator",
                   {{"principal", who->principal},
                    {"method", request.head.method},
                    {"path", request.head.path},
                    {"status", std::to_string(answer.status)}});
    }
    return answer;
}

HttpAnswer OperatorApi::answer_to(const transport::HttpHead& head)
{
    try {
        return perform(read_operator_request(head));
    } catch (const transport::HttpError& error) {
        const bool missing = error.status() == 404;
        auto answer =
            refusal(error.status(), missing ? ErrorCode::not_found : ErrorCode::invalid_argument,
                    error.what(), "docs/http.md lists what there is.");
        if (error.status() == 405) {
            answer.fields.emplace_back("Allow", allowed_methods(head.path));
        }
        return answer;
    } catch (const Error& error) {
        return failure(error);
    } catch (const std::exception& error) {
        return refusal(500, ErrorCode::internal, error.what(), "");
    }
}

HttpAnswer OperatorApi::perform(const OperatorRequest& request)
{
    if (request.what == What::metrics) {
        return {.status = good,
                .fields = {{"Cache-Control", "no-store"}},
                .type = std::string(MetricText::type),
                .body = metrics_()};
    }
    auto& books = books_(request.backend);
    auto& sessions = books.sessions;
    switch (request.what) {
    case What::list:
        return answer_of(cli::list_sessions(sessions));
    case What::status: // an answer, however it is
        return json_answer(good, *cli::show_status(sessions, books.options).data);
    case What::show:
        return answer_of(cli::show_session(sessions, asked_for(request, books.options)));
    case What::pause:
        return answer_of(cli::pause_session(sessions, asked_for(request, books.options)));
    case What::resume:
        return answer_of(cli::resume_session(sessions, asked_for(request, books.options)));
    case What::end:
        return end_of(
            cli::kill_session(sessions, asked_for(request, books.options), request.purge,
                              request.save ? session::AtEnd::save : session::AtEnd::give_up),
            request.purge);
    case What::metrics:
        break;
    }
    return refusal(404, ErrorCode::not_found, "there is nothing at this address", "");
}

} // namespace berth::server::http
