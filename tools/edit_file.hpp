#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::tools {

struct EditFile {
    static constexpr std::string_view name = "edit_file";
    static constexpr std::string_view title = "Edit a file";
    static constexpr std::string_view bodies = "diff";
    static constexpr Annotations annotations{};

    struct Args {
        std::string path;
        std::optional<std::string> old_text;
        std::optional<std::string> new_text;
        bool replace_all = false;
        std::vector<protocol::Edit> edits;
        std::optional<std::string> patch; ///< instead of all others but dry_run
        std::string if_sha256;
        bool tolerant = false;
        bool dry_run = false;
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    /// Aliases in the objects of `edits` too.
    [[nodiscard]] static nlohmann::json canonical(const nlohmann::json& arguments);
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    [[nodiscard]] static Result run(Context& context, const Args& args);

    /// Throws as request() or patch_request().
    static void check(const Args& args);
    /// Throws Error(invalid_argument) unless the patch was given alone.
    [[nodiscard]] static protocol::PatchFilesRequest patch_request(const Args& args,
                                                                   const Settings& settings);
    /// Throws Error(invalid_argument) unless there is either one replacement or a list of them.
    [[nodiscard]] static protocol::EditFileRequest request(const Args& args,
                                                           const Settings& settings);
};

} // namespace berth::tools
