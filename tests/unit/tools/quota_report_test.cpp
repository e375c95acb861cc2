#include "tools/quota_report.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>

using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace
using berth::protocol::QuotaState;

namespace {

constexpr std::uint64_t mebibyte = 1024UL * 1024;

std::optional<QuotaState> state(std::uint64_t used, bool by_kernel)
{
    return QuotaState{.limit = 16 * mebibyte, .used = used, .by_kernel = by_kernel};
}

bool has(const std::string& text, const char* part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("quota report: whose limit it is")
{
    nlohmann::json data;
    add_quota(data, state(mebibyte, true));
    CHECK(data["quota"]["enforced_by"] == "kernel");
    CHECK(has(quota_text(state(mebibyte, true)), "kept by the kernel"));
    add_quota(data, state(mebibyte, false));
    CHECK(data["quota"]["enforced_by"] == "accounting");
    CHECK(has(quota_text(state(mebibyte, false)), "by berth's own count"));
}

TEST_CASE("quota report: a warning says what will happen")
{
    CHECK(quota_warning(state(mebibyte, true)).empty());
    CHECK(has(quota_warning(state(15 * mebibyte, true)), "Disk quota exceeded"));
    CHECK(has(quota_warning(state(15 * mebibyte, false)), "a command that does is stopped"));
}

TEST_CASE("quota report: a command that met the kernel's limit is told what it was")
{
    const std::string error = "head: error writing 'standard output': Disk quota exceeded\n";
    CHECK(has(quota_met(state(mebibyte, true), {"", error}), "session.quota"));
    CHECK(quota_met(state(mebibyte, true), {"", "head: no such file\n"}).empty());
    CHECK(quota_met(state(mebibyte, false), {error}).empty());
    CHECK(quota_met(std::nullopt, {error}).empty());
}
