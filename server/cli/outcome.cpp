#include "server/cli/outcome.hpp"

#include "server/cli/print.hpp"
#include "server/mcp/error_details.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace berth::server::cli {

std::shared_ptr<nlohmann::json> boxed(nlohmann::json&& data)
{
    return std::make_shared<nlohmann::json>(std::move(data));
}

nlohmann::json refusal_data(std::string_view code, const std::string& reason,
                            const std::string& remedy, unsigned retry_after)
{
    nlohmann::json told{{"code", code}, {"reason", reason}, {"remedy", remedy}};
    if (retry_after > 0) {
        told["retry_after"] = retry_after;
    }
    return told;
}

Outcome failed(const Error& error)
{
    return {.data = boxed(refusal_data(to_string(error.code()), error.what(), error.hint(),
                                       mcp::details_of(error).value("retry_after", 0U))),
            .text = {},
            .complaint = error.what(),
            .remedy = error.hint(),
            .failure = error.code()};
}

int tell(const Outcome& outcome, bool as_json)
{
    if (as_json) {
        print_json(*outcome.data);
    } else {
        if (!outcome.text.empty()) {
            print(outcome.text);
        }
        if (!outcome.complaint.empty()) {
            complain(outcome.complaint, outcome.remedy);
        }
    }
    return outcome.failure ? 1 : 0;
}

} // namespace berth::server::cli
