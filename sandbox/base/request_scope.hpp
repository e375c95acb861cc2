#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace berth {

/// The request that a thread is at, from its beginning to its end: what is logged meanwhile, asked
/// of a guest or written into the audit log bears its id, so that they can be found together. Of
/// what a request has other threads do they know nothing.
class RequestScope {
  public:
    static constexpr std::size_t id_size = 24; ///< hex digits, at random

    /// `traceparent`: of the caller's own trace (W3C Trace Context), checked; empty: none.
    explicit RequestScope(std::string traceparent);
    ~RequestScope();
    RequestScope(const RequestScope&) = delete;
    RequestScope& operator=(const RequestScope&) = delete;

    /// Of this thread, the innermost; null: it is at none.
    [[nodiscard]] static RequestScope* current() noexcept;

    [[nodiscard]] const std::string& id() const noexcept { return id_; }

    [[nodiscard]] const std::string& traceparent() const noexcept { return traceparent_; }

    /// The id and a number of its own behind it, of eight hex digits: for each thing that a request
    /// does which needs a name of its own. By its thread.
    [[nodiscard]] std::string next_name();

  private:
    std::string id_;
    std::string traceparent_;
    std::uint32_t names_ = 0;
    RequestScope* outer_;
};

} // namespace berth
