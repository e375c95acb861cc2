#pragma once

#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace berth::tools {

struct SaveToWorkspace {
    static constexpr std::string_view name = "save_to_workspace";
    static constexpr std::string_view title = "Save files to the workspace";
    static constexpr std::string_view bodies{};
    static constexpr Annotations annotations{};

    struct Args {
        std::string sandbox_path;
        std::string workspace_path; ///< empty: the default
        bool overwrite = true;
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    [[nodiscard]] static Result run(Context& context, const Args& args);
};

} // namespace berth::tools
