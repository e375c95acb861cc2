#include "sandbox/e2b/doctor.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/e2b/box_request.hpp"
#include "sandbox/e2b/link.hpp"

#include <chrono>
#include <exception>
#include <memory>
#include <optional>

namespace berth::e2b {
namespace {

constexpr std::chrono::seconds question_time{30};
constexpr const char* key_check = "e2b-key";
constexpr const char* api_check = "e2b-api";
constexpr const char* microvm = "microvm";

Check refused(const char* name, const std::exception& error)
{
    const auto* known = dynamic_cast<const Error*>(&error);
    return {.name = name,
            .ok = false,
            .detail = error.what(),
            .remedy = known != nullptr ? known->hint() : std::string()};
}

/// A question that every account may ask, and that changes nothing.
Check ask(Link& link)
{
    try {
        const auto found =
            link.api.list({{metadata_keys::generation, "none"}}, Deadline::after(question_time));
        return {.name = api_check,
                .ok = true,
                .detail = link.settings.api.shown() + " takes the key",
                .remedy = {}};
    } catch (const std::exception& error) {
        return refused(api_check, error);
    }
}

} // namespace

std::vector<std::string> check_names()
{
    return {key_check, api_check, microvm};
}

std::vector<Check> run_doctor(const Variables& variables)
{
    std::vector<Check> checks;
    std::shared_ptr<Link> link;
    try {
        link = make_link(variables, {});
        checks.push_back(
            {.name = key_check, .ok = true, .detail = "E2B_API_KEY is set", .remedy = {}});
    } catch (const std::exception& error) {
        checks.push_back(refused(key_check, error));
    }
    checks.push_back(link ? ask(*link)
                          : Check{.name = api_check,
                                  .ok = false,
                                  .detail = "not asked, for want of a key",
                                  .remedy = {}});
    checks.push_back(
        {.name = microvm,
         .ok = checks.back().ok,
         .detail = "each sandbox is a virtual machine of E2B's; none was made to see it",
         .remedy = {}});
    return checks;
}

} // namespace berth::e2b
