#include "server/cli/outcome.hpp"

#include "server/cli/print.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace berth::server::cli {

std::shared_ptr<nlohmann::json> boxed(nlohmann::json&& data)
{
    return std::make_shared<nlohmann::json>(std::move(data));
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
