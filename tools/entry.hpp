#pragma once

#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <nlohmann/json.hpp>

#include <concepts>
#include <span>

namespace berth::tools {

/// What a tool is made of. `decode` takes canonical arguments and accepts what the input schema
/// accepts; what a schema cannot say (two arguments that exclude each other, an operator's limit)
/// is judged by `run`.
template <class T>
concept Tool = requires(Context& context, const Settings& settings, sandbox::Backend& backend,
                        const nlohmann::json& arguments, const typename T::Args& args) {
    { T::name } -> std::convertible_to<std::string_view>;
    { T::title } -> std::convertible_to<std::string_view>;
    { T::bodies } -> std::convertible_to<std::string_view>;
    { T::annotations } -> std::convertible_to<Annotations>;
    { T::aliases() } -> std::same_as<std::span<const Alias>>;
    { T::decode(arguments) } -> std::same_as<typename T::Args>;
    { T::describe(settings, backend) } -> std::same_as<std::string>;
    { T::run(context, args) } -> std::same_as<Result>;
};

/// A tool whose arguments hold objects with aliases of their own has a `canonical` of its own.
template <Tool T>
[[nodiscard]] nlohmann::json canonical(const nlohmann::json& arguments)
{
    if constexpr (requires { T::canonical(arguments); }) {
        return T::canonical(arguments);
    } else {
        return canonical_arguments(arguments, T::aliases());
    }
}

/// As Entry::without_effect; most tools do something with each of their arguments.
template <Tool T>
[[nodiscard]] constexpr std::string_view without_effect()
{
    if constexpr (requires { T::without_effect; }) {
        return T::without_effect;
    } else {
        return {};
    }
}

template <Tool T>
[[nodiscard]] Entry entry(std::string_view input_schema, std::string_view output_schema)
{
    return {
        .name = T::name,
        .title = T::title,
        .input_schema = input_schema,
        .output_schema = output_schema,
        .annotations = T::annotations,
        .bodies = T::bodies,
        .without_effect = without_effect<T>(),
        .describe = &T::describe,
        .canonical = &canonical<T>,
        .check =
            [](const nlohmann::json& arguments) {
                const auto args = T::decode(arguments);
                if constexpr (requires { T::check(args); }) {
                    T::check(args);
                } else if constexpr (requires { T::request(args, Settings{}); }) {
                    (void)T::request(args, Settings{});
                }
            },
        .run =
            [](Context& context, const nlohmann::json& arguments) {
                return T::run(context, T::decode(canonical<T>(arguments)));
            },
    };
}

} // namespace berth::tools
