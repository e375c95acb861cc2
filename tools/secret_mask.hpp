#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace berth::tools {

struct Secret {
    std::string name;
    std::string value;

    bool operator==(const Secret&) const = default;
};

/// Takes values that must not be seen out of texts: as they are, and in the forms in which programs
/// print them by the way, which are base64 (either alphabet, at any place in what is encoded),
/// hexadecimal digits and percent-encoding; each also where it is broken over lines. Of one that a
/// cut has parted, what is left of it. Immutable.
class SecretMask {
  public:
    /// Shorter values are not looked for: they would hide words.
    static constexpr std::size_t shortest = 8;

    explicit SecretMask(const std::vector<Secret>& secrets);

    [[nodiscard]] bool empty() const noexcept { return forms_.empty(); }

    /// With `[secret NAME]` in place of each; the names go into `met`.
    [[nodiscard]] std::string mask(const std::string& text, std::set<std::string>& met) const;

  private:
    struct Form {
        std::size_t name;            ///< index
        std::string text;            ///< without line ends
        bool may_be_encoded = false; ///< is looked for behind percent signs too
    };

    class Search;

    void add(std::size_t name, std::string text, bool may_be_encoded = false);

    std::vector<std::string> names_;
    std::vector<Form> forms_; ///< long ones first
};

} // namespace berth::tools
