#pragma once

#include "server/application.hpp"
#include "server/http/tenants.hpp"
#include "tests/unit/session/fake_backend.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace berth::tests {

/// Makes applications whose machines are files.
struct TenantBench {
    [[nodiscard]] std::unique_ptr<server::Application> make(const std::string& session) const
    {
        server::Given given;
        given.values["state_dir"] = {.items = {directory / "state"}, .origin = "test"};
        given.session = session;
        return std::make_unique<server::Application>(
            server::make_options(given, [](const std::string&) { return std::nullopt; }), backend);
    }

    TemporaryDirectory directory;
    std::shared_ptr<FakeBackend> backend = std::make_shared<FakeBackend>(directory / "machines");
    rpc::WorkerPool pool{64};
};

inline server::http::Caller caller_of(std::string principal)
{
    return {.principal = std::move(principal),
            .account = std::make_shared<server::http::Account>()};
}

} // namespace berth::tests
