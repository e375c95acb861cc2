#include "sandbox/e2b/guest_install.hpp"

#include "sandbox/base/base64.hpp"
#include "sandbox/base/hex.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/base/wait_bound.hpp"
#include "sandbox/e2b/box_machine.hpp"
#include "sandbox/e2b/retry.hpp"
#include "sandbox/e2b/unkept_networks.hpp"
#include "sandbox/protocol/residence.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/wait_for.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <variant>

#include <fcntl.h>

namespace berth::e2b {
namespace {

constexpr std::size_t longest_said = 2048;
/// Of the script below: the program is not there, or another one is.
constexpr int has_not_it = 97;
constexpr int has_no_tools = 98;
constexpr int not_kept_from_all = 96;
/// Beside the guest's programs, which stay for as long as the sandbox does.
constexpr const char* proof_path = "/usr/local/lib/berth/taken-over";

UniqueFd open_program(const std::string& path)
{
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        throw_errno("open " + path);
    }
    return file;
}

/// Whether a step is made again that came to this. Each may be: what was written is written whole
/// again, and a guest that is there already stays.
bool may_have_broken(const Error& error)
{
    if (const auto* const failure = dynamic_cast<const HttpFailure*>(&error)) {
        return failure->cause() == HttpFailure::Cause::broken ||
               failure->cause() == HttpFailure::Cause::unconnected;
    }
    constexpr int too_many = 429;
    const auto* const answer = dynamic_cast<const StatusError*>(&error);
    return answer != nullptr && answer->code() != ErrorCode::no_space &&
           (leaves_open(*answer) || answer->status() == too_many ||
            answer->code() == ErrorCode::busy); // between two states
}

/// A connection that breaks is no reason to end a sandbox, and to have an agent ask for another.
template <class Step>
auto until_it_arrives(const Deadline& deadline, Step&& step)
{
    for (unsigned failures = 1;; ++failures) {
        try {
            return step();
        } catch (const Error& error) {
            const auto wait = wait_after_break(failures, random_part());
            if (!wait || !may_have_broken(error) || deadline.expired()) {
                throw;
            }
            sandbox::wait_for(*wait, WaitBound::within(deadline, {}).stop);
        }
    }
}

/// How a process has ended, and what it has said.
struct Done {
    int status = -1;
    std::string said;
};

Done run_once(EnvdClient& envd, const std::string& script, const Deadline& deadline)
{
    auto stream = envd.start({.command = "/bin/sh",
                              .arguments = {"-c", script},
                              .working_directory = "/",
                              .user = "root",
                              .stdin_open = false});
    Done done;
    while (const auto event = stream.next(deadline)) {
        if (const auto* output = std::get_if<ProcessOutput>(&*event)) {
            done.said.append(output->bytes, 0,
                             longest_said - std::min(longest_said, done.said.size()));
        } else if (const auto* end = std::get_if<ProcessEnded>(&*event)) {
            done.status = end->exited ? end->exit_code : -1;
        }
    }
    return done;
}

/// `may`: see ApiClient.
Done run_as_root(EnvdClient& envd, const std::string& script, const Deadline& deadline,
                 const sandbox::Right& may = {})
{
    return until_it_arrives(deadline, [&] {
        sandbox::require(may);
        return run_once(envd, script, deadline);
    });
}

/// Says where it got an answer, and ends with not_kept_from_all. What else goes wrong with it
/// proves nothing.
std::string question(const std::vector<std::string>& forbidden)
{
    if (forbidden.empty()) {
        return {};
    }
    std::string script = "\"$f\" outside";
    for (const auto& place : forbidden) {
        script += ' ' + place;
    }
    return script + "; [ $? -ne " + std::to_string(protocol::residence::answered_outside) +
           " ] || exit " + std::to_string(not_kept_from_all) + "; ";
}

/// What was cut off on the way there, or was changed, never runs.
std::string start_script(const std::string& hash, const std::string& from,
                         const std::vector<std::string>& forbidden)
{
    const auto path = guest_path(hash);
    std::string script = "f=" + path + "; ";
    if (!from.empty()) {
        // An attempt whose answer was lost has moved it already.
        script +=
            "[ ! -e " + from + " ] || { chmod 755 " + from + " && mv -f " + from + " \"$f\"; }; ";
    }
    // Without it every program would count as one that was changed on its way.
    script += "command -v sha256sum >/dev/null || exit " + std::to_string(has_no_tools) + "; ";
    return script + "[ -x \"$f\" ] && echo '" + hash +
           "  '\"$f\" | sha256sum -c --status 2>/dev/null || exit " + std::to_string(has_not_it) +
           "; " + question(forbidden) + "exec \"$f\" reside " + guest_folder;
}

void upload_text(EnvdClient& envd, const std::string& path, std::string_view text,
                 const Deadline& deadline)
{
    until_it_arrives(deadline, [&] {
        auto rest = text;
        envd.upload(
            path, "root",
            [&rest](char* data, std::size_t size) {
                const auto length = rest.copy(data, size);
                rest.remove_prefix(length);
                return length;
            },
            deadline);
    });
}

void upload_program(EnvdClient& envd, const GuestProgram& program, const std::string& path,
                    const Deadline& deadline)
{
    until_it_arrives(deadline, [&] {
        const auto file = open_program(program.path);
        envd.upload(
            path, "root",
            [&file](char* data, std::size_t size) { return read_full(file.get(), data, size); },
            deadline);
    });
}

} // namespace

