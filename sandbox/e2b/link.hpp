#pragma once

#include "sandbox/e2b/account.hpp"
#include "sandbox/e2b/api_client.hpp"
#include "sandbox/e2b/http.hpp"
#include "sandbox/e2b/process_stream.hpp"
#include "sandbox/e2b/settings.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace berth::e2b {

/// What all sandboxes of one account are reached by. Shared by whatever may still use it;
/// thread-safe.
struct Link {
    Link(Settings whom, HttpSettings how, Pacing pacing = {}, EnvdTimes envd_times = {},
         std::vector<std::string> same_account = {})
        : settings(std::move(whom)), times(envd_times), http(std::move(how)),
          api(http, settings, std::move(pacing)),
          accounts(account_of(settings), std::move(same_account))
    {
    }

    const Settings settings;
    const EnvdTimes times;
    HttpClient http;
    ApiClient api;
    Accounts accounts;
};

/// Nobody was shown of a machine's number: throws as Accounts::require_word_on().
inline void require_word_on_number(const Link& link, const std::string& number)
{
    link.accounts.require_word_on("the sandbox that was being made", account_in(number));
}

/// As E2B's variables say, and those of proxies and certificates; `same_account`: as Accounts takes
/// them. Throws as read_settings() and ProxyRules::read().
[[nodiscard]] std::shared_ptr<Link> make_link(const Variables& variables, EnvdTimes times,
                                              std::vector<std::string> same_account = {});

} // namespace berth::e2b
