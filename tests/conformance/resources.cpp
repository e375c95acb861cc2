#include "sandbox/base/base64.hpp"
#include "sandbox/base/error.hpp"
#include "tests/conformance/fixture.hpp"

namespace berth::conformance {
namespace {

constexpr std::string_view template_begin = "test://template/";
constexpr std::string_view template_end = "/data";

class Fixtures final : public mcp::Resources {
  public:
    [[nodiscard]] mcp::ResourcePage list(const std::string& from,
                                         const std::stop_token& /*stop*/) override
    {
        // In two pages, so that cursors are used.
        if (from.empty()) {
            return {.resources = {described("static-text", "text/plain"),
                                  described("static-binary", "image/png")},
                    .next = "second"};
        }
        if (from != "second") {
            throw Error(ErrorCode::invalid_argument, "no page begins there");
        }
        return {.resources = {described("watched-resource", "text/plain")}};
    }

    [[nodiscard]] std::vector<mcp::ResourceTemplate> templates() override
    {
        return {{.uri = "test://template/{id}/data",
                 .name = "template",
                 .description = "Data of an id.",
                 .mime_type = "application/json"}};
    }

    [[nodiscard]] mcp::ResourceContent read(const std::string& uri, const std::stop_token& /*stop*/,
                                            const Hold& /*hold*/) override
    {
        if (uri == "test://static-text") {
            return text("text/plain", "This is the content of the static text resource.");
        }
        if (uri == "test://watched-resource") {
            return text("text/plain", "Nothing happens here.");
        }
        if (uri == "test://static-binary") {
            return {.mime_type = "image/png", .bytes = base64_decode(picture).value_or("")};
        }
        if (uri.starts_with(template_begin) && uri.ends_with(template_end) &&
            uri.size() > template_begin.size() + template_end.size()) {
            const auto id = uri.substr(template_begin.size(),
                                       uri.size() - template_begin.size() - template_end.size());
            return text(
                "application/json",
                json{{"id", id}, {"templateTest", true}, {"data", "Data for ID: " + id}}.dump());
        }
        throw Error(ErrorCode::not_found, "Resource not found: " + uri);
    }

    [[nodiscard]] std::optional<mcp::Completion> complete(const std::string& uri_template,
                                                          const std::string& argument,
                                                          const std::string& /*value*/) override
    {
        return uri_template == "test://template/{id}/data" && argument == "id"
                   ? std::optional(mcp::Completion())
                   : std::nullopt;
    }

  private:
    static mcp::Resource described(const std::string& name, const std::string& type)
    {
        return {.uri = "test://" + name,
                .name = name,
                .description = "A resource of the conformance suite.",
                .mime_type = type};
    }

    static mcp::ResourceContent text(const std::string& type, const std::string& text)
    {
        return {.mime_type = type, .bytes = text, .is_text = true};
    }
};

} // namespace

std::shared_ptr<mcp::Resources> resources()
{
    return std::make_shared<Fixtures>();
}

} // namespace berth::conformance
