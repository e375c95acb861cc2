// What --require asks of the sandboxes of a server, and how often it looks.

#include "sandbox/base/error.hpp"
#include "server/required_layers.hpp"
#include "tests/unit/server/options/options_bench.hpp"
#include "tests/unit/session/fake_backend.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

using namespace berth;         // NOLINT(google-build-using-namespace): the subject
using namespace berth::server; // NOLINT(google-build-using-namespace): the subject

namespace {

struct LayersBench : server::tests::Bench {
    LayersBench()
    {
        Composition composition;
        composition.examine = [this](const Options& of, sandbox::Backend&) {
            ++looks;
            return std::vector<Check>{
                {"netns", of.sessions.network != sandbox::Network::host, "none", "make one"}};
        };
        composition.layers = [](const Options&) { return std::vector<std::string>{"netns"}; };
        required.emplace(composition);
        options.required_layers = {"netns"};
    }

    std::string refusal()
    {
        try {
            required->insist(options, backend);
        } catch (const Error& error) {
            return std::string(to_string(error.code())) + ": " + error.what();
        }
        return {};
    }

    int looks = 0;
    berth::tests::FakeBackend backend{directory + "/machines"};
    std::optional<RequiredLayers> required;
    Options options = make();
};

} // namespace

TEST_SUITE("server/required_layers")
{
    TEST_CASE_FIXTURE(LayersBench, "one look is enough for all sandboxes of a kind")
    {
        required->insist(options, backend);
        required->insist(options, backend);
        CHECK(looks == 1);
        options.sessions.network = sandbox::Network::host;
        CHECK(refusal() == "sandbox_unavailable: --require: not in force:\n"
                           "  netns: none; remedy: make one");
        (void)refusal();
        CHECK(looks == 2);
        options.sessions.network = sandbox::Network::none;
        required->insist(options, backend);
        CHECK(looks == 2);
    }

    TEST_CASE_FIXTURE(LayersBench, "a name that is none is a mistake, and nothing is looked for")
    {
        options.required_layers = {"moon"};
        CHECK(refusal() == "invalid_argument: --require: there is no layer \"moon\"");
        options.required_layers.clear();
        required->insist(options, backend);
        CHECK(looks == 0);
    }
}
