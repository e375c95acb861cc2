#include "sandbox/command_environment.hpp"

#include "sandbox/protocol/filtered_network.hpp"

namespace berth::sandbox {
namespace {

/// By which programs find the proxy of a filtered network. Each name in both spellings: curl takes
/// http_proxy in small letters alone, others look for capitals. Not socks5h: for ALL_PROXY:
/// Python's httpx, and with it the clients of most model APIs, fails at once where it has no module
/// for that.
std::map<std::string, std::string> proxy_variables()
{
    const std::string port = std::to_string(protocol::proxy_port);
    const std::string proxy = "http://127.0.0.1:" + port;
    const std::string direct = "localhost,127.0.0.1,::1";
    return {
        {"HTTP_PROXY", proxy},
        {"http_proxy", proxy},
        {"HTTPS_PROXY", proxy},
        {"https_proxy", proxy},
        {"ALL_PROXY", proxy},
        {"all_proxy", proxy},
        {"NO_PROXY", direct},
        {"no_proxy", direct},
        {"NODE_USE_ENV_PROXY", "1"},
        // What is denied stays so: npm would try again for 70 s.
        {"NPM_CONFIG_FETCH_RETRY_MINTIMEOUT", "1000"},
        {"NPM_CONFIG_FETCH_RETRY_MAXTIMEOUT", "3000"},
        {"PIP_RETRIES", "2"},
        // ssh has no proxy of its own. And nobody is there to be asked whether a host is the right
        // one, nor can ssh-keyscan look: the key that a host shows first is kept as its own.
        {"GIT_SSH_COMMAND", "ssh -o StrictHostKeyChecking=accept-new -o ProxyCommand='" +
                                std::string(protocol::tunnel_program) + " %h %p'"},
        {"JAVA_TOOL_OPTIONS", "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=" + port +
                                  " -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=" + port +
                                  " -Dhttp.nonProxyHosts=localhost|127.*|[::1]"},
    };
}

/// By which programs trust the authority of the proxy: OpenSSL's and Go's, curl, git, python's
/// requests, pip, the AWS CLI, cargo, node with npm, and java.
void add_trust(std::map<std::string, std::string>& environment, const std::string& folder)
{
    const auto all = folder + '/' + all_authorities_file;
    for (const char* name :
         {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE", "PIP_CERT",
          "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO"}) {
        environment.emplace(name, all);
    }
    environment.emplace("NODE_EXTRA_CA_CERTS", folder + '/' + own_authority_file);
    environment["JAVA_TOOL_OPTIONS"] += " -Djavax.net.ssl.trustStore=" + folder + '/' +
                                        java_authorities_file +
                                        " -Djavax.net.ssl.trustStoreType=JKS";
}

} // namespace

std::map<std::string, std::string>
command_environment(const Account& account, const std::map<std::string, std::string>& extra,
                    Network network, const std::string& certificates)
{
    const std::string local = account.home + "/.local";
    const std::string own = account.programs.empty() ? "" : account.programs + ':';
    std::map<std::string, std::string> environment{
        {"PATH",
         local + "/bin:" + own + "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        {"HOME", account.home},
        {"USER", account.user},
        {"LOGNAME", account.user},
        {"SHELL", "/bin/bash"},
        {"LANG", "C.UTF-8"},
        {"TERM", "dumb"},
        {"TMPDIR", "/tmp"},
        // One uid is mapped, so nothing can be installed for the whole system: installers that
        // would try are told to use the home. Not PIP_USER: pip does so by itself where the
        // system's folders cannot be written to, and refuses that setting in every virtual
        // environment.
        {"PIP_BREAK_SYSTEM_PACKAGES", "1"},
        {"PIP_DISABLE_PIP_VERSION_CHECK", "1"},
        {"NPM_CONFIG_PREFIX", local},
        {"NPM_CONFIG_UPDATE_NOTIFIER", "false"},
        // Nobody is there to answer a pager or a prompt.
        {"PAGER", "cat"},
        {"GIT_PAGER", "cat"},
        {"GIT_TERMINAL_PROMPT", "0"},
        {"DEBIAN_FRONTEND", "noninteractive"},
    };
    if (network == Network::none) {
        // An agent waits for them: npm 70 s, to blame a proxy then.
        environment.emplace("NPM_CONFIG_FETCH_RETRIES", "0");
        environment.emplace("PIP_RETRIES", "0");
    }
    if (network == Network::filtered) {
        environment.merge(proxy_variables());
    }
    if (!certificates.empty()) {
        add_trust(environment, certificates);
    }
    for (const auto& [name, value] : extra) {
        environment.insert_or_assign(name, value);
    }
    return environment;
}

} // namespace berth::sandbox
