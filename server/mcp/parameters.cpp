#include "server/mcp/parameters.hpp"

#include "server/rpc/error.hpp"

#include <nlohmann/json.hpp>

namespace berth::mcp {

const std::string& string_parameter(const nlohmann::json& params, const char* name,
                                    std::string_view method)
{
    const auto found = params.find(name);
    if (found == params.end() || !found->is_string()) {
        throw rpc::ProtocolError(rpc::invalid_params,
                                 std::string(method) + " needs \"" + name + "\", a string");
    }
    return found->get_ref<const std::string&>();
}

void refuse_cursor()
{
    throw rpc::ProtocolError(rpc::invalid_params, "Invalid cursor");
}

void require_first_page(const nlohmann::json& params)
{
    if (const auto cursor = params.find("cursor"); cursor != params.end() && *cursor != "") {
        refuse_cursor();
    }
}

} // namespace berth::mcp
