#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/sandbox.hpp"
#include "sandbox/session/key.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace berth::session {

/// What goes to a workspace when a session's machine has ended: docs/adr/0022-save-on-end.md.
/// Written to the books, for whoever notices the end.
struct SaveOnEnd {
    std::vector<std::string> patterns; ///< relative to the home; empty: nothing
    std::string workspace;             ///< which one, as the server that made the machine names it

    friend bool operator==(const SaveOnEnd&, const SaveOnEnd&) = default;
};

/// How far that is, for the home of a record.
struct Saving {
    bool due = false;   ///< a machine was made since it was done
    bool begun = false; ///< a machine that is there for it alone is made, or lives
    /// Of the workspace, where files of this session went, or were about to; empty: none did yet.
    std::string folder;
    std::string trouble; ///< why it was not done at the last attempt

    friend bool operator==(const Saving&, const Saving&) = default;
};

/// Whose files are to be saved.
struct Leaving {
    SessionId id;
    std::string key;
    SaveOnEnd what;
    std::string folder;    ///< of the workspace, where they go
    bool is_first = false; ///< no save of this session has begun there before
};

/// What was saved.
struct SavedFiles {
    std::string session;
    std::string folder; ///< empty: there was nothing to save, now or before
    std::size_t files = 0;
    std::uint64_t bytes = 0;
    /// What was named and is no file that can be saved, "name: reason", as far as it is named.
    std::vector<std::string> skipped;
};

/// The folder of the workspace for a session of which nothing has been saved (`folder` is empty):
/// it has no files, and is the same until some come. Throws Error. Called by any thread.
using ChooseFolder = std::function<std::string(const Leaving&)>;

/// Copies them from a sandbox that has nothing but the home; all or none. Throws Error. Called by
/// any thread.
using SaveFiles = std::function<SavedFiles(sandbox::Sandbox& sandbox, const Leaving& leaving,
                                           const std::stop_token& stop)>;

/// What was removed of saves that did not come to their end, because their process was killed.
struct SweptSaves {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
    std::vector<std::string> failed; ///< why something stayed, but for what is in use
    bool complete = true;            ///< there was time to look at all
};

/// Removes it from the workspace, of all principals; a save that lives is not touched. Throws
/// Error. Called by any thread.
using SweepSaves = std::function<SweptSaves(const Deadline& deadline, const std::stop_token& stop)>;

/// What becomes of them where a machine is ended.
enum class AtEnd : unsigned char {
    save,    ///< they are saved; where that fails the home stays, also where it was to be removed
    leave,   ///< there is no time for it: the home stays for whoever saves them
    give_up, ///< nobody wants them any more
};

/// What came of ending a session.
struct Ended {
    bool ended = false; ///< there was something to end
    /// What was saved; nothing where nothing had to be, or it was not done.
    std::optional<SavedFiles> saved;
    std::string trouble; ///< why it was not done: the home is kept; empty: all is well
    std::string remedy;
    /// Why the books could not be told of what has been done; nothing where they were.
    std::optional<Error> unnoted = {};
    /// It is not ended, since nobody knows whether its server is dead, which has not been heard of
    /// lately: in so long it counts as that.
    std::optional<std::chrono::milliseconds> lapses_in = {};

    explicit operator bool() const noexcept { return ended; }
};

} // namespace berth::session
