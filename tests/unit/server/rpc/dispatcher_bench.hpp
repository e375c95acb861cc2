#pragma once

#include "server/rpc/dispatcher.hpp"
#include "tests/unit/server/recording_sink.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace berth::test {

/// `echo` answers at once; `wait` when it is stopped, and so does `holds`, with 800 bytes more, and
/// `waits`, which waits for these; `drop` never; `twice` twice; `throw` throws.
class Probe final : public rpc::Handler {
  public:
    void request(const std::shared_ptr<rpc::Call>& call) override
    {
        const auto& method = call->message().method;
        ++requests;
        const bool waits = method == "waits";
        if (method == "holds" || waits) {
            call->hold(800, std::chrono::seconds(waits ? 30 : 0));
            ++held;
        }
        if (method == "wait" || method == "holds" || waits) {
            while (!call->stop_token().stop_requested()) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            call->notify("late", "{}");
            call->reply(R"("stopped")");
        } else if (method == "twice") {
            CHECK(call->reply("1"));
            CHECK_FALSE(call->reply("2"));
            CHECK_FALSE(call->fail(rpc::ProtocolError(1, "x")));
            CHECK_FALSE(call->notify("n", "{}"));
        } else if (method == "throw") {
            throw std::runtime_error("broke");
        } else if (method == "refuse") {
            throw rpc::ProtocolError(-32001, "no", R"({"why":1})");
        } else if (method == "echo") {
            call->reply(call->params().dump());
        } else if (method == "read") {
            call->reply("1");
            call->when_read([this] { ++reads; }, {});
        }
    }

    void notification(const rpc::Message& message, rpc::Dispatcher& dispatcher) override
    {
        if (message.method == "cancel") {
            dispatcher.cancel(rpc::id_from(message.params->at("id")));
        }
    }

    std::string refusal(const rpc::Message& message, const Error& why) override
    {
        return message.method == "refusable" ? nlohmann::json(to_string(why.code())).dump() : "";
    }

    bool accepts_batch(const nlohmann::json& /*messages*/) override { return batches; }

    std::atomic<int> requests = 0;
    std::atomic<int> reads = 0;
    std::atomic<int> held = 0;
    bool batches = true;
};

struct DispatcherBench {
    explicit DispatcherBench(std::size_t in_flight = 8, std::size_t bytes_in_flight = 1U << 20U)
        : dispatcher(probe, sink, pool,
                     {.read = {}, .in_flight = in_flight, .bytes_in_flight = bytes_in_flight})
    {
    }

    void request(const std::string& id, const std::string& method)
    {
        dispatcher.receive(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + "\"}");
    }

    Probe probe;
    std::shared_ptr<RecordingSink> sink = std::make_shared<RecordingSink>();
    rpc::WorkerPool pool{64};
    rpc::Dispatcher dispatcher;
};

inline int error_code(const nlohmann::json& message)
{
    return message.contains("error") ? message["error"]["code"].get<int>() : 0;
}

} // namespace berth::test
