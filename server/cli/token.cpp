#include "server/cli/token.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/sha256.hpp"
#include "server/cli/print.hpp"
#include "server/options/session_name.hpp"
#include "server/rpc/json_text.hpp"

#include <cstddef>

namespace berth::server::cli {

int make_token(const std::string& principal)
{
    constexpr std::size_t bytes = 32;
    if (principal.empty()) {
        throw Error(ErrorCode::invalid_argument, "the principal has no name",
                    "Say whose token it is: berth token alice >>tokens.toml");
    }
    (void)require_name(principal, "the principal's name");
    // A beginning of its own, by which scanners of repositories and logs find one that has leaked.
    const auto token = "berth_" + random_hex(bytes);
    std::string quoted; // what a JSON text may have, a basic string of TOML may
    rpc::append_quoted(quoted, principal);
    print("[tokens." + random_hex(4) + "]\nsha256 = \"" + sha256_hex(token) +
          "\"\nprincipal = " + quoted + "\n");
    complain("the token is " + token,
             "It is shown this once. Clients send it as Authorization: Bearer TOKEN.");
    return 0;
}

} // namespace berth::server::cli
