#pragma once

#include "server/http/caller.hpp"
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

/// Says who calls: by a token, where there is a file of them; on a unix socket else by the user
/// that the kernel names; and with `insecure_no_auth` whoever it is, as the server's own principal.
/// Thread-safe.
class Callers {
  public:
    /// Throws as TokenFile().
    Callers(const Options& options, TokenFile::Check check, TokenFile::Told changed);

    /// Null: not known.
    [[nodiscard]] std::shared_ptr<const Caller> identify(const transport::HttpHead& head,
                                                         const transport::HttpSocket& socket);

    /// Whether it is somebody's.
    [[nodiscard]] bool has_token(std::string_view token);

  private:
    [[nodiscard]] std::shared_ptr<const Caller> user(uid_t uid);

    std::unique_ptr<TokenFile> tokens_;
    std::shared_ptr<const Caller> anybody_; ///< null: nobody is let in without being known
    std::mutex mutex_;                      ///< guards users_
    std::map<uid_t, std::shared_ptr<const Caller>> users_;
};

} // namespace berth::server::http
