#include "tools/masked_call.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/joined.hpp"
#include "tools/secret_mask.hpp"

#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace berth::tools {
namespace {

/// The values of now, by which one call's words are masked.
class Masking {
  public:
    explicit Masking(const Settings& settings) : mask_(settings.secrets()) {}

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
    if (progress) {
        progress = [inner = std::move(progress), &settings](std::string message) {
            Masking masking(settings);
            masking(message);
            inner(std::move(message));
        };
    }
    try {
        auto result = call();
        Masking masking(settings); // by now: the call has read them anew
        masking(result.text);
        masking(*result.data);
        masking.mask_all(told.notices);
        if (!masking.met().empty()) {
            told.notices.push_back("the values of secrets are left out of this result, which has "
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
