#include "sandbox/local/environment.hpp"

#include "sandbox/command_environment.hpp"

namespace berth::local {

std::map<std::string, std::string>
command_environment(const std::map<std::string, std::string>& extra, sandbox::Network network,
                    bool opens_tls)
{
    return sandbox::command_environment({.home = std::string(inner_home),
                                         .user = std::string(inner_user),
                                         .programs = std::string(inner_programs)},
                                        extra, network,
                                        opens_tls ? std::string(inner_certificates) : "");
}

} // namespace berth::local
