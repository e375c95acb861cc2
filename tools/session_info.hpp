#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::tools {

struct SessionInfo {
    static constexpr std::string_view name = "session_info";
    static constexpr std::string_view title = "About this session";
    static constexpr std::string_view bodies{};
    static constexpr Annotations annotations{
        .read_only = true, .destructive = false, .idempotent = true};

    struct Args {};

    /// What is known only of a machine that runs; without one `layers` has the limits that it would
    /// have here.
    struct Machine {
        protocol::InfoReply info;
        std::vector<sandbox::Layer> layers;
        bool can_be_made = true; ///< where there is none; `why` of the facts has what is in the way
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    /// Makes no machine.
    [[nodiscard]] static Result run(Context& context, const Args& args);

    [[nodiscard]] static Result render(const session::SessionFacts& facts, const Machine& machine,
                                       const Settings& settings);
};

} // namespace berth::tools
