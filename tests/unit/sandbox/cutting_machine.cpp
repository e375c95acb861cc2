#include "tests/unit/sandbox/cutting_machine.hpp"

#include "sandbox/protocol/frame.hpp"
#include "sandbox/unix_channel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace berth::test {
namespace {

/// One direction of a relay.
class Way {
  public:
    /// `most`: that were handed on by any such way; set before they are.
    Way(int from, int to, std::optional<std::size_t> limit, std::atomic<std::size_t>& most)
        : from_(from), to_(to), limit_(limit), most_(most)
    {
    }

    /// False at the end, or where it is to be cut.
    bool hand_on()
    {
        std::array<char, 16UL * 1024> buffer{};
        const auto size = ::recv(from_, buffer.data(), buffer.size(), 0);
        if (size <= 0) {
            return false;
        }
        std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
        const auto hello = bytes.substr(0, left_of_hello(bytes));
        hello_ -= hello.size();
        bytes.remove_prefix(hello.size());
        const bool cuts = limit_ && behind_hello_ + bytes.size() >= *limit_ && !bytes.empty();
        if (cuts) {
            bytes = bytes.substr(0, *limit_ - behind_hello_);
        }
        behind_hello_ += bytes.size();
        most_ = std::max(most_.load(), behind_hello_);
        return send(hello) && send(bytes) && !cuts;
    }

  private:
    /// A hello, or its answer, comes in one piece: it was sent so.
    std::size_t left_of_hello(std::string_view bytes)
    {
        if (!seen_) {
            seen_ = true;
            protocol::FrameReader reader(protocol::max_payload_size);
            reader.feed(bytes);
            const auto frame = reader.next();
            hello_ = frame ? protocol::frame_header_size + frame->payload.size() : bytes.size();
        }
        return hello_;
    }

    [[nodiscard]] bool send(std::string_view bytes) const
    {
        while (!bytes.empty()) {
            const auto sent = ::send(to_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) {
                return false;
            }
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }

    int from_;
    int to_;
    std::optional<std::size_t> limit_;
    std::atomic<std::size_t>& most_;
    bool seen_ = false;
    std::size_t hello_ = 0; ///< that have yet to come
    std::size_t behind_hello_ = 0;
};

} // namespace

CuttingMachine::CuttingMachine(std::function<UniqueFd()> connect, sandbox::MachineRecord record,
                               std::vector<Cut> cuts, std::size_t whole, sandbox::Reach reach)
    : connect_(std::move(connect)), record_(std::move(record)), cuts_(std::move(cuts)),
      whole_(whole), reach_(reach)
{
}

CuttingMachine::~CuttingMachine() = default;

std::unique_ptr<sandbox::Channel> CuttingMachine::connect(const Deadline& /*deadline*/)
{
    int pair[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    auto guest = connect_();
    const auto number = connects_++;
    std::optional<Cut> cut;
    if (number >= whole_ && number - whole_ < cuts_.size()) {
        cut = cuts_[number - whole_];
    }
    relays_.emplace_back([this, host = UniqueFd(pair[1]), guest = std::move(guest), cut] {
        relay(host.get(), guest.get(), cut);
    });
    return std::make_unique<sandbox::UnixChannel>(UniqueFd(pair[0]));
}

void CuttingMachine::relay(int host, int guest, std::optional<Cut> cut)
{
    const auto limit = [&](bool of_reply) {
        return cut && cut->of_reply == of_reply ? std::optional(cut->bytes) : std::nullopt;
    };
    Way there(host, guest, limit(false), request_bytes_);
    Way back(guest, host, limit(true), reply_bytes_);
    std::array<pollfd, 2> ends{pollfd{.fd = host, .events = POLLIN, .revents = 0},
                               pollfd{.fd = guest, .events = POLLIN, .revents = 0}};
    bool whole = true;
    while (whole && ::poll(ends.data(), ends.size(), -1) > 0) {
        whole =
            (ends[0].revents == 0 || there.hand_on()) && (ends[1].revents == 0 || back.hand_on());
    }
    ::shutdown(host, SHUT_RDWR);
    ::shutdown(guest, SHUT_RDWR);
}

} // namespace berth::test
