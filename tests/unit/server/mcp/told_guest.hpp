#pragma once

#include "sandbox/channel.hpp"
#include "sandbox/guest_connection.hpp"
#include "sandbox/protocol/frame.hpp"
#include "sandbox/receipt.hpp"

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::test {

using Words = std::vector<protocol::FrameType>;

/// The guest's end of a result that is on its way: keeps what it is told.
class ToldGuest final : public sandbox::Channel {
  public:
    explicit ToldGuest(std::shared_ptr<Words> told) : told_(std::move(told)) {}

    void send(std::string_view bytes) override
    {
        protocol::FrameReader reader(protocol::max_payload_size);
        reader.feed(bytes);
        told_->push_back(reader.next().value().type);
    }

    std::size_t receive(char* /*data*/, std::size_t /*size*/, const Deadline& /*deadline*/) override
    {
        return 0;
    }

    void shutdown() noexcept override {}

  private:
    std::shared_ptr<Words> told_;
};

inline sandbox::Receipt receipt(const std::shared_ptr<Words>& told)
{
    auto guest = std::make_unique<sandbox::GuestConnection>(std::make_unique<ToldGuest>(told));
    return {std::move(guest), std::make_shared<sandbox::ConnectionPool>(1)};
}

} // namespace berth::test
