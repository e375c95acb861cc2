#pragma once

#include "sandbox/workspace/store.hpp"
#include "server/mcp/offers.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace berth::server {

/// What berth has to read for a client, beside its tools: the files of the workspace as
/// workspace:///PATH, and the facts of the session as berth://session. Makes and wakes no machine.
class OwnResources final : public mcp::Resources {
  public:
    /// Of a larger file the client is told to have it loaded into the sandbox: it is sent in one
    /// message, which is held whole here and there.
    static constexpr std::uint64_t most_bytes = 1ULL << 20U;
    /// Files in one page of the list.
    static constexpr std::size_t page = 100;

    struct Sources {
        workspace::Store* workspace = nullptr; ///< null, or of nobody: no files
        std::string principal{};
        /// JSON text; empty: there is none.
        std::function<std::string(const std::stop_token&)> session{};

        [[nodiscard]] bool has_files() const { return workspace != nullptr && !principal.empty(); }

        [[nodiscard]] bool are_none() const { return !has_files() && !session; }
    };

    explicit OwnResources(Sources sources) : sources_(std::move(sources)) {}

    [[nodiscard]] mcp::ResourcePage list(const std::string& from,
                                         const std::stop_token& stop) override;
    [[nodiscard]] std::vector<mcp::ResourceTemplate> templates() override;
    [[nodiscard]] mcp::ResourceContent read(const std::string& uri, const std::stop_token& stop,
                                            const Hold& hold) override;
    [[nodiscard]] std::optional<mcp::Completion> complete(const std::string& uri_template,
                                                          const std::string& argument,
                                                          const std::string& value) override;

  private:
    [[nodiscard]] mcp::ResourceContent read_file(const std::string& path,
                                                 const std::stop_token& stop, const Hold& hold);

    Sources sources_;
};

} // namespace berth::server
