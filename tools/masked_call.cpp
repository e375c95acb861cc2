#include "tools/masked_call.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/joined.hpp"
#include "tools/secret_mask.hpp"

#include <nlohmann/json.hpp>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace berth::tools {
namespace {

/// Masks one call's words, by the values that are known by now: the call may have read newer ones
/// for its command.
class Masking {
  public:
    explicit Masking(const Settings& settings)
        : settings_(settings), secrets_(settings.known_secrets()), mask_(secrets_)
    {
    }

    /// Nothing is read, and no mask made anew that is as the one before.
    void renew()
    {
        auto secrets = settings_.known_secrets();
        if (secrets != secrets_) {
            secrets_ = std::move(secrets);
            mask_ = SecretMask(secrets_);
        }
    }

    void operator()(std::string& text) { text = mask_.mask(text, met_); }

    void operator()(nlohmann::json& value)
    {
        if (value.is_string()) {
            (*this)(value.get_ref<std::string&>());
        } else if (value.is_structured()) {
            for (auto& element : value) {
                (*this)(element);
            }
        }
    }

    void mask_all(std::vector<std::string>& texts)
    {
        for (auto& text : texts) {
            (*this)(text);
        }
    }

    [[nodiscard]] Error masked(const Error& error)
    {
        const auto without = [this](std::string text) {
            (*this)(text);
            return text;
        };
        Error result(error.code(), without(error.what()), without(error.hint()));
        for (const auto& [key, detail] : error.details()) {
            result.with_detail(key, without(detail));
        }
        return result.with_output(without(error.output())).set_retryable(error.retryable());
    }

    [[nodiscard]] const std::set<std::string>& met() const noexcept { return met_; }

  private:
    const Settings& settings_;
    std::vector<Secret> secrets_;
    SecretMask mask_;
    std::set<std::string> met_;
};

} // namespace

Result run_masked(const Settings& settings, Told& told, Progress& progress,
                  const std::function<Result()>& call)
{
    if (!settings.secrets) {
        return call();
    }
    // Once for each call, and before it: none is to be told by it that is not known.
    (void)settings.secrets();
    if (progress) {
        progress = [inner = std::move(progress),
                    masking = std::make_shared<Masking>(settings)](std::string message) {
            masking->renew();
            (*masking)(message);
            inner(std::move(message));
        };
    }
    try {
        auto result = call();
        Masking masking(settings);
        masking(result.text);
        masking(*result.data);
        masking.mask_all(told.notices);
        masking.mask_all(result.notices);
        if (!masking.met().empty()) {
            result.notices.push_back("the values of secrets are left out of this result, which has "
                                     "[secret NAME] in place of each: " +
                                     joined(masking.met()));
        }
        return result;
    } catch (const Error& error) {
        Masking masking(settings);
        masking.mask_all(told.notices);
        throw Error(masking.masked(error));
    }
}

} // namespace berth::tools
