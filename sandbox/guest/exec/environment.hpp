#pragma once

#include <map>
#include <string>

namespace berth::guest {

/// The variables of every command, in one piece of memory: a map of them is of some dozens, which a
/// guest would have for as long as it lives.
class Environment {
  public:
    using Variables = std::map<std::string, std::string>;

    /// As a program sees them: names and values end at a zero byte.
    explicit Environment(const Variables& variables);

    [[nodiscard]] Variables variables() const;

  private:
    std::string text_; ///< a name, a value, a name ..., each ended by a zero byte
};

} // namespace berth::guest
