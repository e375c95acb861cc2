#include "server/options/toml_file.hpp"

#include "sandbox/base/error.hpp"
#include "server/options/values.hpp"

#include <toml++/toml.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace berth::server {
namespace {

/// Far above any that people write: reading a large file takes seconds, and calls wait for it.
constexpr off_t largest_file = 1L << 20U;

std::string place(const std::string& path, const toml::source_region& region)
{
    return path + ':' + std::to_string(region.begin.line);
}

/// Empty when it has no plain text form.
std::string text_of(const toml::node& node)
{
    if (const auto* text = node.as_string()) {
        return text->get();
    }
    if (const auto* integer = node.as_integer()) {
        return std::to_string(integer->get());
    }
    if (const auto* number = node.as_floating_point()) {
        return format_number(number->get());
    }
    if (const auto* boolean = node.as_boolean()) {
        return boolean->get() ? "true" : "false";
    }
    return {};
}

RawValue value_of(const toml::node& node, const std::string& key, const std::string& origin)
{
    RawValue value{.items = {}, .origin = origin};
    const auto take = [&](const toml::node& item) {
        const auto text = text_of(item);
        if (text.empty() && !item.is_string()) {
            throw Error(ErrorCode::invalid_argument, key + " (" + origin + ") has no usable type",
                        "A value is a text, a number, a boolean or a list of texts.");
        }
        value.items.push_back(text);
    };
    if (const auto* list = node.as_array()) {
        for (const auto& item : *list) {
            take(item);
        }
    } else {
        take(node);
    }
    return value;
}

void flatten(const toml::table& table, const std::string& prefix, const std::string& path,
             std::map<std::string, RawValue>& values)
{
    for (const auto& [name, node] : table) {
        const std::string key = prefix + std::string(name.str());
        if (const auto* inner = node.as_table(); inner != nullptr && inner->empty()) {
            // Nothing but a name, which a profile may be.
            values.emplace(key + '.', RawValue{.items = {}, .origin = place(path, node.source())});
        } else if (inner != nullptr) {
            flatten(*inner, key + '.', path, values);
        } else {
            values.emplace(key, value_of(node, key, place(path, node.source())));
        }
    }
}

/// The parser takes a folder for an empty file, and waits for ever for somebody to write into a
/// named pipe: so would each call of a server whose file has become one.
void require_file(const std::string& path, const TomlKind& kind)
{
    struct stat status{};
    const bool there = ::stat(path.c_str(), &status) == 0;
    if (there && status.st_size > largest_file) {
        throw Error(ErrorCode::invalid_argument,
                    std::string(kind.name) + ' ' + path + " has more than 1 MiB", kind.naming);
    }
    if (there && S_ISREG(status.st_mode) && ::access(path.c_str(), R_OK) == 0) {
        return;
    }
    const auto why = !there || S_ISREG(status.st_mode) ? std::generic_category().message(errno)
                     : S_ISDIR(status.st_mode)         ? std::string("it is a folder")
                                                       : std::string("it is no regular file");
    throw Error(ErrorCode::invalid_argument, std::string(kind.name) + ' ' + path + ": " + why,
                kind.naming);
}

} // namespace

RawValues read_toml(const std::string& path, const TomlKind& kind)
{
    require_file(path, kind);
    RawValues values;
    try {
        flatten(toml::parse_file(path), "", path, values);
    } catch (const toml::parse_error& error) {
        throw Error(ErrorCode::invalid_argument,
                    place(path, error.source()) + ": " + std::string(error.description()),
                    kind.form);
    }
    return values;
}

} // namespace berth::server
