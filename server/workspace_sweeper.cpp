#include "server/workspace_sweeper.hpp"

#include "sandbox/workspace/store.hpp"

#include <utility>

namespace berth::server {

session::SweepSaves make_workspace_sweeper(std::string workspace)
{
    return
        [workspace = std::move(workspace)](const Deadline& deadline, const std::stop_token& stop) {
            auto swept = workspace::sweep_workspace(workspace, deadline, stop);
            session::SweptSaves told{.files = swept.files,
                                     .bytes = swept.bytes,
                                     .failed = std::move(swept.failed),
                                     .complete = swept.complete};
            for (auto& why : told.failed) {
                why.insert(0, "what a save that was killed has left in the workspace: ");
            }
            return told;
        };
}

} // namespace berth::server
