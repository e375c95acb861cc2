#include "sandbox/e2b/link.hpp"

#include <utility>

namespace berth::e2b {

std::shared_ptr<Link> make_link(const Variables& variables, EnvdTimes times,
                                std::vector<std::string> same_account)
{
    HttpSettings http;
    http.proxies = ProxyRules::read(variables);
    http.authorities = variables("SSL_CERT_FILE").value_or("");
    return std::make_shared<Link>(read_settings(variables), std::move(http), Pacing{}, times,
                                  std::move(same_account));
}

} // namespace berth::e2b
