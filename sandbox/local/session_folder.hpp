#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/protocol/parting.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace berth::local {

class SpareFolder;

/// `<state>/sessions/<name>`: a folder that only berth can enter, and in it what the session sees:
///
///     home     kept between machines
///     tmp, var-tmp, run, machine-id     made anew for each machine
///     certificates     so too, of one whose proxy opens TLS
inline constexpr const char* certificates_folder = "certificates";

class SessionFolder {
  public:
    /// Makes the folder when missing. `state` is the path of the state directory, which must exist.
    /// Throws std::system_error.
    SessionFolder(const std::string& state, const std::string& name, SpareFolder* spare = nullptr);

    /// Whether a folder may be called so: a key, and nothing that leads elsewhere.
    [[nodiscard]] static bool is_name(const std::string& name);

    [[nodiscard]] static std::string path_of(const std::string& state, const std::string& name)
    {
        return state + "/sessions/" + name;
    }

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    [[nodiscard]] int fd() const noexcept { return folder_.get(); }

    /// Makes the temporary folders anew, and the home when it is missing, all owned by the given
    /// ids; of `spare`, as far as that goes. Throws Error(sandbox_unavailable) when what is there
    /// cannot be used.
    void prepare(uid_t uid, gid_t gid, SpareFolder* spare = nullptr) const;

    /// After prepare(): the folder of certificates, with files that anybody may read and nobody
    /// write, by name. Throws std::system_error.
    void add_certificates(const std::vector<std::pair<std::string, std::string>>& files) const;

    [[nodiscard]] bool has_home() const;

    /// The path of the home that there is; empty: none.
    [[nodiscard]] static std::string find_home(const std::string& state, const std::string& name);

    /// Makes the other's home this one's, in one step. Throws std::system_error: it has none, or
    /// there is one here.
    void take_home(const SessionFolder& other) const;

    /// True when nothing of it is left.
    [[nodiscard]] bool remove_temporary() const noexcept;
    [[nodiscard]] bool remove_home() const noexcept;

    /// Which machine the temporary folders belong to; empty: none.
    [[nodiscard]] std::string generation() const;
    /// The same, without making the folder.
    [[nodiscard]] static std::string noted_generation(const std::string& state,
                                                      const std::string& name);
    void set_generation(const std::string& generation, SpareFolder* spare = nullptr) const;
    /// And its notes.
    void forget_generation() const noexcept;

    /// Where that machine's guest listens, for a server that looks for its socket elsewhere: what
    /// is in its environment says where (runtime_folder.hpp).
    void set_socket(const std::string& path, SpareFolder* spare = nullptr) const;
    /// `usual`: where one of which that was not noted listens. It is called after the machine: what
    /// is noted under another name is believed only while its guest lives in this very folder, as
    /// of a state directory that was moved. A copied one has the note of the original's, whose
    /// guest who ends the session there would kill. Makes no folder.
    [[nodiscard]] static std::string socket(const std::string& state, const std::string& name,
                                            std::string usual);
    /// Whether what is noted has that file name. Makes no folder.
    [[nodiscard]] static bool has_socket(const std::string& state, const std::string& name,
                                         const std::string& file);

    /// What that machine's cgroups are called, where that is a slot; "" for one that has `id`, the
    /// machine's, for a name. `generation`: as set_generation() has it.
    void set_cgroup(const std::string& slot, const std::string& id, const std::string& generation,
                    SpareFolder* spare = nullptr) const;
    /// What they are called: `id`, too, where the note is not of that one or of the machine that is
    /// the latest here. Makes no folder.
    [[nodiscard]] static std::string cgroup(const std::string& state, const std::string& name,
                                            const std::string& id);

    /// A file for the guest of that machine to say why it ends itself (protocol/parting.hpp), open
    /// for writing. Throws std::system_error.
    [[nodiscard]] UniqueFd make_parting_note(SpareFolder* spare = nullptr) const;
    /// What it says of the machine of that record; nothing where there is none. Makes no folder.
    [[nodiscard]] static std::optional<protocol::Parting>
    parting(const std::string& state, const sandbox::MachineRecord& record);

    /// Of that machine, which is about to be ended before the books say so. As parting().
    static void note_asked_end(const std::string& state, const sandbox::MachineRecord& record);

    /// See sandbox::Backend::last_words(). As parting().
    [[nodiscard]] static std::string last_words(const std::string& state,
                                                const sandbox::MachineRecord& record);

    /// Whether that machine's guest has that file open at the deadline, wherever it runs; of an
    /// empty generation, whichever machine's. Makes no folder.
    [[nodiscard]] static bool is_lived_in(const std::string& state, const std::string& name,
                                          const std::string& generation, const Deadline& deadline);

    /// Whether surely no machine lives in it: it has none noted, or that one's note is there and
    /// nobody's. Makes no folder.
    [[nodiscard]] static bool is_unlived(const std::string& state, const std::string& name);

    /// Which file that machine's note is (file_id()); empty: there is none, or it is of another
    /// machine. Makes no folder.
    [[nodiscard]] static std::string parting_id(const std::string& state, const std::string& name,
                                                const std::string& generation);

    /// Whether the session has a folder there, and no machine is noted in it. Makes no folder.
    [[nodiscard]] static bool has_noted_none(const std::string& state, const std::string& name);

    /// The folder itself, if nothing else is in it.
    void remove_if_empty() const noexcept;

  private:
    std::string path_;
    UniqueFd folder_;
};

} // namespace berth::local
