#include "sandbox/command_environment.hpp"

namespace berth::sandbox {

std::map<std::string, std::string>
command_environment(const Account& account, const std::map<std::string, std::string>& extra,
                    Network network)
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
    for (const auto& [name, value] : extra) {
        environment.insert_or_assign(name, value);
    }
    return environment;
}

} // namespace berth::sandbox
