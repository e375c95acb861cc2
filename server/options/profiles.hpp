#pragma once

#include "server/options/toml_file.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace berth::server {

/// Settings that go by one name: what a kind of session gets.
struct Profile {
    std::string name;
    std::map<std::string, RawValue> values; ///< by key, as in the file
    std::map<std::string, RawValue> most;   ///< by key: whoever asks for more gets this
    /// Keys of `values` that nobody may change, each with the profile that says so.
    std::map<std::string, std::string> locked;
};

/// The profiles there are: berth's own, and those of the file's tables [profiles.NAME]. In names
/// `_` is `-`. Immutable.
class Profiles {
  public:
    /// `values`: those of the file below "profiles.", by NAME and key. Throws
    /// Error(invalid_argument) that names the line: an unknown setting, one that is not a
    /// profile's to say (who owns what, and where it is), a name that is taken by one of berth's
    /// own.
    explicit Profiles(const std::map<std::string, RawValue>& values);

    /// With what it extends. Throws Error(invalid_argument) for a name that there is not (it lists
    /// those there are) and for profiles that extend each other in a circle.
    [[nodiscard]] Profile resolve(const RawValue& name) const;

  private:
    struct Written : Profile {
        RawValue extends; ///< no items: nothing
        /// Where the file says so, by key of `locked`.
        std::map<std::string, std::string> lock_origins;
        std::string written; ///< its name as it stands in the file; empty: berth's own
    };

    Written& named(const std::string& name, const std::string& written, const std::string& origin);
    void add(const std::string& path, const RawValue& value);
    void check() const;
    [[nodiscard]] std::string names() const;

    std::map<std::string, Written, std::less<>> profiles_;
};

/// Whether a profile may say the setting: not who owns what, where it is, and what a person reads.
[[nodiscard]] bool is_of_profiles(std::string_view key);

/// Whether a value comes from one of berth's own profiles, as nobody has written it.
[[nodiscard]] bool is_built_in(const RawValue& value);

/// Takes what is below "profiles." out of the values of a file, without that prefix.
[[nodiscard]] std::map<std::string, RawValue>
take_profiles(std::map<std::string, RawValue>& from_file);

/// Throws Error(invalid_argument): there is no such setting; it names the nearest.
[[noreturn]] void refuse_key(const std::string& key, const std::string& origin);

} // namespace berth::server
