#pragma once

#include "server/http/caller.hpp"
#include "server/rpc/json_reader.hpp"
#include "server/transport/http_message.hpp"

#include <nlohmann/json_fwd.hpp>

#include <memory>

namespace berth::server::http {

/// Of what a body turns into too its caller may hold no more than his share: "[{},{},{},..." takes
/// 25 times as much as its text, for as long as its call goes on.
/// Throws, in the reading, Error(busy).
[[nodiscard]] rpc::ReadLimits limits_in(const transport::HttpRequest& request,
                                        rpc::ReadLimits limits);

/// Of a batch the requests beside the one that was counted as its POST came, for as long as what is
/// returned lives: as long as the work on them, whether or not somebody waits for it. Else it would
/// be one request, however many there are in it. Throws Error(busy).
[[nodiscard]] std::shared_ptr<void> count_others(const Caller& caller,
                                                 const nlohmann::json& messages);

} // namespace berth::server::http
