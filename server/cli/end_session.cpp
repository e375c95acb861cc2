#include "server/cli/end_session.hpp"

#include "sandbox/base/shell_word.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/session/lifecycle.hpp"
#include "server/cli/print.hpp"
#include "server/cli/reports.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace berth::server::cli {
namespace {

using nlohmann::json;

/// Why nothing was ended, and what to do.
struct NothingEnded {
    std::optional<ErrorCode> code;
    std::string reason;
    std::string remedy;
};

/// A session that has ended is there as long as its home is.
NothingEnded why_nothing_ended(session::SessionManager& sessions, const Asked& asked,
                               const std::optional<std::string>& key, const Unsettled& unsettled)
{
    const auto sight = key ? sessions.show(*key) : std::nullopt;
    if (sight && sight->facts.state == to_string(session::State::ended)) {
        return {ErrorCode::conflict,
                "session " + one_line(asked.name) + " has ended already; its home is kept",
                std::string(asked.over_http ? "DELETE with ?purge=true"
                                            : "The same command with --purge") +
                    " removes it, with the files in its home."};
    }
    if (!key && unsettled.seconds > 0) {
        return {ErrorCode::busy, unsettled.reason, unsettled.remedy};
    }
    return {ErrorCode::not_found, with_unrestored(missing_sentence(asked), unsettled),
            asked.over_http ? advice_over_http(sessions, asked.id)
                            : advice_on_missing(sessions, asked.id, "kill")};
}

/// What a key, an id or a name that was given has led to, by its own name where the books have it.
/// Before it ends: of a home that is gone they know nothing.
session::SessionId named_by(session::SessionManager& sessions, const Asked& asked,
                            const std::optional<std::string>& key)
{
    // Of a damaged one its key, which nobody has asked for by that.
    if (auto known = key ? sessions.id_of(*key) : std::nullopt; known && known->session != *key) {
        return *std::move(known);
    }
    return {asked.id.principal, asked.id.session.empty() ? asked.name : asked.id.session, {}};
}

/// What is still to be done where the files of a session could not be saved.
std::string advice_on_unsaved(const session::Ended& ended, const session::SessionId& id, bool purge,
                              bool over_http)
{
    return (ended.remedy.empty() ? "" : ended.remedy + "\n") +
           "Its home is kept, and its next call has it again (`berth call --principal " +
           shell_word(one_line(id.principal)) + " --session " + shell_word(one_line(id.session)) +
           " bash_exec ...`, with its --var if it has any). " +
           (!purge      ? "`berth sessions gc` tries again."
            : over_http ? "With ?purge=true&save=false it is removed all the same."
                        : "With --purge --no-save it is removed all the same.");
}

/// What is still to be done where the books could not be told.
std::string advice_on_unnoted(const Error& unnoted)
{
    return (unnoted.hint().empty() ? "" : unnoted.hint() + '\n') +
           "`berth sessions gc` notes it, and what it saves again replaces what is there. The "
           "session's next call may be told that its sandbox was lost.";
}

/// Who has moved the state directory, or not mounted it, must not believe that files are gone. What
/// is elsewhere goes with its machine.
bool may_have_home(sandbox::Backend& backend, const std::string& key)
{
    return !backend.is_bound_to_host() || !backend.find_home(key).empty();
}

} // namespace

std::string saved_sentence(const session::SavedFiles& saved)
{
    if (saved.files == 0) {
        return "nothing was there that session.save_on_end names";
    }
    return tools::counted(saved.files, "file") + " (" + tools::human_bytes(saved.bytes) +
           (saved.files == 1 ? ") is" : ") are") + " in the workspace at " +
           one_line(saved.folder) +
           (saved.skipped.empty()
                ? ""
                : "; skipped: " + one_line(saved.skipped.front()) +
                      (saved.skipped.size() > 1
                           ? " and " + tools::counted(saved.skipped.size() - 1, "other")
                           : ""));
}

std::string unfinished_sentence(const session::Ended& ended)
{
    if (!ended.trouble.empty()) {
        return "what session.save_on_end names could not be saved: " + ended.trouble;
    }
    return ended.unnoted ? std::string("that could not be noted: ") + ended.unnoted->what()
                         : std::string();
}

json saved_json(const session::SavedFiles& saved)
{
    json skipped = json::array();
    for (const auto& item : saved.skipped) {
        skipped.push_back(utf8::sanitize(item));
    }
    return {{"session", saved.session},
            {"folder", saved.folder},
            {"files", saved.files},
            {"bytes", saved.bytes},
            {"skipped", std::move(skipped)}};
}

Outcome kill_session(session::SessionManager& sessions, const Asked& asked, bool purge,
                     session::AtEnd files)
{
    const auto unsettled = collect_leftovers(sessions);
    const auto key = find_key(sessions, asked);
    const auto named = named_by(sessions, asked, key);
    const bool has_home = key && may_have_home(sessions.backend(), *key);
    const auto ended = key ? sessions.kill_listed(*key, purge, files) : session::Ended();
    const auto unfinished = unfinished_sentence(ended);
    const bool purged = ended && purge && unfinished.empty(); // else the home is kept
    const auto why = ended ? NothingEnded() : why_nothing_ended(sessions, asked, key, unsettled);
    Outcome outcome{.data = boxed({{"session", named.session},
                                   {"principal", named.principal},
                                   {"key", key.value_or("")},
                                   {"killed", ended.ended},
                                   {"purged", purged},
                                   {"saved", ended.saved ? saved_json(*ended.saved) : json()},
                                   {"unsaved", ended.trouble},
                                   {"code", why.code ? to_string(*why.code) : std::string_view()},
                                   {"reason", why.reason},
                                   {"remedy", ended ? ended.remedy : why.remedy}}),
                    .text = {},
                    .complaint = why.reason,
                    .remedy = why.remedy,
                    .failure = why.code};
    if (why.code == ErrorCode::busy) {
        (*outcome.data)["retry_after"] = unsettled.seconds;
    }
    if (ended) {
        outcome.text = "session " + one_line(named.session.empty() ? asked.name : named.session) +
                       " has ended" +
                       (!purged    ? ""
                        : has_home ? ", and its home is removed"
                                   : ", and no home of it was found on this host") +
                       (ended.saved ? "; " + saved_sentence(*ended.saved) : "");
        if (!unfinished.empty()) {
            const bool unsaved = !ended.trouble.empty();
            outcome.complaint = unfinished;
            outcome.remedy = unsaved ? advice_on_unsaved(ended, named, purge, asked.over_http)
                                     : advice_on_unnoted(*ended.unnoted);
            outcome.failure = unsaved ? ErrorCode::backend_error : ended.unnoted->code();
            (*outcome.data)["code"] = to_string(*outcome.failure);
            (*outcome.data)["reason"] = outcome.complaint;
            (*outcome.data)["remedy"] = outcome.remedy;
        }
    }
    return outcome;
}

} // namespace berth::server::cli
