#include "server/options/session_name.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"

#include <cstddef>

namespace berth::server {

bool is_showable(std::string_view name)
{
    constexpr std::size_t longest = 256;
    return name.size() <= longest && utf8::is_valid(name) && !utf8::has_control(name);
}

std::string require_name(const std::string& name, const std::string& what)
{
    if (!is_showable(name)) {
        throw Error(ErrorCode::invalid_argument, what + " is not allowed",
                    "Allowed: UTF-8 of at most 256 bytes, without control characters.");
    }
    return name;
}

std::pair<std::string, std::string> pick_session(const Given& given, const Environment& environment,
                                                 const HttpOptions& http)
{
    std::pair<std::string, std::string> picked{"", "default"};
    if (http.is_wanted() && given.is_server) {
        if (given.session) {
            throw Error(ErrorCode::invalid_argument,
                        "--session is of a server on standard input and output",
                        "Over HTTP each client names its own, by the header Berth-Session. To have "
                        "all of them in one, say session.key = \"{global}\".");
        }
        return {"default", "default"}; // what a client without a name gets
    }
    if (given.session) {
        picked = {*given.session, "flag --session"};
    } else if (const auto own = environment("BERTH_SESSION")) {
        picked = {*own, "environment BERTH_SESSION"};
    } else if (given.is_server) {
        if (const auto claude = environment("CLAUDE_CODE_SESSION_ID")) {
            picked = {*claude, "environment CLAUDE_CODE_SESSION_ID"};
        }
    }
    if (given.session && given.session->empty()) {
        // `--session "$UNSET"`: an unnamed session's files would be gone with the server.
        throw Error(ErrorCode::invalid_argument, "session = \"\" (flag --session) is not allowed",
                    "Give it a name; without the flag the session is unnamed and ends with the "
                    "server.");
    }
    (void)require_name(picked.first, "the session's name (" + picked.second + ")");
    return picked;
}

} // namespace berth::server
