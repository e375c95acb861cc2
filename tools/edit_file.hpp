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
        std::string if_sha256;
        bool dry_run = false;
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    /// Aliases in the objects of `edits` too.
    [[nodiscard]] static nlohmann::json canonical(const nlohmann::json& arguments);
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    [[nodiscard]] static Result run(Context& context, const Args& args);

    /// Throws Error(invalid_argument) unless there is either one replacement or a list of them.
    [[nodiscard]] static protocol::EditFileRequest request(const Args& args,
                                                           const Settings& settings);
    [[nodiscard]] static Result render(const protocol::EditFileReply& reply,
                                       const Settings& settings);
};

} // namespace berth::tools
