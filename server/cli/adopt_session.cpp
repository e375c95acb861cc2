#include "server/cli/adopt_session.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/shell_word.hpp"
#include "server/cli/print.hpp"
#include "server/cli/reports.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

namespace berth::server::cli {
namespace {

/// The only session of that name among those that may be meant: what --principal and --var say is
/// whose the home shall be, and its name may have led elsewhere so far.
std::optional<std::string> key_of_name(session::SessionManager& sessions, const Asked& asked,
                                       const session::Adoption& adoption)
{
    std::optional<std::string> key;
    for (const auto& named : sessions.names()) {
        if (named.id.session != asked.name ||
            !(adoption.any_principal || named.id.principal == adoption.to.principal)) {
            continue;
        }
        if (key) {
            return std::nullopt; // the list shows both, with the id of each
        }
        key = named.key;
    }
    return key;
}

/// Whether a machine could have that id that no book knows. On this host the books, and the homes,
/// know all that there are.
bool may_be_machine(const sandbox::Backend& backend, const std::string& id)
{
    constexpr std::size_t longest = 64;
    return !backend.is_bound_to_host() && !id.empty() && id.size() <= longest &&
           id.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz-") == std::string::npos;
}

/// Nothing where nobody knows of any.
std::optional<session::Adopted> machine_by_id(session::SessionManager& sessions,
                                              const std::string& id,
                                              const session::Adoption& adoption)
{
    try {
        return sessions.adopt_machine(id, adoption);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::not_found) {
            throw;
        }
        return std::nullopt;
    }
}

/// `what`: the key of the session whose home it was; nothing: a machine was taken by its id.
Outcome outcome_of(const Asked& asked, const session::SessionId& to,
                   const std::optional<std::string>& what, const session::Adopted& adopted)
{
    return {.data = boxed({{"session", to.session},
                           {"principal", to.principal},
                           {"key", adopted.key},
                           {"from", what.value_or(asked.name)},
                           {"from_session", adopted.from.session},
                           {"home", adopted.home},
                           {"ended_machine", adopted.ended_machine}}),
            .text =
                "session " + one_line(to.session) +
                (what ? " has the home of " + one_line(asked.name) +
                            (adopted.ended_machine ? ", whose machine was ended for it" : "") +
                            "; its next call makes a machine with it"
                      : " has the sandbox " + one_line(asked.name) + ", with all that is in it"),
            .complaint = {},
            .remedy = {},
            .failure = {}};
}

} // namespace

Outcome adopt_session(session::SessionManager& sessions, const Asked& asked,
                      const session::Adoption& adoption)
{
    const auto& to = adoption.to;
    if (to.session.empty()) {
        throw Error(ErrorCode::invalid_argument,
                    "adopt: it is not said which session shall have it",
                    "Name that with --session NAME.");
    }
    const auto unsettled = collect_leftovers(sessions);
    auto what = sessions.find_home_key(asked.id, asked.name);
    if (!what) {
        what = key_of_name(sessions, asked, adoption);
    }
    // Of a home whose record may be on its way back nobody could say whose it is.
    if (unsettled.seconds > 0 && !(what && sessions.id_of(*what))) {
        return not_found(asked, unsettled, {}, {});
    }
    const bool by_id = !what && may_be_machine(sessions.backend(), asked.name);
    std::optional<session::Adopted> adopted;
    if (what || by_id) {
        adopted =
            by_id ? machine_by_id(sessions, asked.name, adoption) : sessions.adopt(*what, adoption);
    }
    if (!adopted) {
        return nothing_done(
            asked, ErrorCode::not_found,
            with_unrestored("there is no session \"" + one_line(asked.name) + "\" of " +
                                one_line(asked.id.principal) + ", and no home of that key" +
                                (by_id ? ", nor a machine of that id" : ""),
                            unsettled),
            advice_on_missing(sessions, asked.id, "adopt", " --session " + shell_word(to.session)));
    }
    return outcome_of(asked, to, what, *adopted);
}

} // namespace berth::server::cli
