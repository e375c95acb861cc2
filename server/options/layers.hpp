#pragma once

#include "sandbox/base/error.hpp"
#include "server/options/definitions.hpp"
#include "server/options/profiles.hpp"
#include "server/options/toml_file.hpp"

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::server {

/// A setting in force, for `berth config`.
struct Setting {
    std::string key;
    std::string value;
    std::string origin;
};

/// Looks a variable up; nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

/// The settings file: what was `given`, BERTH_CONFIG, else the first usual one that exists; empty:
/// none.
[[nodiscard]] std::string settings_file(const std::string& given, const Environment& environment);

/// What it says; nothing where there is none. Throws Error(invalid_argument), see read_toml().
[[nodiscard]] RawValues read_settings(const std::string& given, const Environment& environment);

/// Every file that could be that one, now or once it is there.
[[nodiscard]] std::vector<std::string> settings_files(const std::string& given,
                                                      const Environment& environment);

/// Throws Error(invalid_argument): that value of the setting is not allowed, and what is.
[[noreturn]] void refuse(const Definition& definition, const RawValue& value,
                         const std::string& allowed);

/// Every setting's value: what the profile or the file locks, else the flag, the variable, the
/// profile, the file, the default. What the file locks none of berth's own profiles changes, nor
/// has a maximum of. Each is checked when it is asked for; all throw Error(invalid_argument) that
/// names key, value, origin and what is allowed.
class Layers {
  public:
    /// `flags` by key. `from_file`: see read_settings(). Throws for an unknown key of the file (it
    /// names the nearest), an unknown profile, and a setting that the profile or the file locks and
    /// a flag or variable would change.
    /// `kept`: by key, what they are whatever is said now.
    Layers(const RawValues& flags, RawValues from_file, const Environment& environment,
           const RawValues& kept = {});

    [[nodiscard]] const RawValue& raw(std::string_view key) const { return values_.at(key); }

    /// Every one, by key. There may be a password in it.
    [[nodiscard]] std::map<std::string, RawValue> raw() const
    {
        return {values_.begin(), values_.end()};
    }

    [[nodiscard]] std::string text(std::string_view key) const;
    [[nodiscard]] std::string choice(std::string_view key) const;
    [[nodiscard]] bool boolean(std::string_view key) const;

    /// A duration in milliseconds, bytes, or a number, within its range; at most what the profile
    /// allows.
    [[nodiscard]] double number(std::string_view key) const;

    /// Whether the profile has a maximum for it: whoever asks for more gets that.
    [[nodiscard]] bool is_clamped(std::string_view key) const { return maximum(key).has_value(); }

    /// Whether that maximum is what is in force.
    [[nodiscard]] bool is_at_maximum(std::string_view key) const;

    /// What number() comes from, to be named where that is not allowed: the profile's maximum where
    /// it cuts what was said.
    [[nodiscard]] RawValue deciding(std::string_view key) const;

    template <class Integer>
    [[nodiscard]] Integer integer(std::string_view key) const
    {
        const double value = number(key);
        if (std::trunc(value) != value) {
            refuse_fraction(key);
        }
        return static_cast<Integer>(value);
    }

    [[nodiscard]] const std::string& profile() const noexcept { return profile_.name; }

    /// Whether the profile's value is in force, or its maximum holds.
    [[nodiscard]] bool is_of_profile(std::string_view key) const;

    /// As number(), as it would be without the profile; nothing where that is the default.
    [[nodiscard]] std::optional<double> beside_profile(std::string_view key) const;

    /// Who has locked it, in words, so that no flag or variable changes it: the profile in force or
    /// one that it extends, whoever of them says the value; else the file. Empty: nobody.
    [[nodiscard]] std::string locked_by(const std::string& key) const;

    [[nodiscard]] std::vector<Setting> settings() const;

  private:
    [[nodiscard]] RawValue pick(const Definition& definition,
                                const std::map<std::string, RawValue>& flags,
                                const Environment& environment,
                                const std::map<std::string, RawValue>& from_file) const;
    [[nodiscard]] const RawValue* profile_value(const std::string& key,
                                                const RawValue* of_file) const;
    [[nodiscard]] std::string locking_profile(const std::string& key) const;
    [[nodiscard]] bool is_said_by_profile(std::string_view key) const;
    [[nodiscard]] double parsed(const Definition& definition, const RawValue& value) const;
    [[nodiscard]] std::optional<RawValue> maximum(std::string_view key) const;
    [[noreturn]] void refuse_fraction(std::string_view key) const;
    [[nodiscard]] std::string shown_text(std::string_view key) const;

    std::map<std::string_view, RawValue> values_;
    std::map<std::string, RawValue> from_file_; ///< beside its profiles
    std::map<std::string, std::string> locked_; ///< by the file for all profiles: key, where
    Profile profile_;
};

} // namespace berth::server
