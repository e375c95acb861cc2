#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/e2b/envd_client.hpp"
#include "sandbox/protocol/guest_config.hpp"
#include "sandbox/right.hpp"

#include <functional>
#include <string>
#include <vector>

namespace berth::e2b {

/// The static program that this server has.
struct GuestProgram {
    std::string path; ///< on this host
    std::string hash; ///< SHA-256 of its bytes, in hexadecimal
};

/// Throws std::system_error where it cannot be read.
[[nodiscard]] GuestProgram find_guest_program(const std::string& path);

/// Has the guest resident in a sandbox, as `config` says. Its program is sent where the template
/// has not the same one. `forbidden`: see forbidden_places(); they are asked before it begins.
/// Throws NotKept where one answers, Error(sandbox_unavailable) with what the sandbox said, and
/// what EnvdClient throws; the sandbox is of no use then. A step whose connection breaks is made
/// again, twice. `may` is called before whatever ends or changes the guest that is there,
/// and throws where that is another server's.
void install_guest(
    EnvdClient& envd, const GuestProgram& program, const protocol::GuestConfig& config,
    const std::vector<std::string>& forbidden, const Deadline& deadline,
    const sandbox::Right& may = [] {});

/// The same question in one that has the guest's program already, at that path; one of a release
/// that does not know it proves nothing. Throws NotKept, and what EnvdClient throws.
void require_kept(EnvdClient& envd, const std::string& guest,
                  const std::vector<std::string>& forbidden, const Deadline& deadline);

/// Ends the guest that is there and all that it and those before it run, and has what they have
/// written go to the disk; `may`: see ApiClient. False: none of the guests' programs in the sandbox
/// could do it.
bool end_guest(EnvdClient& envd, const Deadline& deadline, const sandbox::Right& may = {});
/// The same; false also where whatever is there does not answer, or `may` has thrown.
bool is_ended(EnvdClient& envd, const Deadline& deadline, const sandbox::Right& may = {});

/// Leaves in a sandbox what tells later that it was taken over (BoxHome::proof), for root alone.
/// Throws Error(sandbox_unavailable) with what the sandbox said.
void leave_proof(EnvdClient& envd, const std::string& proof, const Deadline& deadline);

[[nodiscard]] bool has_proof(EnvdClient& envd, const std::string& proof, const Deadline& deadline);

} // namespace berth::e2b
