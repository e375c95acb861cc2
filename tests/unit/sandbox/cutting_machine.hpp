#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace berth::test {

/// Where a connection breaks: behind so many bytes of what follows the hello, or its answer.
struct Cut {
    bool of_reply = false;
    std::size_t bytes = 0;
};

/// A machine between which and its host a relay stands, that breaks one connection after the other:
/// the first that carries a call by the first of `cuts`, and so on; later ones are whole. Each
/// relay is a thread of its own, which ends with its connection.
class CuttingMachine : public sandbox::Machine {
  public:
    /// `connect`: a new connection to the guest. `whole`: of the first connections, which are not
    /// cut.
    CuttingMachine(std::function<UniqueFd()> connect, sandbox::MachineRecord record,
                   std::vector<Cut> cuts, std::size_t whole = 0, sandbox::Reach reach = {});
    ~CuttingMachine() override;
    CuttingMachine(const CuttingMachine&) = delete;
    CuttingMachine& operator=(const CuttingMachine&) = delete;

    [[nodiscard]] const sandbox::MachineRecord& record() const noexcept override { return record_; }

    [[nodiscard]] const std::vector<sandbox::Layer>& layers() const noexcept override
    {
        return layers_;
    }

    [[nodiscard]] std::unique_ptr<sandbox::Channel> connect(const Deadline& deadline) override;

    [[nodiscard]] sandbox::Reach reach() const noexcept override { return reach_; }

    /// Bytes behind the hello, of the connection that has carried most: what there is to cut.
    [[nodiscard]] std::size_t request_bytes() const noexcept { return request_bytes_; }

    [[nodiscard]] std::size_t reply_bytes() const noexcept { return reply_bytes_; }

  private:
    void relay(int host, int guest, std::optional<Cut> cut);

    std::function<UniqueFd()> connect_;
    sandbox::MachineRecord record_;
    std::vector<Cut> cuts_;
    std::size_t whole_;
    sandbox::Reach reach_;
    std::size_t connects_ = 0;
    std::vector<sandbox::Layer> layers_;
    std::atomic<std::size_t> request_bytes_ = 0;
    std::atomic<std::size_t> reply_bytes_ = 0;
    std::vector<std::jthread> relays_;
};

/// That all of this holds for machines to which no connection is kept, too.
inline constexpr auto kept_or_not = {true, false};

inline sandbox::Reach reach_of(bool kept)
{
    return kept ? sandbox::Reach()
                : sandbox::Reach{.kept = false, .opening = 400, .lease = std::chrono::minutes(1)};
}

} // namespace berth::test
