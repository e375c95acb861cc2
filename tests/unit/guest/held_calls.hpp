#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/guest/call.hpp"
#include "sandbox/protocol/call_name.hpp"
#include "tests/unit/guest/guest_server.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace berth::test {

inline constexpr auto writing = static_cast<std::uint16_t>(protocol::Operation::write_file);
inline constexpr auto executing = static_cast<std::uint16_t>(protocol::Operation::execute);
inline constexpr auto importing = static_cast<std::uint16_t>(protocol::Operation::import_files);
inline constexpr auto recalling = static_cast<std::uint16_t>(protocol::Operation::recall);
inline constexpr auto asking = static_cast<std::uint16_t>(protocol::Operation::info);

/// Of a call.
inline std::string name(char digit)
{
    return std::string(protocol::CallName::size, digit);
}

inline std::string named(const std::string& request, const std::string& which)
{
    return request + protocol::encode(protocol::CallName{.name = which});
}

/// As bytes of a message, to which a name can be added: field 1.
inline std::string text(const std::string& value)
{
    std::string bytes;
    protocol::detail::put_bytes(bytes, 1, value);
    return bytes;
}

inline std::string payload_of(Peer& peer)
{
    const auto frame = peer.receive();
    return frame && frame->type == protocol::FrameType::reply ? frame->payload : "no reply";
}

/// A guest whose calls are held until they are let go, and counted.
struct HeldCalls {
    std::atomic<int> begun = 0;
    std::atomic<int> gone = 0;
    std::atomic<int> acknowledged = 0;
    std::atomic<int> cancelled = 0;
    std::mutex mutex;
    std::vector<std::shared_ptr<guest::Call>> held; ///< guarded by mutex
    GuestServer server{
        [this](const std::shared_ptr<guest::Call>& call, const protocol::Frame& request) {
            ++begun;
            if (request.operation == executing) {
                bind(call);
            }
            if (request.operation == importing) {
                call->accept_data();
            }
            call->on_gone([this] { ++gone; });
            call->on_cancel([this] { ++cancelled; });
            if (request.payload.starts_with(text("hold"))) {
                const std::lock_guard lock(mutex);
                held.push_back(call);
            } else {
                call->reply("answer " + std::to_string(begun));
            }
        }};

    void bind(const std::shared_ptr<guest::Call>& call)
    {
        call->on_acknowledged([this] { ++acknowledged; });
        call->on_repeated([this, weak = std::weak_ptr(call)] {
            const auto again = weak.lock();
            again->on_acknowledged([this] { ++acknowledged; });
            again->on_gone([this] { ++gone; });
        });
    }

    ~HeldCalls()
    {
        const std::lock_guard lock(mutex);
        held.clear();
    }

    void answer(const std::string& payload)
    {
        const std::lock_guard lock(mutex);
        for (const auto& call : std::exchange(held, {})) {
            call->reply(payload);
        }
    }

    void fail()
    {
        const std::lock_guard lock(mutex);
        for (const auto& call : std::exchange(held, {})) {
            call->fail(std::make_exception_ptr(Error(ErrorCode::not_found, "it fails")));
        }
    }

    using Change = std::function<void(protocol::Hello& hello)>;

    /// A connection of that server.
    [[nodiscard]] Peer says(const std::string& of, const Change& change) const
    {
        auto hello = good_hello();
        hello.server = of;
        change(hello);
        Peer peer(server.connect());
        peer.send(protocol::FrameType::hello, protocol::encode(hello));
        const auto reply = peer.receive();
        REQUIRE(reply.has_value());
        REQUIRE(reply->type == protocol::FrameType::hello_reply);
        CHECK(protocol::decode<protocol::HelloReply>(reply->payload).repeats);
        return peer;
    }

    [[nodiscard]] Peer greeted(const std::string& of, bool stays = false) const
    {
        return says(of, [&](protocol::Hello& hello) { hello.client = stays; });
    }
};

} // namespace berth::test
