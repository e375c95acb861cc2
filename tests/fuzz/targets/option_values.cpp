// The value of a setting, as each kind of value: TEXT ==== KEY TEMPLATE ==== a variable on each
// line.

#include "sandbox/base/error.hpp"
#include "sandbox/base/spelling.hpp"
#include "server/options/paths.hpp"
#include "server/options/session_key.hpp"
#include "server/options/values.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using berth::fuzz::require;
using namespace berth::server;

template <class Parse, class Format>
void check(std::string_view text, Parse parse, Format format)
{
    if (const auto value = parse(text)) {
        require(parse(format(*value)) == value, "what is shown means the same");
    }
}

void apply_key(std::string_view key, std::string_view variables, const std::string& name)
try {
    RawValue values{.items = {}, .origin = "flag --var"};
    berth::fuzz::each_line(variables,
                           [&](std::string_view line) { values.items.emplace_back(line); });
    const KeyTemplate made({.items = {std::string(key)}, .origin = "flag --key"}, values,
                           "default");
    (void)berth::session::key_hash(made.apply("somebody", name));
} catch (const berth::Error& error) {
    require(error.code() == berth::ErrorCode::invalid_argument, "the key or a variable is wrong");
}

} // namespace

BERTH_FUZZ_TARGET(option_values)
{
    const auto [text, key, variables] = berth::fuzz::parts_of<3>(input);
    check(text, &parse_duration, &format_duration);
    check(text, &parse_bytes, &format_bytes);
    check(text, &parse_number, &format_number);
    (void)parse_boolean(text);
    for (const auto& item : split_list(text)) {
        require(!item.empty(), "no item is empty");
    }
    try {
        const auto mount = parse_mount(std::string(text), "flag --mount");
        require(mount.source.starts_with('/') && mount.target.starts_with('/'), "both absolute");
    } catch (const berth::Error& error) {
        require(error.code() == berth::ErrorCode::invalid_argument, "the mount is wrong");
    }
    (void)berth::nearest(text, {"exec.timeout", "session.ttl", std::string(key)});
    apply_key(key, variables, std::string(text));
}
