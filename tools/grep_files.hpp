#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::tools {

struct GrepFiles {
    static constexpr std::string_view name = "grep_files";
    static constexpr std::string_view title = "Search in files";
    static constexpr std::string_view bodies = "files";
    static constexpr Annotations annotations{
        .read_only = true, .destructive = false, .idempotent = true};

    struct Args {
        std::string pattern;
        std::string path;
        std::vector<std::string> include;
        std::string type;
        protocol::GrepMode mode = protocol::GrepMode::content;
        std::optional<std::int64_t> before;
        std::optional<std::int64_t> after;
        std::int64_t context = 0;
        bool ignore_case = false;
        bool fixed = false;
        bool multiline = false;
        bool only_matching = false;
        std::optional<std::int64_t> limit;
        std::int64_t offset = 0;
        bool hidden = true;
        bool no_ignore = false;
        bool newest_first = false;
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    [[nodiscard]] static Result run(Context& context, const Args& args);

    [[nodiscard]] static protocol::GrepRequest request(const Args& args, const Settings& settings);
    [[nodiscard]] static Result render(const Args& args, const protocol::GrepReply& reply,
                                       const Settings& settings);
};

} // namespace berth::tools
