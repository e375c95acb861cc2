#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/e2b/api_types.hpp"

#include <map>
#include <optional>
#include <string>

namespace berth::e2b {

/// The sandbox that has a session's files, of its machine now and of the next one: they are on its
/// disk and nowhere else (docs/adr/0026-home-on-e2b.md).
struct BoxHome {
    std::string id; ///< E2B's
    /// Of the first machine that was in it, as its metadata says for ever; empty: berth has not
    /// made it.
    std::string number;
    /// Of one that was taken over: what was left in it then (guest_install.hpp). Whoever can write
    /// in shared books could else have anybody's sandbox be used, or ended.
    std::string proof;
    /// By whose key it was last made or installed in, as account_of(); empty: an earlier release
    /// did that.
    std::string account{};
};

/// Who may say that it is gone: as the home has it, else as its number.
[[nodiscard]] std::string account_of(const BoxHome& home);

/// As MachineRecord::home.
[[nodiscard]] std::map<std::string, std::string> encode(const BoxHome& home);

/// Nothing where the record names none: its machine was never made.
[[nodiscard]] std::optional<BoxHome> home_of(const sandbox::MachineRecord& record);

/// Nothing where `home`, of a MachineSpec, names none.
[[nodiscard]] std::optional<BoxHome> home_in(const std::map<std::string, std::string>& home);

/// Whether it is what its metadata says: an id in shared books is another's word, and a sandbox of
/// somebody else must not be used, let alone be ended.
[[nodiscard]] bool is_of(const BoxInfo& box, const BoxHome& home);

/// Of a sandbox that a session is to have from now on. Throws Error(busy) where a berth with other
/// books seems to use it, Error(conflict) as ends_at_its_limit().
[[nodiscard]] BoxHome home_for_adoption(const BoxInfo& box);

/// Of one that would not be there for a session that has a name.
[[nodiscard]] Error ends_at_its_limit(const std::string& id);

/// Of one without its proof.
[[nodiscard]] Error no_longer_ours(const BoxHome& home);

} // namespace berth::e2b
