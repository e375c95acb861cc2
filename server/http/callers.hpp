#pragma once

#include "server/http/accounts.hpp"
#include "server/http/caller.hpp"
#include "server/http/jwt_callers.hpp"
#include "server/http/token_file.hpp"
#include "server/options/options.hpp"
#include "server/transport/http_head.hpp"
#include "server/transport/http_socket.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include <sys/types.h>

namespace berth::server::http {

/// Says who calls: by a token, where there is a file of them or an issuer that is believed; on a
/// unix socket else by the user that the kernel names; and with `insecure_no_auth` whoever it is,
/// as the server's own principal. Thread-safe.
class Callers {
  public:
    /// Throws as TokenFile() and JwtCallers().
    Callers(
        const Options& options, TokenFile::Check check, TokenFile::Told changed,
        JwtCallers::Told keys_changed = [](const std::string&) {}, TokenFile::Gone gone = {});

    /// Null: not known.
    [[nodiscard]] std::shared_ptr<const Caller> identify(const transport::HttpHead& head,
                                                         const transport::HttpSocket& socket);

    /// Whether it is somebody's.
    [[nodiscard]] bool has_token(std::string_view token);

  private:
    [[nodiscard]] std::shared_ptr<const Caller> user(uid_t uid);

    [[nodiscard]] std::shared_ptr<const Caller> of_token(std::string_view token);

    const std::shared_ptr<Accounts> accounts_ = std::make_shared<Accounts>();
    std::unique_ptr<TokenFile> tokens_;
    std::unique_ptr<JwtCallers> issued_;    ///< null: no issuer is believed
    std::shared_ptr<const Caller> anybody_; ///< null: nobody is let in without being known
    std::mutex mutex_;                      ///< guards users_
    std::map<uid_t, std::shared_ptr<const Caller>> users_;
};

} // namespace berth::server::http
