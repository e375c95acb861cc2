#include "tests/unit/session/fake_backend.hpp"
#include "tests/unit/temporary_directory.hpp"
#include "tools/dialect.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace

TEST_CASE("descriptions of the dialect are short and in its words, with an example that it takes")
{
    berth::tests::TemporaryDirectory directory;
    berth::tests::FakeBackend backend{directory / "machines"};
    const auto* dialect = find_dialect("claude");
    REQUIRE(dialect != nullptr);
    for (const auto& tool : tools_in(dialect)) {
        INFO(tool.name);
        const auto text = in_words_of(dialect, tool.describe(Settings{}, backend));
        CHECK(text.size() < 2000);
        const auto example = text.find("Example: {");
        REQUIRE(example != std::string::npos);
        const auto arguments = nlohmann::json::parse(text.substr(text.find('{', example)));
        CHECK_NOTHROW(tool.check(
            tool.line == nullptr ? arguments : own_arguments(*tool.line, arguments, Settings{})));
        for (const auto& line : dialect->tools) {
            CHECK(text.find(line.tool) == std::string::npos);
            CHECK(tool.input_schema.find(line.tool) == std::string::npos);
        }
    }
}

TEST_CASE("the description of Bash tells its limits in milliseconds")
{
    berth::tests::TemporaryDirectory directory;
    berth::tests::FakeBackend backend{directory / "machines"};
    Settings settings;
    settings.exec_timeout = std::chrono::seconds(77);
    settings.exec_max_timeout = std::chrono::seconds(600);
    const auto& bash = tools_in(find_dialect("claude")).front();
    REQUIRE(bash.name == "Bash");
    const auto text = bash.describe(settings, backend);
    CHECK(text.find("milliseconds (default 77000, at most 600000)") != std::string::npos);
    CHECK(text.find(backend.description()) != std::string::npos);
}

TEST_CASE("the description of Read names all that it shows")
{
    berth::tests::TemporaryDirectory directory;
    berth::tests::FakeBackend backend{directory / "machines"};
    const auto tools = tools_in(find_dialect("claude"));
    const auto read = std::find_if(tools.begin(), tools.end(),
                                   [](const auto& tool) { return tool.name == "Read"; });
    REQUIRE(read != tools.end());
    const auto text = read->describe(Settings{}, backend);
    for (const char* kind :
         {"Pictures", "notebooks by cell", "PDFs by page", "archives by entry"}) {
        CHECK(text.find(kind) != std::string::npos);
    }
}
