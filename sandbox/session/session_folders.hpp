#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <functional>
#include <string>
#include <vector>

namespace berth::session {

/// In the folder of each session that books in files know.
inline constexpr const char* file_record_name = "record.json";
/// See HostFolders::claim_telling().
inline constexpr const char* file_teller_name = "teller";

/// The folders of the sessions of a state directory, <state_directory>/sessions/<key>, where the
/// books in files, what a host keeps where they are elsewhere, and the backend's homes are.
/// Thread-safe; every function throws Error where the state directory cannot be used. That is
/// judged each time, before anything in it is believed: whoever can write to it could leave a
/// record of a machine of their own there, free a lock, or have a home removed.
class SessionFolders {
  public:
    explicit SessionFolders(std::string state_directory);

    /// Throws Error(backend_error) for what is no key, as all below do: the last that stands
    /// between "../.." and the folders of others.
    [[nodiscard]] std::string path(const std::string& key) const;

    /// Invalid when it does not exist.
    [[nodiscard]] UniqueFd open(const std::string& key) const;

    /// Made when missing, 0700; Error(no_space) where there is no room for it.
    [[nodiscard]] UniqueFd make(const std::string& key) const;
    /// The same, in a state directory that is open, and so was judged.
    [[nodiscard]] UniqueFd make(int state, const std::string& key) const;

    /// `sessions`: the open folder in which the one of that key is.
    using Wanted = std::function<bool(int sessions, const std::string& key)>;

    /// The keys of those that are wanted, in order.
    [[nodiscard]] std::vector<std::string> keys(const Wanted& wanted) const;

    /// What is advised where one cannot be used.
    [[nodiscard]] static const char* hint() noexcept;

  private:
    [[nodiscard]] UniqueFd open_all() const;

    std::string state_directory_;
    std::string sessions_;
};

} // namespace berth::session
