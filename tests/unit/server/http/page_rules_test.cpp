#include "server/http/page_rules.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::server::http; // NOLINT(google-build-using-namespace): the subject

namespace {

transport::HttpHead asking(const std::string& headers = "", const std::string& method = "OPTIONS")
{
    transport::HttpHead head;
    head.method = method;
    head.fields = {{"origin", "https://app.example.com"},
                   {"access-control-request-method", "POST"},
                   {"access-control-request-headers", headers}};
    return head;
}

std::string allowed(const std::string& headers)
{
    for (const auto& [name, value] : answer_preflight(asking(headers), "POST").fields) {
        if (name == "Access-Control-Allow-Headers") {
            return value;
        }
    }
    return "";
}

} // namespace

TEST_CASE("what a browser asks first is told from any other request")
{
    CHECK(is_preflight(asking()));
    CHECK_FALSE(is_preflight(asking("", "POST")));
    transport::HttpHead bare;
    bare.method = "OPTIONS";
    CHECK_FALSE(is_preflight(bare));
}

TEST_CASE("of the headers that a page wants to send only what clients of MCP send is said again")
{
    const auto always = allowed("");
    CHECK(always.find("authorization") != std::string::npos);
    CHECK(always.find('*') == std::string::npos);
    CHECK(allowed("Mcp-Param-Region, mcp-param-a_b") ==
          always + ", mcp-param-region, mcp-param-a_b");
    CHECK(allowed("x-evil, cookie, mcp-param-, mcp-param-a b, mcp-param-\xff") ==
          always + ", mcp-param-");
    CHECK(allowed("mcp-param-" + std::string(100, 'a')) == always);
}

TEST_CASE("answers differ by the page, and only one that may call is named")
{
    CHECK(page_fields("").size() == 1);
    CHECK(page_fields("").front() == std::pair<std::string, std::string>("Vary", "Origin"));
    const auto fields = page_fields("https://app.example.com");
    CHECK(fields[1].second == "https://app.example.com");
    for (const auto& [name, value] : fields) {
        CHECK(name != "Access-Control-Allow-Credentials");
        CHECK(value != "*");
    }
}
