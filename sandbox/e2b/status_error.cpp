#include "sandbox/e2b/status_error.hpp"

#include "sandbox/base/visible.hpp"
#include "sandbox/base/wall_time.hpp"
#include "sandbox/e2b/json_text.hpp"
#include "sandbox/e2b/retry.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace berth::e2b {
namespace {

constexpr std::size_t longest_quote = 300;
constexpr std::size_t shortest_secret = 8;

/// What a server said, whichever form it has.
struct Said {
    std::string text; ///< quotable; empty: nothing that is worth repeating
    std::string word;
    bool own = false; ///< in the form of E2B's servers
};

Said said_in(const HttpReply& reply, const std::vector<std::string>& secrets)
{
    const auto& body = reply.body;
    if (const auto value = parse_json(body); value && value->is_object()) {
        auto word = text_at(*value, "code");
        const auto code = value->find("code");
        const bool own = !word.empty() || (code != value->end() && *code == reply.status);
        return {.text = quotable(text_at(*value, "message"), secrets),
                .word = std::move(word),
                .own = own};
    }
    const auto first = body.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) {
        return {};
    }
    // A page of a proxy's is for browsers. Its beginning says nothing, its end may be megabytes on.
    if (body[first] == '<') {
        return {.text = "a page of HTML, which a proxy has made", .word = {}};
    }
    return {.text = quotable(std::string_view(body).substr(first), secrets), .word = {}};
}

std::string message_of(const Asked& asked, const std::string& status, const Said& said)
{
    return "could not " + asked.what + ": " + asked.where + " answered " + status +
           (said.text.empty() ? " without a reason" : ": " + said.text);
}

bool says(const Said& said, std::string_view part)
{
    return said.text.find(part) != std::string::npos;
}

/// "is being paused", "while in the 'snapshotting' state", "still transitioning".
bool is_passing(const Said& said)
{
    return says(said, "being") || says(said, "while in") || says(said, "transition");
}

struct Meaning {
    ErrorCode code = ErrorCode::backend_error;
    std::string hint{};
    bool retryable = false;
};

Meaning meaning_of_refusal(int status, const Said& said)
{
    switch (status) {
    case 400:
        return {ErrorCode::invalid_argument, "It will be refused again as it is: change it."};
    case 401:
        return {ErrorCode::authentication_required,
                "Look at E2B_API_KEY; keys are at https://e2b.dev/dashboard."};
    case 403:
        return {ErrorCode::permission_denied,
                "The key is known, but this is not allowed to it: look at the team and the plan at "
                "https://e2b.dev/dashboard."};
    case 405:
        return {ErrorCode::unsupported,
                "The server is of another version than berth: look at E2B_API_URL."};
    case 409:
        return is_passing(said) ? Meaning{ErrorCode::busy, "Try again in a few seconds.", true}
                                : Meaning{ErrorCode::conflict, "Look at its state first.", false};
    case 413:
        return {ErrorCode::too_large, "Send less at once."};
    case 507:
        return {ErrorCode::no_space, "Remove what is not needed in the sandbox."};
    default:
        return {};
    }
}

/// In whatever form: who has no room for another sandbox does not know.
bool says_when(const HttpReply& reply)
{
    return !reply.header("retry-after").empty();
}

Meaning meaning_of(int status, const Said& said, bool of_a_rate)
{
    switch (status) {
    case 429:
        // Somebody else's proxy has limits of its own, whatever it leaves out.
        return of_a_rate || (!said.own && !says(said, "Sandbox limit"))
                   ? Meaning{ErrorCode::busy, "Try again after some seconds.", true}
                   : Meaning{ErrorCode::quota_exceeded,
                             "End or pause sandboxes that are not needed (`berth sessions list`), "
                             "or raise the limit of the plan."};
    case 502:
    case 504:
        return {ErrorCode::sandbox_unavailable, "Try again; https://status.e2b.dev tells troubles.",
                true};
    case 503:
        return {ErrorCode::sandbox_unavailable, "It has no room at the moment: try again.", true};
    default:
        break;
    }
    if (status >= 300 && status < 400) {
        return {ErrorCode::backend_error,
                "berth follows no redirect, since the key would go along: set E2B_API_URL or "
                "E2B_SANDBOX_URL to where it leads."};
    }
    auto meaning = meaning_of_refusal(status, said);
    if (status >= 500 && status != 507) {
        meaning.hint = "It is a fault of the server's: try again; https://status.e2b.dev tells "
                       "troubles.";
        meaning.retryable = true;
    }
    return meaning;
}

