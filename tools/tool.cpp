#include "tools/tool.hpp"

#include "tools/cut_off.hpp"
#include "tools/dialect.hpp"
#include "tools/masked_call.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace berth::tools {

Result::Result() = default;

Result::Result(std::string result_text, const nlohmann::json& result_data)
    : text(std::move(result_text)), data(std::make_unique<nlohmann::json>(result_data))
{
}

Result::Result(std::string result_text, nlohmann::json&& result_data)
    : text(std::move(result_text)), data(std::make_unique<nlohmann::json>(std::move(result_data)))
{
}

Result::Result(Result&&) noexcept = default;
Result& Result::operator=(Result&&) noexcept = default;
Result::~Result() = default;

Result run_tool(const Entry& tool, Context& context, const nlohmann::json& arguments)
{
    refuse_cut_off(tool, arguments);
    Result result = run_masked(context.settings, context.told, context.progress, [&] {
        return tool.dialect == nullptr ? tool.run(context, arguments)
                                       : run_in_dialect(tool, context, arguments);
    });
    auto& data = *result.data;
    data["session"] = context.session.session;
    data["backend"] = std::string(context.sessions.backend().name());
    data["ok"] = true;
    return result;
}

} // namespace berth::tools
