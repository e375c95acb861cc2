#pragma once

#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace berth::tools {

struct DeleteWorkspaceFile {
    static constexpr std::string_view name = "delete_workspace_file";
    static constexpr std::string_view title = "Delete a file of the workspace";
    static constexpr std::string_view bodies{};
    static constexpr Annotations annotations{};

    struct Args {
        std::string workspace_path;
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    [[nodiscard]] static Result run(Context& context, const Args& args);
};

} // namespace berth::tools
