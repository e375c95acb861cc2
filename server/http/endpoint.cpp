#include "server/http/endpoint.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/request_scope.hpp"
#include "sandbox/base/small_letters.hpp"
#include "server/http/bearer.hpp"
#include "server/http/charges.hpp"
#include "server/http/flight.hpp"
#include "server/http/page_rules.hpp"
#include "server/http/trace_header.hpp"
#include "server/log.hpp"
#include "server/mcp/error_details.hpp"
#include "server/mcp/parameters.hpp"
#include "server/mcp/trace_context.hpp"
#include "server/options/session_name.hpp"
#include "server/rpc/json_reader.hpp"
#include "server/rpc/json_text.hpp"
#include "server/rpc/outline.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace berth::server::http {
namespace {

using nlohmann::json;
using transport::HttpAnswer;
using transport::HttpHead;

constexpr std::string_view mcp_path = "/mcp";
constexpr std::string_view health_path = "/healthz";
constexpr std::string_view ready_path = "/readyz";
/// Of requests before 2026-07-28, where a client may have another meaning of its own.
constexpr int legacy_error = -32000;
constexpr int legacy_session_unknown = -32001;

HttpAnswer rpc_error(int status, const rpc::Id& id, int code, const std::string& message,
                     const std::string& data = {})
{
    return {.status = status,
            .type = "application/json",
            .body = rpc::error_message(id.empty() ? "null" : id, code, message, data)};
}

HttpAnswer text_answer(int status, const std::string& text)
{
    return {.status = status, .type = "text/plain", .body = text + '\n'};
}

/// For whoever has left /mcp out of an address, or has written more behind it.
HttpAnswer nothing_here()
{
    return text_answer(404, "MCP is at " + std::string(mcp_path));
}

std::optional<std::string> header(const HttpHead& head, std::string_view name)
{
    const auto* const value = head.find(name);
    return value == nullptr ? std::nullopt : std::optional(*value);
}

mcp::HttpFacts facts_of(const HttpHead& head)
{
    constexpr std::string_view param = "mcp-param-";
    mcp::HttpFacts facts{.version = header(head, "mcp-protocol-version"),
                         .method = header(head, "mcp-method"),
                         .name = header(head, "mcp-name")};
    for (const auto& [name, value] : head.fields) {
        if (name.starts_with(param)) {
            facts.params.emplace_back(name.substr(param.size()), value);
        }
    }
    return facts;
}

bool is_json(const HttpHead& head)
{
    const auto type = in_small_letters(header(head, "content-type").value_or(""));
    constexpr std::string_view json_type = "application/json";
    return type.starts_with(json_type) &&
           (type.size() == json_type.size() ||
            std::string_view("; \t").find(type[json_type.size()]) != std::string_view::npos);
}

/// The session that a client names by a header that is configured with the server's address; empty:
/// none. Throws Error.
std::string named_session(const HttpHead& head)
{
    const auto name = header(head, "berth-session");
    if (!name) {
        return {};
    }
    if (name->empty() || !is_showable(*name)) {
        throw Error(ErrorCode::invalid_argument, "the header Berth-Session is no name of a session",
                    "A name is UTF-8 of 1 to 256 bytes.");
    }
    return *name;
}

/// Throws HttpRefusal.
std::string session_id(const HttpHead& head)
{
    if (const auto id = header(head, "mcp-session-id")) {
        return *id;
    }
    throw mcp::HttpRefusal(400, legacy_error, "Bad Request: Mcp-Session-Id header is required");
}

/// Has the client begin anew.
[[noreturn]] void unknown_session()
{
    throw mcp::HttpRefusal(404, legacy_session_unknown, "Session not found");
}

HttpAnswer refuse_method(const std::string& why, const std::string& allowed)
{
    auto refused = rpc_error(405, {}, rpc::invalid_request, why);
    refused.fields.emplace_back("Allow", allowed);
    return refused;
}

/// Of a body that is not read yet. One of them may say that a call is to end, which has to get
/// through when so many are at work that another is not taken.
bool is_notification(const std::string& body)
{
    const auto message = rpc::recognise(body);
    return message.kind == rpc::Kind::notification && message.method.starts_with("notifications/");
}

/// The id to refuse a body by. That of an answer is the id of one of our own requests.
rpc::Id id_in(const std::string& body)
{
    auto message = rpc::recognise(body);
    return message.kind == rpc::Kind::response ? rpc::Id() : std::move(message.id);
}

/// Of a message that is not taken.
HttpAnswer refusal_of(const rpc::ProtocolError& error, const rpc::Id& id)
{
    const auto* const own = dynamic_cast<const mcp::HttpRefusal*>(&error);
    return rpc_error(own == nullptr ? 400 : own->status(), id, error.code(), error.what(),
                     error.data());
}

/// Of a session that cannot be served.
HttpAnswer failure(const rpc::Id& id, const Error& error)
{
    const auto data = mcp::protocol_data(error);
    const bool asked_wrong = error.code() == ErrorCode::invalid_argument;
    const bool is_busy = error.code() == ErrorCode::busy;
    auto answer = rpc_error(asked_wrong ? 400
                            : is_busy   ? 429
                                        : 503,
                            id, asked_wrong ? rpc::invalid_params : rpc::internal_error,
                            error.what(), rpc::to_text(data));
    if (!asked_wrong) {
        answer.fields.emplace_back("Retry-After",
                                   std::to_string(data.value("retry_after", mcp::usual_retry)));
    }
    return answer;
}

} // namespace

