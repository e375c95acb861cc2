#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace berth::tools {

struct BashExec {
    static constexpr std::string_view name = "bash_exec";
    static constexpr std::string_view title = "Run a command";
    static constexpr std::string_view bodies = "stdout stderr";
    static constexpr Annotations annotations{.open_world = true};
    static constexpr std::string_view without_effect = "description";

    struct Args {
        std::string command;
        std::optional<std::int64_t> timeout; ///< seconds
        std::string workdir;
        std::map<std::string, std::string> env;
        std::optional<std::string> input;
        bool background = false;
        protocol::OnTimeout on_timeout = protocol::OnTimeout::kill;
        bool stdin_open = false;
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    [[nodiscard]] static Result run(Context& context, const Args& args);

    /// What the guest is asked. Throws Error (empty_command, invalid_argument).
    [[nodiscard]] static protocol::ExecuteRequest request(const Args& args,
                                                          const Settings& settings);
    [[nodiscard]] static Result render(const protocol::ExecuteReply& reply,
                                       std::chrono::seconds timeout, const Settings& settings);
};

} // namespace berth::tools
