#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace berth {

/// SHA-256 in pieces; the result is 64 lower-case hex digits.
class Sha256 {
  public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;

    void update(const void* data, std::size_t size) noexcept;

    void update(std::string_view data) noexcept { update(data.data(), data.size()); }

    /// Ends the computation; the object may only be destroyed afterwards.
    [[nodiscard]] std::string finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

[[nodiscard]] std::string sha256_hex(std::string_view data);

} // namespace berth
