#pragma once

#include "sandbox/channel.hpp"
#include "sandbox/e2b/envd_client.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace berth::e2b {

/// One call to the guest of a sandbox, through a connector that envd has started for it
/// (docs/adr/0016-e2b-channel.md). What the connector says is what the guest sends.
class BoxChannel : public sandbox::Channel {
  public:
    /// `stream`: of the connector, from its start.
    BoxChannel(std::shared_ptr<EnvdClient> envd, ProcessStream stream);
    ~BoxChannel() override;
    BoxChannel(const BoxChannel&) = delete;
    BoxChannel& operator=(const BoxChannel&) = delete;

    /// Waits until the guest has said something, which it does to every hello, at once. Throws
    /// - sandbox::Unsent where the guest has certainly had nothing: the connector could not be
    ///   started, or found no guest, or the guest of another machine;
    /// - StatusError and HttpFailure of the start itself;
    /// - Error(session_lost) for anything else, which leaves open what the guest has had.
    void await_guest(const Deadline& deadline);

    void send(std::string_view bytes) override;
    void send_urgent(std::string_view bytes) override;
    std::size_t receive(char* data, std::size_t size, const Deadline& deadline) override;
    void sent_all() noexcept override;
    void shutdown() noexcept override;

  private:
    [[nodiscard]] bool take_event(const Deadline& deadline);
    void take_end(const ProcessEnded& end);
    void take_complaint(std::string_view bytes);
    void send_by_input(std::string_view bytes, const Deadline& deadline);
    void send_frame(std::string_view bytes, const Deadline& deadline);
    [[nodiscard]] InputStream& input();
    [[nodiscard]] bool lost_input();
    [[nodiscard]] bool is_shut() noexcept;

    const std::shared_ptr<EnvdClient> envd_;
    ProcessStream stream_;
    std::atomic<Pid> pid_ = 0;
    std::string incoming_;  ///< what the guest has said and nobody has taken
    std::size_t taken_ = 0; ///< of it
    std::string complaint_; ///< of the connector, about itself
    std::atomic<bool> ended_ = false;
    std::stop_source shutting_; ///< ends the sending of a frame
    std::mutex mutex_;          ///< guards what follows, but that whoever sends may look at its own
    std::optional<InputStream> input_;
    bool all_sent_ = false; ///< by it
    bool shut_ = false;
};

} // namespace berth::e2b
