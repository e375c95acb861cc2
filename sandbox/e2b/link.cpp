#include "sandbox/e2b/link.hpp"

namespace berth::e2b {

std::shared_ptr<Link> make_link(const Variables& variables, EnvdTimes times)
{
    HttpSettings http;
    http.proxies = ProxyRules::read(variables);
    http.authorities = variables("SSL_CERT_FILE").value_or("");
    return std::make_shared<Link>(read_settings(variables), std::move(http), Pacing{}, times);
}

} // namespace berth::e2b