/// What a request brings beside its message.
struct Endpoint::Asked {
    const transport::HttpRequest& request;
    const Caller& caller;
    mcp::HttpFacts facts;
    Accepted accepted;
    std::shared_ptr<transport::Exchange> exchange;

    [[nodiscard]] rpc::Dispatcher::Source source(std::string scope = {}) const
    {
        return {exchange->sink(), request.body.size(), std::move(scope)};
    }

    /// `kept` outlives the answer; `on_gone` is of the revisions in which a closed stream cancels.
    [[nodiscard]] HttpAnswer wait(std::shared_ptr<void> kept, std::function<void()> on_gone,
                                  std::vector<std::pair<std::string, std::string>> fields = {})
    {
        return answer_of({.exchange = exchange,
                          .accepted = accepted,
                          .on_gone = std::move(on_gone),
                          .fields = std::move(fields),
                          .kept = std::move(kept)});
    }
};

HttpAnswer Endpoint::refuse(int status, const std::string& reason)
{
    auto answer = rpc_error(status, {}, rpc::invalid_request, reason);
    if (status == 503) {
        answer.fields.emplace_back("Retry-After", "1");
    }
    return answer;
}

transport::HttpAdmission Endpoint::admit(const HttpHead& head, const transport::HttpSocket& socket)
{
    if (const auto why = parts_.rules.refusal(head); !why.empty()) {
        return {.refusal = refuse(403, why)};
    }
    if (parts_.operators.serves(head.path)) {
        return parts_.operators.admit(head);
    }
    const bool is_mcp = head.path == mcp_path;
    const bool is_for_pages = is_mcp || parts_.metadata.serves(head.path);
    const auto origin = is_for_pages ? parts_.rules.page_origin(head) : std::string();
    transport::HttpAdmission admission;
    if (!origin.empty() && is_preflight(head)) {
        admission.refusal = answer_preflight(head, is_mcp ? "GET, POST, DELETE" : "GET");
    } else if (is_mcp) {
        admission = admit_caller(head, socket);
    } else if (head.has_body()) {
        // Of nobody in particular, who could hold all the room that there is for bodies.
        const bool is_there = is_for_pages || head.path == health_path || head.path == ready_path;
        admission.refusal = is_there ? refuse(413, "no body is taken here") : nothing_here();
    }
    if (is_for_pages) {
        admission.fields = page_fields(origin);
    }
    return admission;
}

transport::HttpAdmission Endpoint::admit_caller(const HttpHead& head,
                                                const transport::HttpSocket& socket)
{
    std::shared_ptr<const Caller> caller;
    try {
        caller = parts_.identify(head, socket);
    } catch (const Error& error) { // as where the users of this host cannot be looked up now
        log::write(log::Level::error, "who calls cannot be told",
                   {{"error", error.what()}, {"hint", error.hint()}});
        return {.refusal = refuse(503, "who calls cannot be told now: who runs the server finds "
                                       "the reason in its log")};
    }
    if (!caller) {
        auto answer = refuse(401, "who calls is not known: send Authorization: Bearer TOKEN with "
                                  "one that this server takes");
        answer.fields.emplace_back("WWW-Authenticate",
                                   parts_.metadata.challenge(bearer_token(head).has_value()));
        return {.refusal = std::move(answer)};
    }
    if (head.method == "POST" && !is_json(head)) {
        return {.refusal = refuse(415, "the body must be application/json")};
    }
    if (const auto accepted = accepted_by(head);
        head.method == "POST" && !accepted.json && !accepted.events) {
        return {.refusal = rpc_error(406, {}, legacy_error,
                                     "Not Acceptable: accept application/json and "
                                     "text/event-stream")};
    }
    // Of the account, which the caller owns with it.
    std::shared_ptr<std::atomic<std::size_t>> bodies(caller->account, &caller->account->bodies);
    return {.account = std::move(bodies), .context = std::move(caller)};
}

