#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace berth::server::cli {

// What is said of a command line that cannot be read. `app`: the parser after that; `words`: what
// it was given, in the order in which they were typed; `error`: what it threw.

/// What the parser says; of words that it did not expect, which those are, as they were typed.
[[nodiscard]] std::string usage_complaint(const CLI::App& app,
                                          const std::vector<std::string>& words,
                                          const CLI::ParseError& error);

/// What was probably meant by the word that the parser complains of, else where to look.
[[nodiscard]] std::string usage_advice(const CLI::App& app, const std::vector<std::string>& words,
                                       const CLI::ParseError& error);

} // namespace berth::server::cli
