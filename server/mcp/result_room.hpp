#pragma once

#include "server/rpc/call.hpp"
#include "tools/tool.hpp"

#include <cstddef>
#include <string>

namespace berth::mcp {

/// What one call of a tool holds for its result, counted until that has left (rpc::Call::hold()):
/// without, who makes calls and takes no answer would have the server keep as many results as he
/// has connections. By the call's thread.
class ResultRoom {
  public:
    /// Takes what a text of the operator's largest budget may need, before anything is read, where
    /// the tool only reads. Throws Error(busy) where others leave no room for so long.
    ResultRoom(rpc::Call& call, const tools::Entry& tool, const tools::Settings& settings);

    /// tools::Hold: of what is larger than that, as pictures are. Throws Error(busy).
    void take(std::size_t bytes);

    /// What `result` needs beyond that. Throws Error(busy), but never for a tool that has been at
    /// work: whoever is told "busy" would have it done twice. Those are bounded by the calls that
    /// there may be and by what each may show.
    void take_for(const std::string& result);

  private:
    rpc::Call& call_;
    const bool only_reads_;
    std::size_t held_ = 0;
};

} // namespace berth::mcp
