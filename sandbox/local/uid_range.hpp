#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace berth::local {

class SpareFolder;

/// Host uids for sessions, one each. Claims are files `<state>/uids/<uid>` that hold the name of
/// the session's folder below `<state>/sessions`; a claim holds as long as that folder says the
/// same in its file `uid`. So no uid is given away while files of its session may exist, and a
/// folder that was removed by hand frees its uid. A folder whose file `uid` is damaged keeps the
/// uid that claims to be its own; where a power loss has emptied both files it keeps that of its
/// home, and until then nobody else has that.
class UidRange {
  public:
    /// `state`: an open directory that only berth can write. `patience`: for the lock, which others
    /// hold for some milliseconds.
    UidRange(int state, unsigned base, unsigned count,
             std::chrono::milliseconds patience = std::chrono::seconds(10));

    /// A uid that is chosen for a session, and what every process sees once it is written.
    struct Claim {
        unsigned uid = 0;
        std::string name;
        UniqueFd lock; ///< held until it is written: nobody else may choose meanwhile
        int state = -1;
        unsigned next = 0;
        bool fresh = true; ///< the session has no files of it yet

        /// The session's folder must exist. `spare`: whose blank files are used. Nothing happens
        /// when it is written already.
        void write(SpareFolder* spare = nullptr);
    };

    /// The uid of the session in folder `<state>/sessions/<name>`, the same one every time.
    /// Serialised between processes by a lock file. Throws Error(sandbox_unavailable) when the
    /// range is used up, Error(busy) where another berth holds the lock for that long,
    /// std::system_error.
    [[nodiscard]] Claim choose(const std::string& name) const;

    /// Both in one.
    [[nodiscard]] unsigned claim(const std::string& name) const;

    /// The uid of the session in folder `from` becomes that of `to`, which has none, together with
    /// the home: `move` renames it, and throws where it has not. Whoever next looks for a uid ends
    /// or undoes what a process that died has left of this: where the home is decides. Throws
    /// Error(backend_error) where the uid is not known, what choose() throws of its lock, and what
    /// `move` throws.
    void hand_over(const std::string& from, const std::string& to,
                   const std::function<void()>& move) const;

    /// The session's files are gone. Nothing happens without a claim. Throws what choose() throws
    /// of its lock: whoever forgot the session then would leave a uid that nobody ever frees.
    void release(const std::string& name);

    /// Removes what processes have left that were killed while they changed uids. Waits for nobody.
    static void clear_up(int state) noexcept;

  private:
    /// The uid that a session has, whose notes may say so.
    struct Own {
        unsigned uid = 0;
        bool is_written = false;
    };

    [[nodiscard]] bool is_taken(unsigned uid) const;
    [[nodiscard]] std::optional<Own> uid_of(const std::string& name) const;

    int state_;
    unsigned base_;
    unsigned count_;
    std::chrono::milliseconds patience_;
};

} // namespace berth::local
