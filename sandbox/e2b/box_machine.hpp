#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/e2b/link.hpp"
#include "sandbox/e2b/running_box.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace berth::e2b {

/// In the sandbox: what the guest has of its own, of root alone.
inline constexpr const char* guest_folder = "/run/berth";

/// The guest's program in a sandbox, by the hash of its bytes: an older one stays beside it.
[[nodiscard]] std::string guest_path(const std::string& hash);

/// What confines what runs there.
[[nodiscard]] const std::vector<sandbox::Layer>& box_layers();

/// What the record of a sandbox has beside its id.
namespace record_keys {
inline constexpr const char* domain = "domain"; ///< as E2B said it; empty: the usual one
inline constexpr const char* envd = "envd";     ///< its version
inline constexpr const char* guest = "guest";   ///< hash of its program
inline constexpr const char* idle = "idle";     ///< ms that it runs after its last use
} // namespace record_keys

/// What the record has under one of them; empty: nothing.
[[nodiscard]] std::string value_of(const sandbox::MachineRecord& record, const char* key);

/// The guest's program in the sandbox of a record, which in shared books is another's word: what it
/// says is run there as root. Throws Error(backend_error) where that cannot be a program's hash.
[[nodiscard]] std::string guest_path_of(const sandbox::MachineRecord& record);

/// Of record_keys::idle, in a record that others may have written.
[[nodiscard]] std::chrono::milliseconds idle_of(const sandbox::MachineRecord& record);

/// The machine of a record. `box`: as it was found; `lease`: see sandbox::Reach.
[[nodiscard]] std::unique_ptr<sandbox::Machine> make_box_machine(std::shared_ptr<Link> link,
                                                                 sandbox::MachineRecord record,
                                                                 std::shared_ptr<RunningBox> box,
                                                                 std::chrono::milliseconds lease);

} // namespace berth::e2b