GuestProgram find_guest_program(const std::string& path)
{
    const auto file = open_program(path);
    Sha256 hash;
    std::array<char, 65'536> piece{};
    while (const auto size = read_full(file.get(), piece.data(), piece.size())) {
        hash.update(piece.data(), size);
    }
    return {.path = path, .hash = hash.finish()};
}

bool end_guest(EnvdClient& envd, const Deadline& deadline, const sandbox::Right& may)
{
    // Whichever is there: who made the machine may have had another release.
    // And what it has written goes to the disk, as long as its guest would be given for it.
    const auto script = "done=1; for f in " + guest_path("*") +
                        "; do [ -x \"$f\" ] && \"$f\" evict " + guest_folder +
                        " 2>/dev/null && done=0 && break; done; timeout 5 sync; exit $done";
    return run_as_root(envd, script, deadline, may).status == 0;
}

bool is_ended(EnvdClient& envd, const Deadline& deadline, const sandbox::Right& may)
{
    try {
        return end_guest(envd, deadline, may);
    } catch (const Error&) {
        return false;
    }
}

void leave_proof(EnvdClient& envd, const std::string& proof, const Deadline& deadline)
{
    upload_text(envd, proof_path, proof, deadline);
    // And what comes next has the guest's secret, in a sandbox where others may be at work.
    const std::string folder = guest_folder;
    const auto done = run_as_root(envd,
                                  std::string("chmod 600 ") + proof_path + " && mkdir -p " +
                                      folder + " && chmod 700 " + folder,
                                  deadline);
    if (done.status != 0) {
        throw Error(ErrorCode::sandbox_unavailable,
                    "the sandbox of E2B cannot be taken over: " + quotable(done.said, {}));
    }
}

bool has_proof(EnvdClient& envd, const std::string& proof, const Deadline& deadline)
{
    const auto script = std::string("[ \"$(cat ") + proof_path + ")\" = '" + proof + "' ]";
    // From shared books, so another's word: nothing of it is the shell's.
    return proof.find_first_not_of(small_hex_digits) == std::string::npos &&
           run_as_root(envd, script, deadline).status == 0;
}

void require_kept(EnvdClient& envd, const std::string& guest,
                  const std::vector<std::string>& forbidden, const Deadline& deadline)
{
    if (forbidden.empty()) {
        return;
    }
    const auto done = run_as_root(envd, "f=" + guest + "; " + question(forbidden), deadline);
    if (done.status == not_kept_from_all) {
        throw NotKept(quotable(done.said, {}));
    }
}

void install_guest(EnvdClient& envd, const GuestProgram& program,
                   const protocol::GuestConfig& config, const std::vector<std::string>& forbidden,
                   const Deadline& deadline, const sandbox::Right& may)
{
    const auto start = [&](const std::string& arrived) {
        may(); // what was sent before may have taken long
        return run_as_root(envd, start_script(program.hash, arrived, forbidden), deadline);
    };
    may();
    upload_text(envd, std::string(guest_folder) + '/' + protocol::residence::config,
                protocol::encode(config), deadline);
    auto done = start({});
    if (done.status == has_not_it) {
        const auto arrived = guest_path(program.hash) + ".new";
        upload_program(envd, program, arrived, deadline);
        done = start(arrived);
    }
    if (done.status == not_kept_from_all) {
        throw NotKept(quotable(done.said, {}));
    }
    if (done.status != 0) {
        const auto why = done.status == has_not_it
                             ? std::string("its program did not arrive there as it is here")
                         : done.status == has_no_tools ? std::string("it has no sha256sum")
                                                       : quotable(done.said, {});
        throw Error(ErrorCode::sandbox_unavailable,
                    "berth's guest could not be started in the sandbox of E2B: " +
                        (why.empty() ? "it ended with " + std::to_string(done.status) : why),
                    "It needs a template with a Linux userland of x86-64: /bin/sh, coreutils, "
                    "bash, and a user named `user`.");
    }
}

} // namespace berth::e2b
