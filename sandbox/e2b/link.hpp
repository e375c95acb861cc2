#pragma once

#include "sandbox/e2b/api_client.hpp"
#include "sandbox/e2b/http.hpp"
#include "sandbox/e2b/process_stream.hpp"
#include "sandbox/e2b/settings.hpp"

#include <memory>
#include <utility>

namespace berth::e2b {

/// What all sandboxes of one account are reached by. Shared by whatever may still use it;
/// thread-safe.
struct Link {
    Link(Settings whom, HttpSettings how, Pacing pacing = {}, EnvdTimes envd_times = {})
        : settings(std::move(whom)), times(envd_times), http(std::move(how)),
          api(http, settings, std::move(pacing))
    {
    }

    const Settings settings;
    const EnvdTimes times;
    HttpClient http;
    ApiClient api;
};

/// As E2B's variables say, and those of proxies and certificates. Throws as read_settings() and
/// ProxyRules::read().
[[nodiscard]] std::shared_ptr<Link> make_link(const Variables& variables, EnvdTimes times);

} // namespace berth::e2b
