#pragma once

#include "server/http/serve_http.hpp"
#include "server/options/live_settings.hpp"
#include "tests/unit/server/options/options_bench.hpp"
#include "tests/unit/session/fake_backend.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace berth::tests {

/// What a server of HTTP is started with, whose machines are files and whose settings file changes.
struct MakingBench : server::tests::Bench {
    /// `text`: of the settings file.
    explicit MakingBench(const std::string& text)
    {
        given.values.erase("state_dir");
        file(text);
        given.is_server = true;
        given.makes_nothing_yet = true;
        making.given = given;
        making.options = std::make_shared<const server::Options>(make());
        making.backend = backend;
        making.composition.make_backend = [this](const server::Options&) { return backend; };
        making.tell_of_settings = [](const server::LiveSettings::Change&) {};
        making.composition.examine = [](const server::Options& options, sandbox::Backend&) {
            return std::vector<server::Check>{
                {"netns", options.sessions.network == sandbox::Network::none, "as asked for", ""}};
        };
        making.composition.layers = [](const server::Options&) {
            return std::vector<std::string>{"netns"};
        };
        making.check_on = [](const auto&) { return [](const server::Options&) {}; };
        making.required = std::make_shared<server::RequiredLayers>(making.composition);
        making.tell_of_sessions = [](session::Settings&, const std::string&) {};
        settings = std::make_unique<server::LiveSettings>(given, server::process_environment(),
                                                          *making.options, making.tell_of_settings,
                                                          making.check_on(backend));
    }

    /// A new text of the file has been taken.
    void change(const std::string& text)
    {
        const auto before = settings->options();
        file(text);
        CHECK(becomes_other(before));
    }

    std::shared_ptr<FakeBackend> backend = std::make_shared<FakeBackend>(directory + "/machines");
    server::http::Making making;
    std::unique_ptr<server::LiveSettings> settings; ///< of the server

  private:
    [[nodiscard]] bool becomes_other(const std::shared_ptr<const server::Options>& before) const
    {
        using namespace std::chrono_literals;
        for (int tries = 0; tries < 200 && settings->options() == before; ++tries) {
            std::this_thread::sleep_for(50ms);
        }
        return settings->options() != before;
    }
};

} // namespace berth::tests
