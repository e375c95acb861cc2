// Every message between host, guest, launcher and proxy: which one, a byte, then its bytes.

#include "sandbox/protocol/wire.hpp"

#include "sandbox/filter/policy.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/protocol/guest_config.hpp"
#include "sandbox/protocol/hello.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/protocol/transfer.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

#include <array>

namespace {

using namespace berth::protocol;

/// What was understood says the same when it is sent again.
template <class Message>
void check(std::string_view bytes)
{
    std::string again;
    try {
        again = encode(decode<Message>(bytes));
    } catch (const WireError&) {
        return;
    }
    berth::fuzz::require(encode(decode<Message>(again)) == again, "a message stays what it is");
}

template <class... Messages>
constexpr auto checks = std::array{&check<Messages>...};

// In the order of the headers; new ones come last, so that the seeds stay what they are.
constexpr auto all_checks =
    checks<GuestConfig, Hello, HelloReply, ErrorMessage, Empty, ExecuteRequest, ExecuteReply,
           ReadFileRequest, ReadFileReply, WriteFileRequest, WriteFileReply, EditFileRequest,
           EditFileReply, InfoReply, JobOutputRequest, JobOutputReply, JobInputRequest,
           JobInputReply, JobKillRequest, JobKillReply, PatchFilesRequest, PatchFilesReply,
           GlobRequest, GlobReply, GrepRequest, GrepReply, ExportRequest, ExportReply,
           ImportRequest, ImportReply, TransferHeader, berth::local::RootParts,
           berth::local::LaunchSpec, berth::local::LaunchResult, berth::local::ChildReport, Event,
           InfoRequest, berth::filter::Policy, berth::filter::SecretValues>;

} // namespace

BERTH_FUZZ_TARGET(wire)
{
    if (!input.empty()) {
        all_checks[berth::fuzz::byte_at(input, 0) % all_checks.size()](input.substr(1));
    }
}
