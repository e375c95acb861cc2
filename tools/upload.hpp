#pragma once

#include "sandbox/protocol/transfer.hpp"
#include "sandbox/sandbox.hpp"
#include "sandbox/workspace/store.hpp"
#include "tools/progress.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace berth::tools {

/// Files of a sandbox on their way into a workspace, invisible until all of them are there.
/// Destroyed without commit(): nothing stays. Not synchronised.
class Upload {
  public:
    /// The path in the workspace of a file that comes; nothing: it is left out.
    using Target = std::function<std::optional<std::string>(const protocol::TransferHeader&)>;

    /// All must outlive it. `overwrite` as of Store::create().
    Upload(workspace::Store& store, std::string principal, bool overwrite,
           const Progress& progress);

    /// Takes what the request exports, with what was taken before within what one save moves at
    /// most: the limits of the request are set here. Throws Error.
    [[nodiscard]] protocol::ExportReply take(sandbox::Sandbox& sandbox,
                                             protocol::ExportRequest request, const Target& target,
                                             const std::stop_token& stop);

    /// Of the files that were not left out, as the sandbox named them.
    [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

    /// As Store::commit().
    [[nodiscard]] std::vector<workspace::Entry> commit(const std::stop_token& stop);

  private:
    void begin(const protocol::TransferHeader& header, const Target& target);

    workspace::Store& store_;
    const std::string principal_;
    const bool overwrite_;
    TransferProgress progress_;
    std::vector<std::string> names_;
    std::vector<std::unique_ptr<workspace::Writer>> writers_;
    bool left_out_ = false; ///< the file that comes
    std::uint64_t bytes_ = 0;
};

} // namespace berth::tools
