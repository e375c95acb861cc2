#pragma once

#include "sandbox/protocol/messages.hpp"
#include "sandbox/sandbox.hpp"
#include "sandbox/session/told.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::session {

/// What the agent is told of commands whose results nobody has seen (JobEntry::unseen), as a server
/// finds them that comes to a machine: a line each, the newest few; of the others their number.
[[nodiscard]] std::vector<std::string> unseen_notices(const protocol::InfoReply& info);

/// Asks for them, and claims them: nobody else tells them until what this returns is told, or its
/// receipts are gone. Throws Error where the guest does not say. `next`: as Sandbox::info().
[[nodiscard]] Told claim_unseen(sandbox::Sandbox& sandbox,
                                const sandbox::CallToCome* next = nullptr);

/// The same; nothing where the guest does not say: the call that follows meets it, and tells what
/// is wrong.
[[nodiscard]] Told claim_doubtful(sandbox::Sandbox& sandbox) noexcept;

/// Of a machine that may be about to end.
struct LastNotices {
    /// Of the newest few that have ended.
    std::vector<std::string> told;
    /// Of the others, for a machine that does end; empty: there are none.
    std::string untold;
};

/// Which of those that have ended are told.
enum class LastOf : unsigned char {
    untold,   ///< of which nobody was told the end, also where somebody knows of them
              ///< (JobEntry::expected)
    or_unread ///< also those whose end was told, and not what they printed (JobEntry::unread)
};

/// By the list that it has.
[[nodiscard]] LastNotices last_notices(const protocol::InfoReply& info,
                                       LastOf which = LastOf::untold);

/// Of those that run, for a machine that is ended now: a line each, the newest few; of the others
/// their number.
[[nodiscard]] std::vector<std::string> stopped_notices(const protocol::InfoReply& info);

/// To each of `last.told`, which are of the same list and `which`, the end of what it printed, as
/// far as the guest gives that: for it they count as told from then on, and all that are unread as
/// read where those are told.
void add_what_was_printed(LastNotices& last, const protocol::InfoReply& info,
                          sandbox::Sandbox& sandbox, LastOf which) noexcept;

/// Of a machine that has ended and of which no more could be asked, by the list it had: of the
/// newest few how each ended, of the others their number.
[[nodiscard]] std::vector<std::string> parting_notices(const protocol::InfoReply& info);

/// The same and stopped_notices(), by what a guest that ended itself has left of that list
/// (sandbox::Backend::last_words()); nothing where it cannot be decoded.
[[nodiscard]] std::vector<std::string> notices_of_words(std::string_view words);

/// In place of those, for which there is no room: of how many outcomes they tell.
[[nodiscard]] std::string notice_of_earlier(std::span<const std::string> notices);

/// Drops of `notices` those of jobs of whose outcomes `later` tells.
void drop_of_same_jobs(std::vector<std::string>& notices, const std::vector<std::string>& later);

/// Drops of `notices`, from the one at `since` on, what `later` tells too, of the same outcomes or
/// of the same loss: it is of a machine that has gone meanwhile, and knows what became of them.
void drop_told_again(std::vector<std::string>& notices, std::size_t since,
                     const std::vector<std::string>& later);

} // namespace berth::session