HttpAnswer Endpoint::answer(transport::HttpRequest request)
{
    const auto& head = request.head;
    if (head.path == health_path || head.path == ready_path) {
        return health(head);
    }
    if (parts_.operators.serves(head.path)) {
        return parts_.operators.answer(request);
    }
    if (parts_.metadata.serves(head.path)) {
        return metadata(head);
    }
    if (head.path != mcp_path) {
        return nothing_here();
    }
    const auto caller = std::static_pointer_cast<const Caller>(request.context);
    if (head.method == "POST") {
        return post(request, caller);
    }
    if (head.method == "DELETE") {
        try {
            return end_session(head, *caller);
        } catch (const mcp::HttpRefusal& refusal) {
            return refusal_of(refusal, {});
        }
    }
    // Nothing is said to a client outside of its requests, so there is no stream to get.
    return refuse_method("only POST and DELETE are taken here", "POST, DELETE");
}

HttpAnswer Endpoint::health(const HttpHead& head) const
{
    if (head.method != "GET" && head.method != "HEAD") {
        return refuse_method("only GET and HEAD are taken here", "GET, HEAD");
    }
    if (head.path == health_path) {
        return text_answer(200, "ok");
    }
    const auto why = parts_.unavailable();
    return text_answer(why.empty() ? 200 : 503, why.empty() ? "ready" : why);
}

/// For whoever asks: it is how he finds out where tokens are to be had.
HttpAnswer Endpoint::metadata(const HttpHead& head) const
{
    if (head.method != "GET" && head.method != "HEAD") {
        return refuse_method("only GET and HEAD are taken here", "GET, HEAD");
    }
    return {.status = 200,
            .fields = {{"Cache-Control", "max-age=3600"}},
            .type = "application/json",
            .body = parts_.metadata.document()};
}

HttpAnswer Endpoint::end_session(const HttpHead& head, const Caller& caller)
{
    if (!parts_.sessions.end(session_id(head), owner_of(caller))) {
        unknown_session();
    }
    return {.status = 204};
}

HttpAnswer Endpoint::post(const transport::HttpRequest& request,
                          const std::shared_ptr<const Caller>& caller)
{
    const RequestScope scope(traceparent_of(request.head));
    std::shared_ptr<void> counted(nullptr, [caller](void*) { --caller->account->calls; });
    if (++caller->account->calls > caller->calls && !is_notification(request.body)) {
        return failure(id_in(request.body),
                       Error(ErrorCode::busy,
                             std::to_string(caller->calls) + " requests are in flight",
                             "Send this one again when some of them are answered."));
    }
    Asked asked{.request = request,
                .caller = *caller,
                .facts = facts_of(request.head),
                .accepted = accepted_by(request.head),
                .exchange = std::make_shared<transport::Exchange>(
                    request.socket, transport::Occupied{request.room, std::move(counted)})};
    try {
        return take(rpc::read_json(request.body, limits_in(request, parts_.read)), asked);
    } catch (const rpc::ProtocolError& error) {
        return refusal_of(error, id_in(request.body));
    } catch (const Error& error) {
        return failure(id_in(request.body), error);
    }
}

HttpAnswer Endpoint::take(json&& message, Asked& asked)
{
    if (message.is_array()) {
        return batch(std::move(message), asked);
    }
    auto taken = rpc::take_message(std::move(message));
    const auto era = mcp::check_http_message(taken, asked.facts);
    mcp::add_traceparent(*taken.params, traceparent_of(asked.request.head));
    if (era == mcp::Era::modern) {
        return modern(std::move(taken), asked);
    }
    return taken.kind == rpc::Kind::request && taken.method == "initialize"
               ? initialize(std::move(taken), asked)
               : legacy(std::move(taken), asked);
}

