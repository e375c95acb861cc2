#include "tests/unit/tools/schema_validator.hpp"

#include <nlohmann/json.hpp>

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace berth::tools::test {

std::string schema_complaint(std::string_view schema, const nlohmann::json& value)
{
    const auto document = nlohmann::json::parse(schema);
    valijson::Schema parsed;
    valijson::SchemaParser parser;
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(document), parsed);
    valijson::Validator validator;
    valijson::ValidationResults results;
    if (validator.validate(parsed, valijson::adapters::NlohmannJsonAdapter(value), &results)) {
        return {};
    }
    std::string text;
    valijson::ValidationResults::Error error;
    while (results.popError(error)) {
        for (const auto& step : error.context) {
            text += step;
        }
        text += ": " + error.description + "\n";
    }
    return text.empty() ? "refused" : text;
}

} // namespace berth::tools::test
