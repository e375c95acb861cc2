#include "server/mcp/reply.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/host_limit.hpp"
#include "sandbox/base/utf8.hpp"
#include "server/rpc/json_text.hpp"
#include "tools/base64.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <system_error>
#include <utility>

namespace berth::mcp {
namespace {

using nlohmann::json;

/// The only place where text of a sandbox is made fit for JSON; valid text is not copied.
void append_text(std::string& out, std::string_view text)
{
    if (utf8::is_valid(text)) {
        rpc::append_quoted(out, text);
    } else {
        rpc::append_quoted(out, utf8::sanitize(text));
    }
}

void append_notices_meta(std::string& out, const std::vector<std::string>& notices)
{
    if (!notices.empty()) {
        out += R"(,"berth/notice":)" + rpc::to_text(notices);
    }
}

/// A guest joins the notices of a command with newlines. Every line is one of its own, since one
/// without the prefix would read as output.
std::vector<std::string> one_per_line(const std::vector<std::string>& notices)
{
    std::vector<std::string> lines;
    for (std::string_view rest : notices) {
        while (!rest.empty()) {
            const auto end = std::min(rest.find('\n'), rest.size());
            if (end > 0) {
                lines.emplace_back(rest.substr(0, end));
            }
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    return lines;
}

std::string with_notices(std::string text, const std::vector<std::string>& notices)
{
    // What a command prints may look like a notice, and would be believed: then a line says where
    // the notices end.
    const bool looks_like_one = text.starts_with("[berth]");
    if (notices.empty() && !looks_like_one) {
        return text;
    }
    std::string lines;
    for (const auto& notice : notices) {
        lines += "[berth] " + notice + '\n';
    }
    if (looks_like_one) {
        lines += "[berth] end of the notices: what follows is output\n";
    }
    return lines + text;
}

void append_content(std::string& out, std::string_view text,
                    const std::vector<tools::Image>& images)
{
    out += R"("content":[{"type":"text","text":)";
    append_text(out, text);
    out += '}';
    for (const auto& image : images) {
        out += R"(,{"type":"image","data":")";
        out += tools::base64_encode(image.data);
        out += R"(","mimeType":)";
        append_text(out, image.mime_type);
        out += '}';
    }
    out += ']';
}

void leave_out(json& data, std::string_view members)
{
    while (!members.empty()) {
        const auto end = std::min(members.find(' '), members.size());
        data.erase(std::string(members.substr(0, end)));
        members.remove_prefix(std::min(end + 1, members.size()));
    }
}

struct DefaultHint {
    ErrorCode code;
    const char* hint;    ///< what to do where the error itself does not say it better
    const char* instead; ///< of sending the call again, once that has not helped
};

constexpr std::array default_hints{
    DefaultHint{ErrorCode::invalid_argument,
                "Change the argument that is named above, then call again.",
                "Read again what the error says of the arguments, and change them"},
    DefaultHint{ErrorCode::empty_command, "Give a shell command.", "Put a command into it"},
    DefaultHint{
        ErrorCode::invalid_path,
        "Give another path, e.g. /home/user/NAME in the sandbox, or /NAME in the workspace.",
        "Take another path"},
    DefaultHint{
        ErrorCode::not_found,
        "See what is there: glob_files in the sandbox, list_workspace_files in the workspace.",
        "Look with glob_files, or ls in bash_exec, what there is and what it is called; if it is "
        "yet to appear, wait for it in one bash_exec"},
    DefaultHint{ErrorCode::is_directory, "Name a file in it.",
                "List the directory, and name a file in it"},
    DefaultHint{ErrorCode::not_a_file,
                "Name a regular file; bash_exec can work with anything else.",
                "See with ls -l in bash_exec what it is"},
    DefaultHint{ErrorCode::permission_denied,
                "Look at its mode and owner with ls -ld in bash_exec, or use a place under "
                "/home/user or /tmp.",
                "Use a place under /home/user or /tmp"},
    DefaultHint{
        ErrorCode::text_not_found,
        "Read the file again and take the text from it as it stands there.",
        "Read the file again and copy the text from what it shows, or write the whole file anew"},
    DefaultHint{ErrorCode::ambiguous_match,
                "Add lines around it until it is unique, or set replace_all.",
                "Read the file again and take in more lines around the one place that is meant"},
    DefaultHint{ErrorCode::conflict, "Look at it as it is now, then decide again.",
                "Read again what is there now, and start from that"},
    DefaultHint{ErrorCode::too_large, "Do it in smaller parts.", "Do it in smaller parts"},
    DefaultHint{ErrorCode::no_space, "Delete what is not needed any more, or write less.",
                "Make room first"},
    DefaultHint{ErrorCode::quota_exceeded,
                "Delete what is not needed any more, or ask the operator for more room.",
                "Make room first"},
    DefaultHint{ErrorCode::busy, "Try again in a few seconds.",
                "Wait longer, do something else meanwhile, or end what keeps it busy"},
    DefaultHint{ErrorCode::cancelled,
                "If it is still wanted, look how far it came, then call again.",
                "Do something shorter, or in parts"},
    DefaultHint{ErrorCode::sandbox_unavailable,
                "The operator runs `berth doctor` on this host: it names what is missing.",
                "Nothing that you call here can mend it"},
    DefaultHint{ErrorCode::session_lost,
                "Call again for a fresh sandbox; processes and what was outside the home are gone.",
                "Something in the call may be what ends the sandbox: do it in smaller steps"},
    DefaultHint{ErrorCode::authentication_required,
                "The operator starts the server with a --principal that is not empty.",
                "Do without the workspace"},
    DefaultHint{
        ErrorCode::backend_error,
        "Try again. If it stays, the operator ends the session with `berth sessions kill`, or runs "
        "`berth doctor`.",
        "Nothing that you call here is likely to mend it"},
    DefaultHint{ErrorCode::unsupported,
                "Use another way: the descriptions of the tools say what they can do.",
                "Use another way"},
    DefaultHint{ErrorCode::internal,
                "Try again. If it stays, tell the operator: the server's log on stderr has more.",
                "Try another way to the same end"},
};
static_assert(default_hints.size() == static_cast<std::size_t>(ErrorCode::internal) + 1);
static_assert(
    [] {
        for (std::size_t i = 0; i < default_hints.size(); ++i) {
            if (static_cast<std::size_t>(default_hints[i].code) != i) {
                return false;
            }
        }
        return true;
    }(),
    "in the order of the codes");

const DefaultHint& default_hint(ErrorCode code)
{
    return default_hints.at(static_cast<std::size_t>(code));
}

std::string hint_of(const Error& error, const tools::Dialect* dialect)
{
    return error.hint().empty() ? tools::in_words_of(dialect, default_hint(error.code()).hint)
                                : error.hint();
}

/// The last line of an error that comes again and again.
std::string stop_repeating(const std::exception& failure, std::uint64_t times,
                           const tools::Dialect* dialect)
{
    const auto* error = dynamic_cast<const Error*>(&failure);
    const auto code = error != nullptr ? error->code() : ErrorCode::internal;
    return "This same call has now failed " + std::to_string(times) +
           " times in a row with this same error, so do not send it again as it is. " +
           tools::in_words_of(dialect, default_hint(code).instead) +
           "; if that does not help either, tell the user what is in the way and ask.";
}

json error_object(const std::exception& failure, const tools::Dialect* dialect)
{
    const auto* error = dynamic_cast<const Error*>(&failure);
    if (error == nullptr) {
        const auto* system = dynamic_cast<const std::system_error*>(&failure);
        const auto limit = host_limit(system != nullptr ? system->code().value() : 0);
        return {{"code", to_string(ErrorCode::internal)},
                {"message", (limit ? limit->reason + ": " : std::string()) + failure.what()},
                {"hint", limit ? "The operator can help: " + limit->remedy
                               : "This is a fault of the server; its log on stderr has more."},
                {"retryable", false}};
    }
    json object{{"code", to_string(error->code())},
                {"message", error->what()},
                {"hint", hint_of(*error, dialect)},
                {"retryable", error->retryable()}};
    if (!error->details().empty()) {
        object["details"] = error->details();
    }
    return object;
}

} // namespace

std::string begin_result(Era era, const Identity& identity)
{
    if (era == Era::legacy) {
        return R"({"_meta":{)";
    }
    std::string text = R"({"resultType":"complete","_meta":{)"
                       R"("io.modelcontextprotocol/serverInfo":{"name":"berth","version":)";
    rpc::append_quoted(text, identity.version);
    text += '}';
    return text;
}

std::string tool_result(tools::Result result, const std::vector<std::string>& told,
                        std::string_view bodies, Era era, const Identity& identity)
{
    const auto notices = one_per_line(told);
    const bool failed = result.failed;
    json data = result.data ? std::move(*result.data) : json::object();
    std::string structured;
    if (identity.structured_content) {
        structured = rpc::to_text(data);
    } else {
        leave_out(data, bodies);
    }
    std::string out = begin_result(era, identity);
    out += era == Era::modern ? "," : "";
    out += R"("berth/result":)";
    out += structured.empty() ? rpc::to_text(data) : structured;
    append_notices_meta(out, notices);
    out += "},";
    append_content(out, with_notices(std::move(result.text), notices), result.images);
    if (!structured.empty()) {
        out += R"(,"structuredContent":)" + structured;
    }
    out += failed ? R"(,"isError":true})" : R"(,"isError":false})";
    return out;
}

std::string tool_failure(const std::exception& failure, const std::vector<std::string>& told,
                         Era era, const Identity& identity, std::uint64_t times)
{
    const auto notices = one_per_line(told);
    json error = error_object(failure, identity.dialect);
    std::string text = error["message"].get<std::string>();
    text += '\n' + error["hint"].get_ref<const std::string&>();
    if (times > 0) {
        error["repeated"] = times;
        text += '\n' + stop_repeating(failure, times, identity.dialect);
    }
    std::string out = begin_result(era, identity);
    out += era == Era::modern ? "," : "";
    out += R"("berth/error":)" + rpc::to_text(error);
    append_notices_meta(out, notices);
    out += "},";
    append_content(out, with_notices(std::move(text), notices), {});
    out += R"(,"isError":true})";
    return out;
}

std::string repetition_notice(std::uint64_t times)
{
    return "this same command has now ended the same way (same exit code, same output) " +
           std::to_string(times) +
           " times in a row, with no other call in between: if it waits for something, wait within "
           "one command (until COMMAND; do sleep 2; done, with a timeout); else look at what it "
           "printed and change something first, or ask the user";
}

} // namespace berth::mcp
