#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace berth::fuzz {

/// Changes inputs in simple ways: the same ones, in the same order, for the same seed.
class Mutation {
  public:
    explicit Mutation(std::uint64_t seed) noexcept : state_(seed) {}

    /// One to four changes of `input`; `others`, which may be empty, lend pieces. The result may
    /// have some bytes more than `largest`.
    [[nodiscard]] std::string of(std::string input, const std::vector<std::string>& others,
                                 std::size_t largest);

  private:
    [[nodiscard]] std::size_t below(std::size_t bound) noexcept;
    void change(std::string& input, const std::vector<std::string>& others);

    std::uint64_t state_;
};

} // namespace berth::fuzz
