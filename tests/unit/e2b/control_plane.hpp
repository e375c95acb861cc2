#pragma once

#include "sandbox/e2b/api_client.hpp"
#include "tests/unit/e2b/loopback_server.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace berth::tests {

inline const std::string api_key = "e2b_0123456789abcdef";

/// A control plane that says what a test wants, and a client of it that waits for nothing.
class ControlPlane {
  public:
    using Answer = std::function<std::string(const WireRequest&)>;

    explicit ControlPlane(Answer answer)
        : server_(LoopbackServer::answering(
              [this, answer = std::move(answer)](const WireRequest& request) {
                  {
                      const std::scoped_lock lock(mutex_);
                      requests_.push_back(request);
                  }
                  return answer(request);
              })),
          client(
              http_,
              {.api_key = api_key, .domain = "e2b.app", .api = server_.endpoint(), .sandbox = {}},
              {.random = [] { return 0.0; },
               .rest = [this](std::chrono::milliseconds time,
                              const std::stop_token&) { waits.push_back(time); }})
    {
    }

    [[nodiscard]] std::vector<std::string> lines()
    {
        const std::scoped_lock lock(mutex_);
        std::vector<std::string> all;
        all.reserve(requests_.size());
        for (const auto& request : requests_) {
            all.push_back(request.method + ' ' + request.target);
        }
        return all;
    }

    [[nodiscard]] WireRequest request(std::size_t at)
    {
        const std::scoped_lock lock(mutex_);
        return requests_.at(at);
    }

  private:
    std::mutex mutex_;
    std::vector<WireRequest> requests_;
    LoopbackServer server_;
    e2b::HttpClient http_{e2b::HttpSettings{}};

  public:
    std::vector<std::chrono::milliseconds> waits;
    e2b::ApiClient client;
};

} // namespace berth::tests
