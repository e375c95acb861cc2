#pragma once

#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace berth::tools {

struct ListWorkspaceFiles {
    static constexpr std::string_view name = "list_workspace_files";
    static constexpr std::string_view title = "List the workspace";
    static constexpr std::string_view bodies{};
    static constexpr Annotations annotations{
        .read_only = true, .destructive = false, .idempotent = true};

    struct Args {
        std::string prefix = "/";
        std::int64_t limit = 1000;
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    [[nodiscard]] static Result run(Context& context, const Args& args);
};

} // namespace berth::tools