StatusError made(const Meaning& meaning, int status, const Said& said, const std::string& message)
{
    StatusError error(meaning.code, status, said.word, message, meaning.hint);
    error.set_retryable(meaning.retryable);
    error.set_own(said.own);
    return error;
}

struct Word {
    std::string_view name;
    ErrorCode code;
    bool retryable = false;
};

constexpr std::array words = {
    Word{"aborted", ErrorCode::conflict, true},
    Word{"already_exists", ErrorCode::conflict},
    Word{"canceled", ErrorCode::cancelled},
    Word{"deadline_exceeded", ErrorCode::sandbox_unavailable},
    Word{"failed_precondition", ErrorCode::invalid_argument},
    Word{"invalid_argument", ErrorCode::invalid_argument},
    Word{"not_found", ErrorCode::not_found},
    Word{"out_of_range", ErrorCode::invalid_argument},
    Word{"permission_denied", ErrorCode::permission_denied},
    Word{"resource_exhausted", ErrorCode::quota_exceeded},
    Word{"unauthenticated", ErrorCode::authentication_required},
    Word{"unavailable", ErrorCode::sandbox_unavailable, true},
    Word{"unimplemented", ErrorCode::unsupported},
};

/// The words of the Connect protocol; what is not in the table is a fault of the server's.
Meaning meaning_of_word(std::string_view name)
{
    const auto found = std::find_if(words.begin(), words.end(),
                                    [&](const Word& each) { return each.name == name; });
    return found != words.end() ? Meaning{found->code, {}, found->retryable} : Meaning{};
}

/// In the words of /files and of a call.
bool is_about_user(const Said& said)
{
    return says(said, "looking up user") || says(said, "invalid username");
}

Meaning unknown_user()
{
    return {ErrorCode::invalid_argument, "The sandbox has no such user."};
}

StatusError envd_error_of(const Asked& asked, const HttpReply& reply)
{
    const auto said = said_in(reply, asked.secrets);
    const auto message = message_of(asked, std::to_string(reply.status), said);
    // Before the rest, which would take it for a token that is wrong.
    if (reply.status == 401 && is_about_user(said)) {
        return made(unknown_user(), reply.status, said, message);
    }
    // envd says a word; a number in its place is of the proxies, and of /files.
    if (!said.word.empty()) {
        return made(meaning_of_word(said.word), reply.status, said, message);
    }
    switch (reply.status) {
    case 401:
    case 403:
        return made({ErrorCode::authentication_required,
                     "The token of the sandbox is not the one that it had: connect to it anew."},
                    reply.status, said, message);
    case 404:
        return made({ErrorCode::not_found}, reply.status, said, message);
    case 502:
        return made({ErrorCode::sandbox_unavailable,
                     "The sandbox does not run: it is paused, or it has ended.", true},
                    reply.status, said, message);
    default:
        return made(meaning_of(reply.status, said, says_when(reply)), reply.status, said, message);
    }
}

} // namespace

StatusError::StatusError(ErrorCode code, int status, std::string word, const std::string& message,
                         std::string hint)
    : Error(code, message, std::move(hint)), status_(status), word_(std::move(word))
{
}

OutcomeUnknown::OutcomeUnknown(const Error& cause, const std::string& message, std::string hint,
                               bool late)
    : Error(cause.code(), message + " (" + cause.what() + ")", std::move(hint)), late_(late)
{
    set_retryable(false);
}

bool is_own_answer(const HttpReply& reply)
{
    return said_in(reply, {}).own;
}

bool is_in_transition(const HttpReply& reply)
{
    constexpr int conflict = 409;
    return reply.status == conflict && is_passing(said_in(reply, {}));
}

