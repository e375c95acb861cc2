#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace berth::bench {

/// A server that is called by many at once, each of whom sends the next call when the last one is
/// answered. Throws std::runtime_error when it ends, or says what is no answer.
class Load {
  public:
    Load() = default;
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;
    virtual ~Load() = default;

    /// Prints the figures (load_figures.hpp). `params`: of tools/call, as JSON.
    virtual void run(std::size_t callers, std::chrono::milliseconds time,
                     const std::string& params) = 0;
};

/// One client that has so many calls in flight.
[[nodiscard]] std::unique_ptr<Load> stdio_load(const std::vector<std::string>& command);

/// So many clients, each with a connection that stays and a session of its own.
[[nodiscard]] std::unique_ptr<Load> http_load(int port, const std::string& headers);

/// As of 2025-11-25, which all that is compared speaks.
inline constexpr const char* initialize =
    R"("method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},)"
    R"("clientInfo":{"name":"bench","version":"1"}}})";
inline constexpr const char* initialized =
    R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

} // namespace berth::bench
