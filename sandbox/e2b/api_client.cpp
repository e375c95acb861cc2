#include "sandbox/e2b/api_client.hpp"

#include "sandbox/base/percent.hpp"
#include "sandbox/e2b/pipe.hpp"
#include "sandbox/wait_for.hpp"

#include <algorithm>
#include <utility>

namespace berth::e2b {
namespace {

constexpr std::size_t largest_page = 8U << 20U; ///< a page of 100 sandboxes with their metadata
constexpr std::size_t most_boxes = 10'000;
constexpr std::size_t most_pages = 1'000;
constexpr std::string_view user_agent = "berth";

/// Of a proxy that has waited long enough: the server that it asked goes on.
constexpr int gateway_timeout = 504;

bool is_success(int status) noexcept
{
    return status >= 200 && status < 300;
}

/// What a server says to a path that it does not know.
bool is_unknown_path(int status) noexcept
{
    return status == 404 || status == 405;
}

std::string path_of(const std::string& id)
{
    if (!is_sandbox_id(id)) {
        throw Error(ErrorCode::invalid_argument, "that is not the id of a sandbox of E2B",
                    "One has small letters, digits and hyphens alone.");
    }
    return "/sandboxes/" + id;
}

OutcomeUnknown made_perhaps(const Error& cause, bool late)
{
    return OutcomeUnknown(cause,
                          "it is not known whether E2B has made the sandbox that it was asked for",
                          "Look for it by its metadata before another one is made.", late);
}

} // namespace

ApiClient::ApiClient(HttpClient& http, Settings settings, Pacing pacing)
    : http_(http), settings_(std::move(settings)), pacing_(std::move(pacing))
{
    if (!pacing_.random) {
        pacing_.random = &random_part;
    }
    if (!pacing_.rest) {
        pacing_.rest = &sandbox::wait_for;
    }
}

Box ApiClient::create(const BoxRequest& request, const Deadline& deadline,
                      const std::stop_token& stop)
{
    Call newer{.what = "create a sandbox",
               .method = "POST",
               .target = "/v2/sandboxes",
               .body = create_body(request, ApiVersion::v2),
               .repeating = Repeating::uncertain};
    auto older = newer;
    older.target = "/sandboxes";
    older.body = create_body(request, ApiVersion::v1);
    auto version = ApiVersion::v2;
    HttpReply reply;
    try {
        reply = send_either(newer, older, old_server_, version, deadline, stop);
    } catch (const HttpFailure& failure) {
        if (failure.unsent()) {
            throw;
        }
        throw made_perhaps(failure, /*late=*/true);
    }
    if (!is_success(reply.status)) {
        const auto error = error_of(newer, reply, false);
        if (reply.status >= 500) {
            throw made_perhaps(error, /*late=*/reply.status == gateway_timeout);
        }
        throw StatusError(error);
    }
    try {
        return parse_box(reply.body);
    } catch (const Error& error) {
        throw made_perhaps(error, /*late=*/false);
    }
}

Connected ApiClient::connect(const std::string& id, std::chrono::seconds timeout,
                             const Deadline& deadline, const std::stop_token& stop)
{
    Call older{.what = "connect to a sandbox",
               .method = "POST",
               .target = path_of(id) + "/connect",
               .body = timeout_body(timeout)};
    auto newer = older;
    newer.target = "/v2" + older.target;
    auto version = ApiVersion::v2;
    const auto reply = send_either(newer, older, old_server_, version, deadline, stop);
    if (!is_success(reply.status)) {
        throw error_of(newer, reply, true);
    }
    Connected connected{.box = parse_box(reply.body), .resumed = reply.status == 201};
    // Reported of E2B after some pauses. Somebody else's files would be in it.
    if (bare_id(connected.box.id) != bare_id(id)) {
        throw Error(ErrorCode::backend_error,
                    "asked for one sandbox, E2B answered with another; it was left alone",
                    "End the session and begin a new one.");
    }
    return connected;
}

bool ApiClient::pause(const std::string& id, const Deadline& deadline, const std::stop_token& stop,
                      const Right& may)
{
    const Call call{.what = "pause a sandbox",
                    .method = "POST",
                    .target = path_of(id) + "/pause",
                    .body = "{}",
                    .may = may};
    const auto reply = send(call, deadline, stop);
    if (is_success(reply.status)) {
        return true;
    }
    if (reply.status == 409 && reply.body.find("already paused") != std::string::npos) {
        return false;
    }
    throw error_of(call, reply, true);
}

bool ApiClient::kill(const std::string& id, const Deadline& deadline, const std::stop_token& stop,
                     const Right& may)
{
    const Call call{.what = "end a sandbox", .method = "DELETE", .target = path_of(id), .may = may};
    const auto reply = send(call, deadline, stop);
    if (is_success(reply.status)) {
        return true;
    }
    if (reply.status == 404 && is_own_answer(reply)) {
        return false;
    }
    throw error_of(call, reply, true);
}

void ApiClient::set_timeout(const std::string& id, std::chrono::seconds timeout,
                            const Deadline& deadline, const std::stop_token& stop)
{
    const Call call{.what = "set the time limit of a sandbox",
                    .method = "POST",
                    .target = path_of(id) + "/timeout",
                    .body = timeout_body(timeout)};
    const auto reply = send(call, deadline, stop);
    if (!is_success(reply.status)) {
        throw error_of(call, reply, true);
    }
}

void ApiClient::set_network(const std::string& id, const BoxNetwork& network,
                            const Deadline& deadline, const std::stop_token& stop, const Right& may)
{
    const Call call{.what = "change what a sandbox may reach",
                    .method = "PUT",
                    .target = path_of(id) + "/network",
                    .body = network_body(network),
                    .may = may};
    const auto reply = send(call, deadline, stop);
    if (!is_success(reply.status)) {
        throw error_of(call, reply, true);
    }
}

BoxInfo ApiClient::info(const std::string& id, const Deadline& deadline,
                        const std::stop_token& stop)
{
    const Call call{.what = "look at a sandbox", .method = "GET", .target = path_of(id)};
    const auto reply = send(call, deadline, stop);
    if (!is_success(reply.status)) {
        throw error_of(call, reply, true);
    }
    auto info = parse_info(reply.body);
    if (bare_id(info.box.id) != bare_id(id)) {
        throw Error(ErrorCode::backend_error, "asked for one sandbox, E2B told of another");
    }
    info.told_at = reply.header("date");
    return info;
}

namespace {

bool has_all(const Metadata& metadata, const Metadata& wanted)
{
    return std::ranges::all_of(wanted, [&](const auto& each) {
        const auto found = metadata.find(each.first);
        return found != metadata.end() && found->second == each.second;
    });
}

} // namespace

std::vector<BoxInfo> ApiClient::list(const Metadata& metadata, const Deadline& deadline,
                                     const std::stop_token& stop)
{
    const auto filter = metadata.empty() ? "" : "&metadata=" + metadata_query(metadata);
    std::vector<BoxInfo> boxes;
    std::string next;
    for (std::size_t page = 0; page < most_pages && boxes.size() <= most_boxes; ++page) {
        Call newer{.what = "list sandboxes",
                   .method = "GET",
                   .target = "/v2/sandboxes?state=running,paused&limit=100" + filter +
                             (next.empty() ? "" : "&nextToken=" + percent_encoded(next))};
        auto older = newer;
        older.target = "/sandboxes" + (filter.empty() ? filter : '?' + filter.substr(1));
        auto version = ApiVersion::v2;
        const auto reply = send_either(newer, older, old_list_, version, deadline, stop);
        if (!is_success(reply.status)) {
            throw error_of(newer, reply, false);
        }
        // A server that passes over the filter would have boxes of others ended, or taken for ours.
        for (auto& box : parse_list(reply.body)) {
            if (has_all(box.metadata, metadata)) {
                box.told_at = reply.header("date");
                boxes.push_back(std::move(box));
            }
        }
        next = version == ApiVersion::v2 ? reply.header("x-next-token") : std::string();
        if (next.empty()) {
            return boxes;
        }
    }
    throw Error(ErrorCode::backend_error, "the list of sandboxes of E2B does not end",
                "End those that are not needed, at https://e2b.dev/dashboard.");
}

HttpReply ApiClient::send_either(const Call& newer, const Call& older,
                                 std::atomic<bool>& old_server, ApiVersion& version,
                                 const Deadline& deadline, const std::stop_token& stop)
{
    version = old_server ? ApiVersion::v1 : ApiVersion::v2;
    auto reply = send(version == ApiVersion::v2 ? newer : older, deadline, stop);
    if (version == ApiVersion::v1 || !is_unknown_path(reply.status)) {
        return reply;
    }
    // A 404 may be about the sandbox or the template as well: then the older path says so too.
    version = ApiVersion::v1;
    auto second = send(older, deadline, stop);
    if (is_success(second.status)) {
        old_server = true;
    }
    return is_unknown_path(second.status) && !is_own_answer(second) ? reply : second;
}

HttpReply ApiClient::send(const Call& call, const Deadline& deadline, const std::stop_token& stop)
{
    const auto bound = WaitBound::within(deadline, stop);
    unsigned refusals = 0;
    unsigned breaks = 0;
    for (;;) {
        std::optional<HttpReply> reply;
        sandbox::require(call.may);
        try {
            reply = send_once(call, bound.deadline, bound.stop);
        } catch (const HttpFailure& failure) {
            const auto wait = wait_after(failure, call.repeating, ++breaks);
            if (!rest(wait, /*told=*/false, call, bound)) {
                throw;
            }
            continue;
        }
        if (is_success(reply->status) ||
            !rest(wait_after(*reply, call.repeating, ++refusals),
                  /*told=*/retry_after_of(*reply).has_value(), call, bound)) {
            return *std::move(reply);
        }
    }
}

std::optional<std::chrono::milliseconds>
ApiClient::wait_after(const HttpReply& reply, Repeating repeating, unsigned failures) const
{
    return wait_before_repeating({.status = reply.status,
                                  .retry_after = retry_after_of(reply),
                                  .passes = is_in_transition(reply)},
                                 repeating, failures, pacing_.random());
}

/// Whoever has waited to the end, or was stopped, does not begin anew.
std::optional<std::chrono::milliseconds>
ApiClient::wait_after(const HttpFailure& failure, Repeating repeating, unsigned failures) const
{
    using Cause = HttpFailure::Cause;
    const bool broke = failure.cause() == Cause::broken || failure.cause() == Cause::unconnected;
    return broke && (repeating == Repeating::safe || failure.unsent())
               ? wait_after_break(failures, pacing_.random())
               : std::nullopt;
}

HttpReply ApiClient::send_once(const Call& call, const Deadline& deadline,
                               const std::stop_token& stop)
{
    HttpRequest request{.method = call.method, .target = call.target, .body = call.body};
    request.headers = {{"X-API-Key", settings_.api_key},
                       {"Accept", "application/json"}, // else the proxies may answer in HTML
                       {"Accept-Encoding", "identity"},
                       {"User-Agent", std::string(user_agent)}};
    if (!call.body.empty()) {
        request.headers.emplace_back("Content-Type", "application/json");
    }
    return http_.request(settings_.api, std::move(request), largest_page,
                         Deadline::earlier(deadline, Deadline::after(pacing_.patience)), stop);
}

bool ApiClient::rest(std::optional<std::chrono::milliseconds> time, bool told, const Call& call,
                     const WaitBound::Wait& bound) const
{
    if (time && !bound.again.is_never()) {
        time = wait_within(*time, std::chrono::milliseconds(bound.again.poll_timeout()),
                           /*may_shorten=*/!told);
    }
    if (!time) {
        return false;
    }
    pacing_.rest(*time, bound.stop);
    if (bound.stop.stop_requested()) {
        // Of a create it is certain, else it would not have waited.
        throw HttpFailure(HttpFailure::Cause::cancelled, call.repeating == Repeating::uncertain,
                          settings_.api.shown() + ": given up, as was asked", {});
    }
    return true;
}

StatusError ApiClient::error_of(const Call& call, const HttpReply& reply, bool of_sandbox) const
{
    return control_plane_error(
        {.what = call.what, .where = settings_.api.shown(), .secrets = {settings_.api_key}}, reply,
        of_sandbox);
}

} // namespace berth::e2b