StatusError control_plane_error(const Asked& asked, const HttpReply& reply, bool of_sandbox)
{
    const auto said = said_in(reply, asked.secrets);
    const auto message = message_of(asked, std::to_string(reply.status), said);
    if (reply.status == 404) {
        return made(of_sandbox && said.own && !says(said, "no matching operation")
                        ? Meaning{ErrorCode::session_lost, "It has ended; a new one can be made."}
                    : of_sandbox
                        ? Meaning{ErrorCode::sandbox_unavailable,
                                  "That is no answer of E2B's, so the sandbox may well be there: "
                                  "look at E2B_API_URL and the proxies on the way.",
                                  true}
                        : Meaning{ErrorCode::not_found,
                                  "Look at the name of the template and at E2B_API_URL."},
                    reply.status, said, message);
    }
    return made(meaning_of(reply.status, said, says_when(reply)), reply.status, said, message);
}

StatusError envd_error(const Asked& asked, const HttpReply& reply)
{
    auto error = envd_error_of(asked, reply);
    error.set_retry_after(retry_after_of(reply));
    if (error.code() == ErrorCode::busy && error.retry_after()) {
        error.with_detail("retry_after", std::to_string(error.retry_after()->count()));
    }
    return error;
}

bool leaves_open(const StatusError& answer) noexcept
{
    if (answer.status() == 200) { // of a stream: any other word may be of a process that ran
        static constexpr std::array refusals{"invalid_argument",   "not_found",
                                             "permission_denied",  "unauthenticated",
                                             "resource_exhausted", "unimplemented"};
        return std::ranges::find(refusals, answer.word()) == refusals.end();
    }
    constexpr int request_timeout = 408;
    constexpr int client_closed = 499; // Connect's "canceled"
    constexpr int does_not_run = 502;
    if (answer.status() == does_not_run && answer.is_own() &&
        std::string_view(answer.what()).find("was not found") != std::string_view::npos) {
        return false;
    }
    return answer.status() >= 500 || answer.status() == request_timeout ||
           answer.status() == client_closed;
}

std::optional<StatusError> stream_error(const Asked& asked, std::string_view payload)
{
    const auto value = parse_json(payload);
    if (!value || !value->is_object()) {
        throw Error(ErrorCode::backend_error,
                    "could not " + asked.what + ": " + asked.where + " ended its stream with " +
                        std::to_string(payload.size()) + " bytes that mean nothing");
    }
    const auto found = value->find("error");
    if (found == value->end() || found->is_null()) {
        return std::nullopt;
    }
    Said said{.text = {}, .word = "unknown"};
    if (found->is_object()) {
        said.text = quotable(text_at(*found, "message"), asked.secrets);
        said.word = text_at(*found, "code");
    }
    const bool of_user = said.word == "unauthenticated" && is_about_user(said);
    return made(of_user ? unknown_user() : meaning_of_word(said.word), 200, said,
                message_of(asked, quotable(said.word, asked.secrets), said));
}

std::optional<std::chrono::seconds> retry_after_of(const HttpHead& head)
{
    const auto value = head.header("retry-after");
    if (const auto seconds = parse_retry_after(value)) {
        return seconds;
    }
    const auto then = parse_http_date(value);
    if (!then) {
        return std::nullopt;
    }
    const auto now = parse_http_date(head.header("date"));
    const auto left = std::chrono::ceil<std::chrono::seconds>(
        *then - now.value_or(std::chrono::system_clock::now()));
    return left > longest_wait ? std::nullopt
                               : std::optional(std::max(left, std::chrono::seconds(0)));
}

std::string quotable(std::string_view text, const std::vector<std::string>& secrets)
{
    // Before it is cut: half of a key is too much as well.
    std::string whole(text.substr(0, 64U << 10U));
    for (const auto& secret : secrets) {
        for (auto at = whole.find(secret);
             secret.size() >= shortest_secret && at != std::string::npos;
             at = whole.find(secret, at)) {
            whole.replace(at, secret.size(), "[hidden]");
            at += std::string_view("[hidden]").size();
        }
    }
    std::replace_if(
        whole.begin(), whole.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; },
        ' ');
    const auto last = whole.find_last_not_of(' ');
    whole.resize(last == std::string::npos ? 0 : last + 1);
    return visible_beginning(whole, longest_quote, " ...");
}

} // namespace berth::e2b
