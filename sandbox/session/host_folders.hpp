#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace berth::session {

/// What a host keeps beside the homes that it has, where the books of their sessions are elsewhere:
/// books in which a lock lapses, and which may come back as they were a while ago, are not enough
/// to end a machine or remove files on. In <state_directory>/sessions/<key>; nothing is made before
/// the first lock(). Thread-safe; every function throws Error(sandbox_unavailable), Error(no_space)
/// where the state directory cannot be used.
class HostFolders {
  public:
    explicit HostFolders(std::string state_directory);

    /// The right to make or end a machine of the key on this host: the kernel frees it when its
    /// holder dies, and not before. Invalid when another has it until the deadline.
    [[nodiscard]] UniqueFd lock(const std::string& key, const Deadline& deadline) const;

    /// Proof that the server of an unnamed session lives, which the kernel takes away when that
    /// dies. Invalid when another holds it until the deadline.
    [[nodiscard]] UniqueFd claim(const std::string& key, const Deadline& deadline) const;

    /// The right to tell what the books have untold of a session (Record::untold), of a server of
    /// this host: as claim(). Removed when it is let go of.
    class Teller {
      public:
        Teller(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

        ~Teller();
        Teller(const Teller&) = delete;
        Teller& operator=(const Teller&) = delete;

        /// Still: whoever deletes a session deletes the file that is locked with it.
        [[nodiscard]] bool holds() const noexcept;

      private:
        std::string path_;
        UniqueFd fd_;
    };

    /// Null where another has it.
    [[nodiscard]] std::shared_ptr<const Teller> claim_telling(const std::string& key) const;

    /// Removes what a server has left of that right which was killed as it let go of it. For who
    /// has nothing to tell; not where another has the right.
    void clear_telling(const std::string& key) const noexcept;

    /// Whether that is what a claim is on.
    [[nodiscard]] bool is_claim(const std::string& key, int claim) const noexcept;

    /// What is known here of the server of an unnamed session.
    struct Server {
        bool lives = false;
        UniqueFd dead; ///< it does not, and this is the claim that it had; else nobody knows
    };

    /// Makes nothing: without a trace of its claim the server was none of this host, or of a
    /// release that left none.
    [[nodiscard]] Server server_of(const std::string& key) const;

    /// What was noted last; empty: nothing.
    [[nodiscard]] std::string mark(const std::string& key) const;
    /// Under lock().
    void set_mark(const std::string& key, const std::string& mark) const;

    /// Under lock(). What is written there is found until forget(), and is read by who may use the
    /// state directory alone: the secret of a machine is in it.
    void keep_machine(const std::string& key, const std::string& text) const;

    /// Under lock(). Nothing is kept of it any more.
    void drop_machine(const std::string& key) const noexcept;

    /// Empty: nothing, or it cannot be read.
    [[nodiscard]] std::string kept_machine(const std::string& key) const;

    /// The keys that have it.
    [[nodiscard]] std::vector<std::string> with_machine() const;

    /// Under lock(). Removes all of that, and the folder where nothing else is in it.
    void forget(const std::string& key) const noexcept;

    /// Removes what writers of whatever is beside the home have left that were killed, a minute ago
    /// at least. Needs no lock.
    void sweep(const std::string& key) const;

    /// The keys of folders with nothing else in them, a minute old at least: what is left of a
    /// server that was killed as it began, or of the books' own loss.
    [[nodiscard]] std::vector<std::string> bare() const;

    /// The keys of those with a home in them, or anything else, of which no books in files tell;
    /// undisturbed for a minute at least.
    [[nodiscard]] std::vector<std::string> occupied() const;

    /// When set_mark() was called last, else when the folder was changed.
    [[nodiscard]] std::chrono::system_clock::time_point
    last_noted(const std::string& key) const noexcept;

  private:
    [[nodiscard]] std::string path(const std::string& key) const;
    [[nodiscard]] UniqueFd make_folder(const std::string& key) const;
    void write(const std::string& key, const char* name, const std::string& text) const;

    const std::string state_directory_;
};

} // namespace berth::session