/// Each stands by itself: two clients of one session may use the same ids.
HttpAnswer Endpoint::modern(rpc::Message message, Asked& asked)
{
    if (message.kind != rpc::Kind::request) {
        return {.status = 202}; // a request is cancelled by its own connection
    }
    const auto name = named_session(asked.request.head);
    const auto tenant = tenant_of(asked.caller, name.empty() ? "default" : name);
    mcp::check_http_service(tenant->application().service(), message, asked.facts);
    const auto scope = std::to_string(++scopes_);
    const auto id = message.id;
    tenant->dispatcher().receive(std::move(message), asked.source(scope));
    // A call that goes on is a use of the session: it is not left as soon as a long one ends.
    const std::shared_ptr<void> used(nullptr, [tenant](void*) { tenant->note_use(); });
    return asked.wait(used, [tenant, id, scope] { tenant->dispatcher().cancel(id, scope); });
}

HttpAnswer Endpoint::initialize(rpc::Message message, Asked& asked)
{
    // Else there would be a session of which no client ever learns by a result.
    (void)mcp::string_parameter(*message.params, "protocolVersion", message.method);
    const auto id = LegacySessions::make_id();
    auto name = named_session(asked.request.head);
    const auto session = parts_.sessions.add(id, owner_of(asked.caller),
                                             tenant_of(asked.caller, name.empty() ? id : name));
    session->dispatcher().receive(std::move(message), asked.source());
    return asked.wait(session, {}, {{"Mcp-Session-Id", id}});
}

/// Clients of older revisions seldom say that they go, and each holds its session: where no other
/// is to be had the one that was not heard of for longest gives way.
std::shared_ptr<Tenant> Endpoint::tenant_or_room(const Caller& caller, const std::string& name)
{
    try {
        return parts_.tenants.get(caller, name);
    } catch (const AllHeld&) {
        if (!parts_.sessions.end_idle_of(caller.principal)) {
            throw;
        }
    }
    return parts_.tenants.get(caller, name);
}

/// Of what is wrong with a session before it has had a call, all but their number is the settings'
/// fault, which the caller neither made nor can change: he is told where to ask, and no path of the
/// host.
std::shared_ptr<Tenant> Endpoint::tenant_of(const Caller& caller, const std::string& name)
{
    const auto& id = RequestScope::current()->id();
    const auto tell = [&](log::Level level, const char* error, const std::string& hint) {
        log::write(level, "a session cannot be served",
                   {{"principal", caller.principal}, {"error", error}, {"hint", hint}});
    };
    try {
        return tenant_or_room(caller, name);
    } catch (const Error& error) {
        const bool is_busy = error.code() == ErrorCode::busy;
        tell(is_busy ? log::Level::warning : log::Level::error, error.what(), error.hint());
        if (is_busy) {
            throw;
        }
    } catch (const std::exception& error) {
        tell(log::Level::error, error.what(), "");
    }
    throw Error(ErrorCode::sandbox_unavailable,
                "the server cannot serve this session as it is set up",
                "Who runs the server finds the reason in its log, at the request " + id + '.');
}

/// Throws HttpRefusal.
std::shared_ptr<LegacySession> Endpoint::session_of(const Asked& asked)
{
    auto session = parts_.sessions.find(session_id(asked.request.head), owner_of(asked.caller));
    if (!session) {
        unknown_session();
    }
    return session;
}

/// A connection that closes cancels nothing there: a client that means it says so.
HttpAnswer Endpoint::legacy(rpc::Message message, Asked& asked)
{
    const auto session = session_of(asked);
    const bool is_request = message.kind == rpc::Kind::request;
    session->dispatcher().receive(std::move(message), asked.source());
    if (!is_request) {
        return {.status = 202};
    }
    return asked.wait(session, {});
}

HttpAnswer Endpoint::batch(json&& messages, Asked& asked)
{
    if (messages.empty()) {
        throw rpc::ProtocolError(rpc::invalid_request, "an empty batch");
    }
    mcp::check_http_batch(messages, asked.facts);
    const auto session = session_of(asked);
    asked.exchange->occupy(count_others(asked.caller, messages));
    for (auto& message : messages) {
        if (const auto params = message.find("params");
            params != message.end() && params->is_object()) {
            mcp::add_traceparent(*params, traceparent_of(asked.request.head));
        }
    }
    session->dispatcher().receive_batch(std::move(messages), asked.source());
    return asked.wait(session, {});
}

} // namespace berth::server::http
