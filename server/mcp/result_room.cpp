#include "server/mcp/result_room.hpp"

#include <algorithm>
#include <chrono>

namespace berth::mcp {
namespace {

/// Until other results have left: as long as a command waits for its turn.
constexpr std::chrono::milliseconds patience{3000};

/// A result comes as one text and is put into one message; not all of a text is ASCII, nor does
/// JSON escape all of it.
constexpr std::size_t bytes_for_a_character = 2;

/// So much of a result comes with any call.
constexpr std::size_t uncounted = 16UL * 1024;

} // namespace

ResultRoom::ResultRoom(rpc::Call& call, const tools::Entry& tool, const tools::Settings& settings)
    : call_(call), only_reads_(tool.annotations.read_only)
{
    if (only_reads_) {
        take(bytes_for_a_character * std::max(settings.read_budget, settings.output_budget));
    }
}

void ResultRoom::take(std::size_t bytes)
{
    call_.hold(bytes, patience);
    held_ += bytes;
}

void ResultRoom::take_for(const std::string& result)
{
    if (result.size() <= std::max(uncounted, held_)) {
        return;
    }
    const auto missing = result.size() - held_;
    if (only_reads_) {
        take(missing);
    } else {
        call_.try_hold(missing); // told all the same
    }
}

} // namespace berth::mcp
