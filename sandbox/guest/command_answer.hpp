#pragma once

#include "sandbox/guest/call.hpp"
#include "sandbox/guest/dispatch.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace berth::guest {

/// What a command's result waits for once the command has ended: the names of what it left running,
/// and a look at the disk, both on a worker's thread. Made before the command begins.
class CommandAnswer {
  public:
    CommandAnswer(const Services& services, const std::shared_ptr<Call>& call,
                  const protocol::ExecuteRequest& request);

    /// On the loop's thread.
    void give(const protocol::ExecuteReply& reply) const;

  private:
    struct Pending;

    void name_left(Pending& pending) const;
    void conclude(const protocol::ExecuteReply& given) const;
    void look(Pending& pending) const;
    void count_home() const noexcept;
    void send(protocol::ExecuteReply& reply) const;
    void send_unlooked(protocol::ExecuteReply& reply, std::string_view why) const;

    const Services& services_;
    std::shared_ptr<Call> call_;
    std::optional<protocol::Protection> protection_;
    std::string workdir_;
    std::int64_t began_;
};

} // namespace berth::guest
