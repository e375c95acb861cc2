#pragma once

#include "tools/secret_forms.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace berth::tools {

struct Secret {
    std::string name;
    std::string value;

    bool operator==(const Secret&) const = default;
};

/// Where a text has one.
struct SecretPlace {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t name = 0; ///< index of the secret
    bool is_part = false; ///< of one that a cut has parted
};

/// In order; those that overlap are one, since of neither a part may be left.
[[nodiscard]] std::vector<SecretPlace> joined_places(std::vector<SecretPlace> places);

/// Takes values that must not be seen out of texts: as they are, and in the forms in which programs
/// print them by the way, which are base64 (either alphabet, at any place in what is encoded),
/// hexadecimal digits and percent-encoding; each also where it is broken over lines, with numbers,
/// paths or signs of a diff in front of them (line_starts.hpp). Of one that a cut has parted, what
/// is left of it. Immutable.
class SecretMask {
  public:
    explicit SecretMask(const std::vector<Secret>& secrets);

    [[nodiscard]] bool empty() const noexcept { return forms_.empty(); }

    /// Where they are, joined. `parts`: also of those that a cut may have parted.
    [[nodiscard]] std::vector<SecretPlace> places(const std::string& text, bool parts) const;

    /// With `[secret NAME]` in place of each; the names go into `met`.
    [[nodiscard]] std::string mask(const std::string& text, std::set<std::string>& met) const;

  private:
    struct Form {
        std::size_t name; ///< index
        SecretForm form;
    };

    class Search;

    std::vector<std::string> names_;
    std::vector<Form> forms_; ///< long ones first
};

} // namespace berth::tools
